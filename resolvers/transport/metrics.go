package transport

import (
	"strings"
	"sync"
	"time"

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

// Metrics measures requests. A nil *Metrics measures nothing.
type Metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge

	mu    sync.Mutex
	names map[string]*series // at most maxOperations

	unnamed, invalid, other *series
}

// series are the collectors of one operation.
type series struct {
	label   string
	used    time.Time                     // last
	answers map[string]prometheus.Counter // by code
	seconds prometheus.Observer
}

// NewMetrics registers the collectors of requests. It panics where they are
// registered already.
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
		names: map[string]*series{},
	}
	m.unnamed, m.invalid, m.other = newSeries(unnamed), newSeries(invalid), newSeries(other)
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
	answers, seconds := m.of(rec, rec.kind != string(ast.Subscription)) // how long somebody watched is no response time
	answers.Inc()
	if seconds != nil {
		seconds.Observe(took.Seconds())
	}
}

// of returns the collectors of a request, and nil where its time is not wanted.
func (m *Metrics) of(rec *record, timed bool) (answers prometheus.Counter, seconds prometheus.Observer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.invalid
	if !rec.invalid {
		s = m.series(rec.operation)
	}
	if answers = s.answers[rec.code]; answers == nil {
		answers = m.requests.WithLabelValues(s.label, rec.code)
		s.answers[rec.code] = answers
	}
	if !timed {
		return answers, nil
	}
	if s.seconds == nil {
		s.seconds = m.seconds.WithLabelValues(s.label)
	}
	return answers, s.seconds
}

// series are those of an operation's name while there is room for it.
func (m *Metrics) series(operation string) *series {
	if operation == "" {
		return m.unnamed
	}
	now := time.Now()
	s := m.names[operation]
	if s == nil {
		if len(m.names) >= maxOperations && !m.forget(now) {
			return m.other
		}
		s = newSeries(strings.Clone(operation)) // it is a part of a document
		m.names[s.label] = s
	}
	s.used = now
	return s
}

func newSeries(label string) *series {
	return &series{label: label, answers: map[string]prometheus.Counter{}}
}

// forget makes room for a name by dropping the one that was used least
// recently, with its series, if that was long ago.
func (m *Metrics) forget(now time.Time) bool {
	oldest := ""
	for name, s := range m.names {
		if oldest == "" || s.used.Before(m.names[oldest].used) {
			oldest = name
		}
	}
	if now.Sub(m.names[oldest].used) < forgetAfter {
		return false
	}
	delete(m.names, oldest)
	m.requests.DeletePartialMatch(prometheus.Labels{"operation": oldest})
	m.seconds.DeletePartialMatch(prometheus.Labels{"operation": oldest})
	return true
}
