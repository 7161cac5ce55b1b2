package main

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"ovation/api/viewer"
	"ovation/cmd/ovation/internal/inspect"
	"ovation/resolvers"
	"ovation/storage"
)

// withData returns a handler that serves the endpoints below /data/ and passes all other
// requests to pages. Only the data page uses these endpoints.
func withData(pages http.Handler, survey storage.Surveyor, auth *viewer.Authenticator, cfg resolvers.Config) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", pages)
	mux.Handle("/data", pages) // otherwise the mux would redirect to /data/
	mux.Handle("/data/", inspect.NewHandler(inspect.Config{
		Store: survey, Folders: cfg.Store, Auth: auth, Logger: cfg.Logger,
		Lag: func(ctx context.Context) (int64, error) { return backlog(cfg.Registry), cfg.Ready(ctx) },
	}))
	return mux
}

// backlog returns the number of accepted actions that are not persisted yet. It takes the
// number from the metric ovation_recorder_backlog_actions, and returns 0 if the metric is
// missing.
func backlog(registry prometheus.Gatherer) int64 {
	families, err := registry.Gather()
	if err != nil {
		return 0
	}
	for _, family := range families {
		if family.GetName() == "ovation_recorder_backlog_actions" && len(family.GetMetric()) == 1 {
			return int64(family.GetMetric()[0].GetGauge().GetValue())
		}
	}
	return 0
}
