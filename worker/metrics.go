package worker

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ovation/storage"
)

// Use is what a process does of the write path.
type Use int

// A process may do both.
const (
	Records Use = 1 << iota // takes actions of users
	Works                   // persists what is queued
)

// Metrics measures the write path. A nil *Metrics measures nothing.
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

// NewMetrics registers the collectors of what a process does. It panics where
// they are registered already.
func NewMetrics(reg prometheus.Registerer, does Use) *Metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	sizes := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(1, 4, 8),
		})
	}
	m := &Metrics{
		recorded: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ovation_actions_total",
			Help: "Actions of users by kind (reaction, collection, read) and outcome (changed, unchanged, failed).",
		}, []string{"kind", "outcome"}),
		backlogActions: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ovation_recorder_backlog_actions",
			Help: "Actions that are accepted and wait for their confirm.",
		}),
		recorderSizes:  sizes("ovation_recorder_batch_actions", "Actions in each published message."),
		workerActions:  sizes("ovation_worker_batch_actions", "Actions in each transaction of the worker."),
		workerMessages: sizes("ovation_worker_batch_messages", "Messages in each transaction of the worker."),
		persistSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "ovation_worker_persist_seconds",
			Help: "Time of each transaction of the worker, the commit included.",
			// 0.2 ms to 13 s
			Buckets: prometheus.ExponentialBuckets(0.0002, 4, 9),
		}),
		retries:        counter("ovation_worker_retries_total", "Tries of the worker that were repeated."),
		rejections:     counter("ovation_worker_rejected_messages_total", "Messages that could not be persisted and were put aside."),
		mirrorFailures: counter("ovation_mirror_failures_total", "Calls of the mirror that failed."),
		refusals:       counter("ovation_recorder_refused_actions_total", "Actions of anonymous users refused because too many of them waited for their confirm."),
		bypasses:       counter("ovation_recorder_bypassed_messages_total", "Messages that were persisted without the queue, which was unavailable."),
	}
	reg.MustRegister(m.mirrorFailures)
	if does&Records != 0 {
		reg.MustRegister(m.recorded, m.backlogActions, m.recorderSizes, m.bypasses, m.refusals)
	}
	if does&Works != 0 {
		reg.MustRegister(m.workerActions, m.workerMessages, m.persistSeconds, m.retries, m.rejections)
	}
	return m
}

func (m *Metrics) action(kind storage.Kind, recorded Recorded, err error) {
	if m == nil {
		return
	}
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

func (m *Metrics) backlog(actions int) {
	if m != nil {
		m.backlogActions.Add(float64(actions))
	}
}

func (m *Metrics) recorderBatch(actions int) {
	if m != nil {
		m.recorderSizes.Observe(float64(actions))
	}
}

func (m *Metrics) persisted(took time.Duration, messages, actions int) {
	if m != nil {
		m.persistSeconds.Observe(took.Seconds())
		m.workerMessages.Observe(float64(messages))
		m.workerActions.Observe(float64(actions))
	}
}

func (m *Metrics) retried() {
	if m != nil {
		m.retries.Inc()
	}
}

func (m *Metrics) rejected() {
	if m != nil {
		m.rejections.Inc()
	}
}

func (m *Metrics) mirrorFailed() {
	if m != nil {
		m.mirrorFailures.Inc()
	}
}

func (m *Metrics) bypassed() {
	if m != nil {
		m.bypasses.Inc()
	}
}

func (m *Metrics) refused() {
	if m != nil {
		m.refusals.Inc()
	}
}
