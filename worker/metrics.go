package worker

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"ovation/storage"
)

// Use is what a process does of the write path.
type Use int

// A process may do both.
const (
	Records Use = 1 << iota // takes actions of users
	Works                   // persists what is queued
)

// Metrics measures the write path.
type Metrics struct {
	recorded       *prometheus.CounterVec
	backlogActions prometheus.Gauge
	recorderSizes  prometheus.Histogram
	workerActions  prometheus.Histogram
	workerMessages prometheus.Histogram
	persistSeconds prometheus.Histogram
	retries        prometheus.Counter
	rejections     prometheus.Counter
	mirrorFailures prometheus.Counter
	bypasses       prometheus.Counter
	refusals       prometheus.Counter
}

// unmeasured takes what nobody reads.
var unmeasured = NewMetrics(nil, 0)

// NewMetrics registers the collectors of what a process does. It panics where
// they are registered already.
func NewMetrics(reg prometheus.Registerer, does Use) *Metrics {
	both, records, works := promauto.With(reg), promauto.With(nil), promauto.With(nil)
	if does&Records != 0 {
		records = both
	}
	if does&Works != 0 {
		works = both
	}
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Name: name, Help: help}
	}
	sizes := func(name, help string) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(1, 4, 8)}
	}
	return &Metrics{
		recorded: records.NewCounterVec(counter("ovation_actions_total",
			"Actions of users by kind (reaction, collection, read) and outcome (changed, unchanged, failed)."), []string{"kind", "outcome"}),
		backlogActions: records.NewGauge(prometheus.GaugeOpts{
			Name: "ovation_recorder_backlog_actions", Help: "Actions that are accepted and wait for their confirm.",
		}),
		recorderSizes:  records.NewHistogram(sizes("ovation_recorder_batch_actions", "Actions in each published message.")),
		workerActions:  works.NewHistogram(sizes("ovation_worker_batch_actions", "Actions in each transaction of the worker.")),
		workerMessages: works.NewHistogram(sizes("ovation_worker_batch_messages", "Messages in each transaction of the worker.")),
		persistSeconds: works.NewHistogram(prometheus.HistogramOpts{
			Name: "ovation_worker_persist_seconds", Help: "Time of each transaction of the worker, the commit included.",
			Buckets: prometheus.ExponentialBuckets(0.0002, 4, 9), // 0.2 ms to 13 s
		}),
		retries:        works.NewCounter(counter("ovation_worker_retries_total", "Tries of the worker that were repeated.")),
		rejections:     works.NewCounter(counter("ovation_worker_rejected_messages_total", "Messages that could not be persisted and were put aside.")),
		mirrorFailures: both.NewCounter(counter("ovation_mirror_failures_total", "Calls of the mirror that failed.")),
		refusals:       records.NewCounter(counter("ovation_recorder_refused_actions_total", "Actions of anonymous users refused because too many of them waited for their confirm.")),
		bypasses:       records.NewCounter(counter("ovation_recorder_bypassed_messages_total", "Messages that were persisted without the queue, which was unavailable.")),
	}
}

func (m *Metrics) action(kind storage.Kind, recorded Recorded, err error) {
	outcome := "unchanged"
	switch {
	case err != nil:
		outcome = "failed"
	case !recorded.Known:
		outcome = "unknown"
	case recorded.Changed:
		outcome = "changed"
	}
	m.recorded.WithLabelValues(kindName(kind), outcome).Inc()
}

func kindName(kind storage.Kind) string {
	switch kind {
	case storage.KindReaction:
		return "reaction"
	case storage.KindCollection:
		return "collection"
	case storage.KindRead:
		return "read"
	}
	return "unknown"
}

func (m *Metrics) persisted(took time.Duration, messages, actions int) {
	m.persistSeconds.Observe(took.Seconds())
	m.workerMessages.Observe(float64(messages))
	m.workerActions.Observe(float64(actions))
}
