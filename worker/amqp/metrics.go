package amqp

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ovation/worker"
)

// Metrics measures a Queue.
type Metrics struct {
	published  *prometheus.CounterVec
	confirms   prometheus.Gauge
	returns    prometheus.Counter
	reconnects *prometheus.CounterVec
	connected  *prometheus.GaugeVec
	alarm      prometheus.Gauge
	waiting    *prometheus.GaugeVec
	dead       prometheus.Gauge
	serving    prometheus.Gauge
	role       worker.Role

	mu             sync.Mutex
	unsettledSince map[*delivery]time.Time // unsettled deliveries, with the time of publication
}

// noMetrics is used if no Metrics are given; its collectors are not registered.
var noMetrics = NewMetrics(nil, 0)

// NewMetrics registers the collectors of a process with the given roles. It panics if
// they are registered already.
func NewMetrics(reg prometheus.Registerer, does worker.Role) *Metrics {
	both, publishes, consumes := does.Factories(reg)
	gauge := func(name, help string) prometheus.GaugeOpts {
		return prometheus.GaugeOpts{Name: name, Help: help}
	}
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Name: name, Help: help}
	}
	m := &Metrics{
		role:           does,
		unsettledSince: map[*delivery]time.Time{},
		published: publishes.NewCounterVec(counter("ovation_queue_published_total",
			"Messages published by outcome (confirmed, write, no queue, no confirm)."), []string{"outcome"}),
		confirms: publishes.NewGauge(gauge("ovation_queue_confirms_in_flight", "Messages published and not yet confirmed by the broker.")),
		returns:  publishes.NewCounter(counter("ovation_queue_returned_messages_total", "Messages returned by the broker because their queue did not exist.")),
		reconnects: both.NewCounterVec(counter("ovation_queue_reconnects_total",
			"Attempts to reconnect to the broker, by purpose (publish, consume, measure)."), []string{"purpose"}),
		connected: both.NewGaugeVec(gauge("ovation_queue_connected",
			"1 while there is a connection to the broker, by purpose (publish, consume, measure)."), []string{"purpose"}),
		alarm: both.NewGauge(gauge("ovation_queue_alarm", "1 while the broker blocks publishers because of an alarm.")),
		waiting: both.NewGaugeVec(gauge("ovation_queue_waiting_messages",
			"Messages of each partition that no worker has yet, counted every few seconds."), []string{"partition"}),
		dead: both.NewGauge(gauge("ovation_queue_dead_messages", "Dead letters, counted every few seconds.")),
		serving: consumes.NewGauge(gauge("ovation_queue_served_partitions",
			"Partitions that this process is served, of those that have delivered anything to it. No other worker is served them.")),
	}
	consumes.NewGaugeFunc(gauge("ovation_queue_unsettled_messages", "Messages that this process was given and has not settled."),
		func() float64 { return float64(m.unsettled()) })
	consumes.NewGaugeFunc(gauge("ovation_queue_lag_seconds",
		"Age of the oldest message that this process was given and has not settled; 0 if there is none. "+
			"A partition is delivered in order, so that nothing older waits in those that this process serves."),
		func() float64 { return m.lag(time.Now()).Seconds() })
	return m
}

func (m *Metrics) connection(purpose string, up, alarm bool) {
	m.connected.WithLabelValues(purpose).Set(asNumber(up))
	if purpose == toPublish {
		m.alarm.Set(asNumber(alarm))
	}
}

func asNumber(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (m *Metrics) depth(partition, messages int) {
	m.waiting.WithLabelValues(strconv.Itoa(partition)).Set(float64(messages))
}

// received records a delivery and the time of its publication.
func (m *Metrics) received(d *delivery, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unsettledSince[d] = at
}

func (m *Metrics) settled(d *delivery) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.unsettledSince, d)
}

// forget removes the deliveries of a consumer that has ended.
func (m *Metrics) forget(c *consumer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.serving.Set(0)
	for d := range m.unsettledSince {
		if d.subscription.consumer == c {
			delete(m.unsettledSince, d)
		}
	}
}

func (m *Metrics) unsettled() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.unsettledSince)
}

// lag returns the age of the oldest unsettled message.
func (m *Metrics) lag(now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	oldest := now
	for _, at := range m.unsettledSince {
		if at.Before(oldest) {
			oldest = at
		}
	}
	return now.Sub(oldest)
}
