package live_test

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ovation/internal/testing/must"
	"ovation/internal/testing/sqlitetest"
	"ovation/live"
	"ovation/storage"
)

func TestNotifyingReportsEveryChangeOfCounts(t *testing.T) {
	database := sqlitetest.Open(t)
	var told []storage.Subject
	all := 0
	store := live.Notifying(database, func(subjects []storage.Subject) { told = append(told, subjects...) }, func() { all++ })
	defer store.Close()
	alice := storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}
	a, b := storage.Subject{Tenant: alice.Tenant, Biz: "video", BizID: "a"}, storage.Subject{Tenant: alice.Tenant, Biz: "video", BizID: "b"}
	collect := func(of storage.Subject) storage.Action {
		return storage.Action{User: alice, Subject: of, Kind: storage.KindCollection, FolderID: storage.DefaultFolderID, Version: 1}
	}
	message := []storage.Message{{ID: "1", Actions: []storage.Action{collect(a), collect(b)}}}
	_, err := store.Persist(t.Context(), message, nil)
	must.Succeed(t, err)
	if !slices.Equal(told, []storage.Subject{a, b}) {
		t.Errorf("Persist reported %v, want %v", told, []storage.Subject{a, b})
	}
	told = nil
	_, _, err = store.EmptyFolder(t.Context(), storage.FolderKey{Owner: alice, FolderID: storage.DefaultFolderID}, "", storage.Time(5), 10, nil)
	must.Succeed(t, err)
	if !slices.Equal(told, []storage.Subject{a, b}) {
		t.Errorf("EmptyFolder reported %v, want %v", told, []storage.Subject{a, b})
	}
	ignore := func(storage.Difference) error { return nil }
	_, err = store.Verify(t.Context(), false, ignore)
	must.Succeed(t, err)
	if all != 0 {
		t.Errorf("Verify reported %d changes of all counts, want none", all)
	}
	_, err = store.Verify(t.Context(), true, ignore)
	must.Succeed(t, err)
	if all != 1 {
		t.Errorf("Verify with repair reported %d changes of all counts, want 1", all)
	}
}

func TestMetrics(t *testing.T) {
	database := sqlitetest.Open(t)
	registry := prometheus.NewRegistry()
	hub := live.New(database, live.Options{Metrics: live.NewMetrics(registry), Sweep: time.Hour})
	defer hub.Close()
	store := live.Notifying(database, hub.Changed, hub.ChangedAll)
	a := storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: "a"}
	one, slow := hub.Watch([]storage.Subject{a}), hub.Watch([]storage.Subject{a})
	initial := make(chan struct{})
	slow.Await(func() { close(initial) })
	<-initial
	events := make([]*live.Event, 1)
	for i := range int64(3) {
		for events[0] == nil || events[0].ReadCount < i {
			_, err := one.Next(t.Context(), events)
			must.Succeed(t, err)
		}
		_, err := store.Persist(t.Context(), []storage.Message{{ID: string(rune('a' + i)), Actions: []storage.Action{
			{User: storage.User{Tenant: a.Tenant}, Subject: a, Kind: storage.KindRead, Times: 1, First: i + 1, Version: i + 1},
		}}}, nil)
		must.Succeed(t, err)
	}
	slow.Close()
	families, err := registry.Gather()
	must.Succeed(t, err)
	got := map[string]float64{}
	for _, family := range families {
		metric := family.GetMetric()[0]
		got[family.GetName()] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
	}
	for name, least := range map[string]float64{
		"ovation_live_watchers": 1, "ovation_live_subjects": 1, "ovation_live_changes_total": 2, "ovation_live_pushes_total": 3,
		"ovation_live_skipped_total": 2, "ovation_live_read_subjects": 3, "ovation_live_read_seconds": 3,
		"ovation_live_read_failures_total": 0, "ovation_live_delay_seconds": 2,
	} {
		value, known := got[name]
		if !known || value < least {
			t.Errorf("%s is %v, want at least %v; exported: %v", name, value, least, known)
		}
	}
	if got["ovation_live_watchers"] != 1 || got["ovation_live_read_failures_total"] != 0 {
		t.Errorf("the metrics are %v, want 1 watcher and no failed read", got)
	}
	one.Close()
}
