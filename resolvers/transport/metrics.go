package transport

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/ast"
)

// maxOperations is how many operation names the metrics tell apart. Clients
// choose the names, so they must not decide how many series there are.
const maxOperations = 200

// forgetAfter is how long a name that nobody uses keeps its place from others.
const forgetAfter = time.Hour

// The labels of operations without a name of their own in the metrics.
const (
	unnamed = "unnamed"
	other   = "other" // all that came when there were maxOperations
)

// Metrics measures requests. A nil *Metrics measures nothing.
type Metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge

	mu    sync.Mutex
	names map[string]time.Time // when each was used last; at most maxOperations
}

// NewMetrics registers the collectors of requests. It panics where they are
// registered already.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ovation_graphql_requests_total",
			Help: "Requests answered, by the name of the operation and the code of the first error (OK where there is none).",
		}, []string{"operation", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ovation_graphql_request_duration_seconds",
			Help:    "How long requests took to answer, by the name of the operation.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"operation"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ovation_graphql_requests_in_flight",
			Help: "Requests being answered.",
		}),
		names: map[string]time.Time{},
	}
	reg.MustRegister(m.requests, m.seconds, m.inFlight)
	return m
}

// watching counts a request that has become a subscription, and is not counted
// among those being answered for as long.
func (m *Metrics) watching(by float64) {
	if m != nil {
		m.inFlight.Sub(by)
	}
}

func (m *Metrics) begin() {
	if m != nil {
		m.inFlight.Inc()
	}
}

func (m *Metrics) end(rec *record, took time.Duration) {
	if m == nil {
		return
	}
	m.inFlight.Dec()
	if rec.kind == kindWebSocket {
		return // what is asked on it is measured
	}
	label := m.label(rec.operation)
	m.requests.WithLabelValues(label, rec.code).Inc()
	if rec.kind != string(ast.Subscription) { // how long somebody watched is no response time
		m.seconds.WithLabelValues(label).Observe(took.Seconds())
	}
}

// label is the name of an operation while there is room for it.
func (m *Metrics) label(operation string) string {
	if operation == "" {
		return unnamed
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if _, known := m.names[operation]; !known && len(m.names) >= maxOperations && !m.forget(now) {
		return other
	}
	m.names[operation] = now
	return operation
}

// forget makes room for a name by dropping the one that was used least
// recently, with its series, if that was long ago.
func (m *Metrics) forget(now time.Time) bool {
	oldest := ""
	for name, used := range m.names {
		if oldest == "" || used.Before(m.names[oldest]) {
			oldest = name
		}
	}
	if now.Sub(m.names[oldest]) < forgetAfter {
		return false
	}
	delete(m.names, oldest)
	m.requests.DeletePartialMatch(prometheus.Labels{"operation": oldest})
	m.seconds.DeletePartialMatch(prometheus.Labels{"operation": oldest})
	return true
}
