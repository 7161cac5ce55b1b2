package worker_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/worker"
	"ovation/worker/local"
)

// sample returns the value of a counter or gauge, or the number of observations in a
// histogram. It returns 0 if there are none.
func sample(t *testing.T, reg *prometheus.Registry, name string, labels ...string) float64 {
	t.Helper()
	families, err := reg.Gather()
	must.Succeed(t, err)
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			values := make([]string, 0, len(labels))
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			if strings.Join(values, " ") == strings.Join(labels, " ") {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return 0
}

func TestWritePathIsMeasured(t *testing.T) {
	store, queue := openStore(t), newQueue(t)
	reg := prometheus.NewPedanticRegistry()
	metrics := worker.NewMetrics(reg, worker.Records|worker.Works)
	mirror := &spy{Mirror: local.Mirror{Reader: store}}
	stop := startWorker(t, queue, store, mirror, worker.Options{Metrics: metrics})
	r := newRecorder(t, queue, mirror, worker.RecorderOptions{Metrics: metrics})

	record(t, r, react(alice, movie, storage.Like))
	record(t, r, react(alice, movie, storage.Like))
	mirror.apply = func([]storage.Action) error { return errBroken }
	record(t, r, collect(alice, movie, storage.DefaultFolderID))
	record(t, r, storage.Action{User: alice, Subject: movie, Kind: storage.KindRead})
	if _, err := r.Record(t.Context(), react(alice, movie, 9), nil); !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("an invalid reaction: got %v, want %v", err, storage.ErrInvalid)
	}
	must.Succeed(t, stop())
	for _, c := range []struct {
		want   float64
		name   string
		labels []string
	}{
		{1, "ovation_actions_total", []string{"reaction", "changed"}},
		{1, "ovation_actions_total", []string{"reaction", "unchanged"}},
		{1, "ovation_actions_total", []string{"reaction", "failed"}},
		{1, "ovation_actions_total", []string{"collection", "changed"}},
		{1, "ovation_actions_total", []string{"read", "changed"}},
		{0, "ovation_recorder_backlog_actions", nil},
		{3, "ovation_recorder_batch_actions", nil},
		{3, "ovation_worker_batch_actions", nil},
		{3, "ovation_worker_batch_messages", nil},
		{3, "ovation_worker_persist_seconds", nil},
		{2, "ovation_mirror_failures_total", nil},
		{0, "ovation_worker_retries_total", nil},
		{0, "ovation_worker_rejected_messages_total", nil},
	} {
		if got := sample(t, reg, c.name, c.labels...); got != c.want {
			t.Errorf("%s %v is %v, want %v", c.name, c.labels, got, c.want)
		}
	}
}
