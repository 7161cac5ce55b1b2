package transport

import (
	"strconv"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"
)

// streamMetrics measures streams. A nil *streamMetrics measures nothing.
type streamMetrics struct {
	streams       *prometheus.GaugeVec
	refused       *prometheus.CounterVec
	closes        *prometheus.CounterVec
	subscriptions prometheus.Gauge
	responses     prometheus.Counter
}

func newStreamMetrics(reg prometheus.Registerer) *streamMetrics {
	if reg == nil {
		return nil
	}
	m := &streamMetrics{
		streams: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "ovation_streams",
			Help: "Connections that stay open, by their kind: websocket or events.",
		}, []string{"kind"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ovation_streams_refused_total",
			Help: "Connections and subscriptions refused because a bound was reached (full, user, address, anonymous, subscriptions) or the server was stopping.",
		}, []string{"reason"}),
		closes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ovation_websocket_closes_total",
			Help: "WebSockets that ended, by the code the server closed them with, client where the client did, lost where the connection broke or the client did not read or answer.",
		}, []string{"code"}),
		subscriptions: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ovation_subscriptions",
			Help: "Subscriptions that are open, over WebSockets and as event streams.",
		}),
		responses: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ovation_subscription_responses_total",
			Help: "Responses sent to subscriptions.",
		}),
	}
	reg.MustRegister(m.streams, m.refused, m.closes, m.subscriptions, m.responses)
	return m
}

func (m *streamMetrics) opened(kind string, by float64) {
	if m != nil {
		m.streams.WithLabelValues(kind).Add(by)
	}
}

func (m *streamMetrics) refuse(reason string) {
	if m != nil {
		m.refused.WithLabelValues(reason).Inc()
	}
}

// closed counts a WebSocket that the server closed with a code of its own.
func (m *streamMetrics) closed(code websocket.StatusCode) {
	m.gone(strconv.Itoa(int(code)))
}

func (m *streamMetrics) gone(how string) {
	if m != nil {
		m.closes.WithLabelValues(how).Inc()
	}
}

func (m *streamMetrics) subscribed(by float64) {
	if m != nil {
		m.subscriptions.Add(by)
	}
}

func (m *streamMetrics) sent() {
	if m != nil {
		m.responses.Inc()
	}
}
