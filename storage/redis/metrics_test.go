package redis

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/storagetest"
)

// metricsOf returns the value of every gauge, by the gauge's name and the values of its
// labels.
func metricsOf(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	must.Succeed(t, err)
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			got[name] = metric.GetGauge().GetValue()
		}
	}
	return got
}

func TestMetricsReportOutages(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	s := open(t, Options{URL: server.url(), Database: openDatabase(t)})
	reg := prometheus.NewRegistry()
	reg.MustRegister(s.PendingStates())
	reg.MustRegister(s.Collectors()...)
	want := func(when string, want map[string]float64) {
		t.Helper()
		got := metricsOf(t, reg)
		for name, value := range want {
			if is, there := got[name]; !there || is != value {
				t.Errorf("%s: %s is %v, want %v", when, name, is, value)
			}
		}
	}
	want("initially", map[string]float64{
		"ovation_part_up redis": 1, "ovation_part_up database": 1, "ovation_mirror_epoch": float64(s.epochs.Current().Number),
		"ovation_mirror_open": 1, "ovation_mirror_unshown_states": 0,
		"ovation_mirror_in_doubt_since_timestamp_seconds": 0,
	})
	server.kill()
	_ = s.Apply(t.Context(), []storage.Action{storagetest.React(alice, movie, storage.Like, 10)}, storage.Queued, nil)
	await.That(t, "Redis is unavailable", func() bool { return !s.redis.Healthy() })
	want("without Redis", map[string]float64{
		"ovation_part_up redis": 0, "ovation_part_up database": 1, "ovation_mirror_open": 0, "ovation_mirror_unshown_states": 1,
	})
	server.start()
	awaitLive(t, s)
	await.That(t, "no write is pending", func() bool { return s.pending.Count() == 0 })
	want("finally", map[string]float64{
		"ovation_part_up redis": 1, "ovation_mirror_epoch": float64(s.epochs.Current().Number), "ovation_mirror_open": 1, "ovation_mirror_unshown_states": 0,
	})
	if problems, err := testutil.GatherAndLint(reg); err != nil || len(problems) > 0 {
		t.Errorf("GatherAndLint found %v, %v, want no problems", problems, err)
	}
}
