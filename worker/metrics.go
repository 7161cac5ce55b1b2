package worker

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"ovation/storage"
)

// Role is the set of parts of the write path that a process runs.
type Role int

// The roles of a process. A process may have both.
const (
	Records Role = 1 << iota // accepts users' actions
	Works                    // persists queued messages
)

// Factories returns three factories: for the collectors of every process, for those of
// processes with the role Records, and for those of processes with the role Works. A
// factory registers nothing if the process lacks its role.
func (r Role) Factories(reg prometheus.Registerer) (both, records, works promauto.Factory) {
	both, records, works = promauto.With(reg), promauto.With(nil), promauto.With(nil)
	if r&Records != 0 {
		records = both
	}
	if r&Works != 0 {
		works = both
	}
	return both, records, works
}

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
	sweepQueue     prometheus.Gauge
	groupSizes     *prometheus.HistogramVec
}

// noMetrics is used if no Metrics are given; its collectors are not registered.
var noMetrics = NewMetrics(nil, 0)

// NewMetrics registers the collectors of a process with the given roles. It panics if
// they are registered already.
func NewMetrics(reg prometheus.Registerer, roles Role) *Metrics {
	both, records, works := roles.Factories(reg)
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Name: name, Help: help}
	}
	sizes := func(name, help string) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(1, 4, 8)}
	}
	return &Metrics{
		recorded: records.NewCounterVec(counter("ovation_actions_total",
			"Actions of users by kind (reaction, collection, follow, read) and outcome (changed, unchanged, unknown, failed)."), []string{"kind", "outcome"}),
		backlogActions: records.NewGauge(prometheus.GaugeOpts{
			Name: "ovation_recorder_backlog_actions", Help: "Actions accepted and not yet confirmed.",
		}),
		recorderSizes: records.NewHistogram(sizes("ovation_recorder_batch_actions", "Actions in each published message.")),
		groupSizes: records.NewHistogramVec(sizes("ovation_group_commit_requests",
			"Requests that shared each transaction, by what they write (comments, messages)."), []string{"rows"}),
		workerActions:  works.NewHistogram(sizes("ovation_worker_batch_actions", "Actions in each transaction of the worker.")),
		workerMessages: works.NewHistogram(sizes("ovation_worker_batch_messages", "Messages in each transaction of the worker.")),
		persistSeconds: works.NewHistogram(prometheus.HistogramOpts{
			Name: "ovation_worker_persist_seconds", Help: "Duration of each transaction of the worker, including the commit.",
			Buckets: prometheus.ExponentialBuckets(0.0002, 4, 9), // 0.2 ms to 13 s
		}),
		retries:        works.NewCounter(counter("ovation_worker_retries_total", "Failed tries of the worker.")),
		rejections:     works.NewCounter(counter("ovation_worker_rejected_messages_total", "Messages that could not be persisted and were dead-lettered.")),
		mirrorFailures: both.NewCounter(counter("ovation_mirror_failures_total", "Failed calls of the mirror, including confirmed batches that could not be written to it because it is not used.")),
		refusals:       records.NewCounter(counter("ovation_recorder_refused_actions_total", "Actions of anonymous users rejected because too many of them were waiting for confirmation.")),
		sweepQueue: works.NewGauge(prometheus.GaugeOpts{
			Name: "ovation_sweep_queue_subjects", Help: "Deleted videos and comments that wait for a sweep of what refers to them, at the latest sweep; 10000 if there are more.",
		}),
		bypasses: records.NewCounter(counter("ovation_recorder_bypassed_messages_total", "Messages persisted directly because the queue was unavailable.")),
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

// batch counts the actions of a batch, whose changes are known only in total.
func (m *Metrics) batch(actions []storage.Action, err error) {
	for i := range actions {
		m.action(actions[i].Kind, Recorded{}, err)
	}
}

func kindName(kind storage.Kind) string {
	switch kind {
	case storage.KindReaction:
		return "reaction"
	case storage.KindCollection:
		return "collection"
	case storage.KindRead:
		return "read"
	case storage.KindFollow:
		return "follow"
	case storage.KindAuthor: // goes directly to the database
	}
	return "unknown"
}

func (m *Metrics) persisted(took time.Duration, messages, actions int) {
	m.persistSeconds.Observe(took.Seconds())
	m.workerMessages.Observe(float64(messages))
	m.workerActions.Observe(float64(actions))
}
