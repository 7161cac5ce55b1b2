package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// serveMetrics serves /metrics, and nothing else, on a separate address until stop is
// called.
func serveMetrics(ctx context.Context, on address, registry *prometheus.Registry, log *slog.Logger) (at net.Addr, stop func(), err error) {
	listener, err := listen(ctx, on, "--metrics-addr or OVATION_METRICS_ADDR")
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := newServer(mux, log)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the metrics server has failed", "error", err)
		}
	}()
	return listener.Addr(), func() {
		_ = server.Close() // does not wait for a running scrape
		<-ended
	}, nil
}
