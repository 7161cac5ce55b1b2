package persisted

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

const (
	// maxLabels is the maximum number of trusted documents with series of their own. The
	// others are counted as other.
	maxLabels = 1_000
	// maxLabelBytes is the maximum length of the label of a document.
	maxLabelBytes = 64
	// other is the label of all documents beyond maxLabels.
	other = "other"
)

// trustedMetrics measures requests for trusted documents.
type trustedMetrics struct {
	documents prometheus.Gauge
	requests  *prometheus.CounterVec
	seconds   *prometheus.CounterVec
	current   map[string]bool // the labels of the last successful Load
}

func newTrustedMetrics(reg prometheus.Registerer) trustedMetrics {
	factory := promauto.With(reg)
	return trustedMetrics{
		documents: factory.NewGauge(prometheus.GaugeOpts{
			Name: "ovation_trusted_documents",
			Help: "Trusted documents in use.",
		}),
		requests: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "ovation_trusted_document_requests_total",
			Help: "Requests answered, by trusted document (the name of its operation, or else its id) and the code of the first error (OK where there is none).",
		}, []string{"document", "code"}),
		seconds: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "ovation_trusted_document_seconds_total",
			Help: "How long queries and mutations took to answer, by trusted document, all together.",
		}, []string{"document"}),
	}
}

// series are the series of a document.
type series struct {
	requests *prometheus.CounterVec // lacks only the code
	seconds  *prometheus.CounterVec // lacks nothing
}

func (s series) done(code string, took time.Duration) {
	s.requests.WithLabelValues(code).Inc()
	if took > 0 {
		s.seconds.WithLabelValues().Add(took.Seconds())
	}
}

// labels gives documents their labels during a Load.
type labels struct {
	metrics *trustedMetrics
	known   map[string]bool
}

func (m *trustedMetrics) labels() *labels { return &labels{m, map[string]bool{}} }

// of returns the series of a document with a name. Documents of the same name share them.
func (l *labels) of(name string) series {
	name = strings.ToValidUTF8(name[:min(len(name), maxLabelBytes)], "")
	if !l.known[name] && len(l.known) >= maxLabels {
		name = other
	}
	l.known[name] = true
	label := prometheus.Labels{"document": name}
	return series{l.metrics.requests.MustCurryWith(label), l.metrics.seconds.MustCurryWith(label)}
}

// loaded records a successful Load and deletes the series of documents that it removed.
func (m *trustedMetrics) loaded(documents int, labels *labels) {
	m.documents.Set(float64(documents))
	for name := range m.current {
		if !labels.known[name] {
			m.requests.DeletePartialMatch(prometheus.Labels{"document": name})
			m.seconds.DeletePartialMatch(prometheus.Labels{"document": name})
		}
	}
	m.current = labels.known
}
