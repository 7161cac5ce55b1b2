package live

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics measures a hub.
type Metrics struct {
	watchers prometheus.Gauge
	subjects prometheus.Gauge
	changes  prometheus.Counter
	pushes   prometheus.Counter
	skips    prometheus.Counter
	reads    prometheus.Histogram
	seconds  prometheus.Histogram
	failures prometheus.Counter
	delay    prometheus.Histogram
}

// noMetrics is used if no Metrics are given; its collectors are not registered.
var noMetrics = NewMetrics(nil)

// NewMetrics registers the collectors of a hub. It panics if they are registered
// already.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	factory := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return factory.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return factory.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	}
	return &Metrics{
		watchers: gauge("ovation_live_watchers", "Open subscriptions."),
		subjects: gauge("ovation_live_subjects", "Watched subjects."),
		changes:  counter("ovation_live_changes_total", "Signals of changes of watched subjects; simultaneous ones count once."),
		pushes:   counter("ovation_live_pushes_total", "Events delivered to subscribers."),
		skips:    counter("ovation_live_skipped_total", "Events replaced by a newer one before they were delivered."),
		reads:    histogram("ovation_live_read_subjects", "Subjects in each read of counts.", prometheus.ExponentialBuckets(1, 4, 6)),
		seconds:  histogram("ovation_live_read_seconds", "Duration of each read of counts.", prometheus.ExponentialBuckets(0.000_05, 4, 9)),
		failures: counter("ovation_live_read_failures_total", "Failed reads of counts."),
		delay: histogram("ovation_live_delay_seconds", "Time from this process's notification of a change until a subscriber's event was taken, the pause between two events included.",
			prometheus.ExponentialBuckets(0.000_25, 2, 14)), // 0.25 ms to 2 s
	}
}

func (m *Metrics) pushed(e *Event) {
	m.pushes.Inc()
	if !e.changed.IsZero() {
		m.delay.Observe(age(e.changed))
	}
}

func (m *Metrics) read(subjects int, begin time.Time, err error) {
	m.reads.Observe(float64(subjects))
	m.seconds.Observe(age(begin))
	if err != nil {
		m.failures.Inc()
	}
}
