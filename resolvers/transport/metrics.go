package transport

import (
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/vektah/gqlparser/v2/ast"
)

// maxOperations is the maximum number of operation names in the metrics. Without a bound,
// clients would determine the number of series, because they choose the names.
const maxOperations = 200

// nameTTL is how long a name must be unused before another name may replace it.
const nameTTL = time.Hour

// The labels for operations that are not counted under their own names. Only names in
// valid documents become labels, so that arbitrary texts cannot use up maxOperations.
const (
	unnamed = "unnamed"
	invalid = "invalid" // the document was rejected, whether or not its operation has a name
	other   = "other"   // maxOperations other names are in use
)

// noMetrics is used if no Metrics are configured. It is not registered.
var noMetrics = NewMetrics(nil)

// Metrics measures requests.
type Metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge // not including subscriptions that have begun

	mu    sync.Mutex
	names *simplelru.LRU[string, time.Time] // when each name was last used
}

// NewMetrics returns Metrics and registers their collectors with reg. It panics if they
// are already registered.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	factory := promauto.With(reg)
	m := &Metrics{
		requests: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "ovation_graphql_requests_total",
			Help: "Requests answered, by the name of the operation and the code of the first error (OK where there is none).",
		}, []string{"operation", "code"}),
		seconds: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ovation_graphql_request_duration_seconds",
			Help:    "How long requests took to answer, by the name of the operation.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"operation"}),
		inFlight: factory.NewGauge(prometheus.GaugeOpts{
			Name: "ovation_graphql_requests_in_flight",
			Help: "Requests being answered.",
		}),
	}
	m.names, _ = simplelru.NewLRU[string, time.Time](maxOperations, nil) // fails only for a size below 1
	return m
}

func (m *Metrics) end(rec *record, took time.Duration) {
	m.inFlight.Dec()
	if rec.kind == kindWebSocket || rec.kind == kindBatch {
		return // each of its operations is measured
	}
	label := invalid
	if !rec.invalid {
		label = m.label(rec.operation)
	}
	m.requests.WithLabelValues(label, rec.code).Inc()
	if rec.kind == string(ast.Subscription) || rec.kind == KindFile {
		took = 0 // it is no response time
	} else {
		m.seconds.WithLabelValues(label).Observe(took.Seconds())
	}
	rec.trusted.Done(rec.code, took)
}

// label returns the label of an operation: its name, or the constant other if too many
// names are in use. If the least recently used name has been unused for nameTTL, a new
// name replaces it. The series of the old name are then deleted.
func (m *Metrics) label(operation string) string {
	if operation == "" {
		return unnamed
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	operation = strings.Clone(operation) // do not keep the document in memory
	if !m.names.Contains(operation) {
		if oldest, used, _ := m.names.GetOldest(); m.names.Len() == maxOperations {
			if now.Sub(used) < nameTTL {
				return other
			}
			m.requests.DeletePartialMatch(prometheus.Labels{"operation": oldest})
			m.seconds.DeletePartialMatch(prometheus.Labels{"operation": oldest})
		}
	}
	m.names.Add(operation, now) // evicts the oldest name if there are too many
	return operation
}
