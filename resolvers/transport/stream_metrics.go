package transport

import (
	"strconv"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// streamMetrics measures streams.
type streamMetrics struct {
	streams       *prometheus.GaugeVec
	refused       *prometheus.CounterVec
	closes        *prometheus.CounterVec
	subscriptions prometheus.Gauge
	responses     prometheus.Counter
}

func newStreamMetrics(reg prometheus.Registerer) *streamMetrics {
	factory := promauto.With(reg)
	return &streamMetrics{
		streams: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "ovation_streams",
			Help: "Connections that stay open, by their kind: websocket or events.",
		}, []string{"kind"}),
		refused: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "ovation_streams_refused_total",
			Help: "Connections and subscriptions refused because a bound was reached (full, user, address, anonymous, subscriptions) or the server was stopping.",
		}, []string{"reason"}),
		closes: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "ovation_websocket_closes_total",
			Help: "WebSockets that ended, by the code the server closed them with, client where the client did, lost where the connection broke or the client did not read or answer.",
		}, []string{"code"}),
		subscriptions: factory.NewGauge(prometheus.GaugeOpts{
			Name: "ovation_subscriptions",
			Help: "Subscriptions that are open, over WebSockets and as event streams.",
		}),
		responses: factory.NewCounter(prometheus.CounterOpts{
			Name: "ovation_subscription_responses_total",
			Help: "Responses sent to subscriptions.",
		}),
	}
}

// closed adds one to the number of WebSockets that the server has closed with the given
// code.
func (m *streamMetrics) closed(code websocket.StatusCode) {
	m.closes.WithLabelValues(strconv.Itoa(int(code))).Inc()
}
