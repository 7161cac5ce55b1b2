package metered_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"ovation/storage"
	"ovation/storage/metered"
	"ovation/storage/sqlite"
)

func TestCallsAreMeasuredAndFaultsCounted(t *testing.T) {
	database, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "ovation.db")})
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	store := metered.New(database, reg)
	key := storage.FolderKey{Owner: storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}, FolderID: "none"}

	if _, err := store.FoldersOf(t.Context(), []storage.FolderKey{key}); err != nil {
		t.Fatal(err)
	}
	subject := storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: "1"}
	if _, err := store.Interactives(t.Context(), key.Owner, []storage.Subject{subject, subject}, 0); err != nil {
		t.Fatal(err)
	}
	if err := store.DeleteFolder(t.Context(), key, "", time.Now()); err == nil {
		t.Fatal("DeleteFolder of an unknown folder: got no error")
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.FoldersOf(t.Context(), []storage.FolderKey{key}); err == nil {
		t.Fatal("FoldersOf of a closed store: got no error")
	}

	// An answer such as "not found" is not a fault, but a closed store is.
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName() + " " + metric.GetLabel()[0].GetValue()
			got[name] = metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	want := map[string]float64{
		"ovation_storage_seconds FoldersOf":      2,
		"ovation_storage_seconds Interactives":   1,
		"ovation_replies_total LIVE":             2,
		"ovation_storage_seconds DeleteFolder":   1,
		"ovation_storage_errors_total FoldersOf": 1,
	}
	if len(got) != len(want) {
		t.Errorf("got the metrics %v, want %v", got, want)
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s is %v, want %v", name, got[name], n)
		}
	}
	if problems, err := testutil.GatherAndLint(reg); err != nil || len(problems) > 0 {
		t.Errorf("GatherAndLint found %v, %v, want no problems", problems, err)
	}
}
