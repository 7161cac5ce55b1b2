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

// maxOperations is how many operation names the metrics tell apart. Clients
// choose the names, so they must not decide how many series there are.
const maxOperations = 200

// forgetAfter is how long a name that nobody uses keeps its place from others.
const forgetAfter = time.Hour

// The labels of operations without a name of their own in the metrics. Only a
// valid document gets its name in: otherwise any text would take a place.
const (
	unnamed = "unnamed"
	invalid = "invalid" // the document was rejected, whatever name it has
	other   = "other"   // all that came when there were maxOperations
)

// unmeasured takes what nobody reads.
var unmeasured = NewMetrics(nil)

// Metrics measures requests.
type Metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge // a subscription that has begun is not counted

	mu    sync.Mutex
	names *simplelru.LRU[string, time.Time] // when each was used last
}

// NewMetrics registers the collectors of requests. It panics if they are
// already registered.
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
	m.names, _ = simplelru.NewLRU[string, time.Time](maxOperations, nil) // it fails for a size below 1 alone
	return m
}

func (m *Metrics) end(rec *record, took time.Duration) {
	m.inFlight.Dec()
	if rec.kind == kindWebSocket {
		return // what is asked on it is measured
	}
	label := invalid
	if !rec.invalid {
		label = m.label(rec.operation)
	}
	m.requests.WithLabelValues(label, rec.code).Inc()
	if rec.kind != string(ast.Subscription) { // how long somebody watched is no response time
		m.seconds.WithLabelValues(label).Observe(took.Seconds())
	}
}

// label is the label of an operation: its name while there is room for it. It makes
// room by dropping the name that was used least recently, with its series, if that
// was long ago.
func (m *Metrics) label(operation string) string {
	if operation == "" {
		return unnamed
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	operation = strings.Clone(operation) // it is a part of a document
	if !m.names.Contains(operation) {
		if oldest, used, _ := m.names.GetOldest(); m.names.Len() == maxOperations {
			if now.Sub(used) < forgetAfter {
				return other
			}
			m.requests.DeletePartialMatch(prometheus.Labels{"operation": oldest})
			m.seconds.DeletePartialMatch(prometheus.Labels{"operation": oldest})
		}
	}
	m.names.Add(operation, now) // and drops the oldest where there are too many
	return operation
}
