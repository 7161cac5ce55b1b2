package resolvers_test

import (
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"ovation/storage"
	"ovation/storage/metered"
)

// background are the methods that are called by the worker, and by accounts to poll.
var background = []string{"Persist", "Prune", "Revocations"}

// counting counts the calls of requests.
type counting struct {
	storage.Store

	registry *prometheus.Registry
	counted  map[string]int // calls that taken has returned
}

func newCounting(next storage.Store) *counting {
	registry := prometheus.NewRegistry()
	return &counting{Store: metered.New(next, registry), registry: registry, counted: map[string]int{}}
}

// taken returns the calls since it was last called.
func (c *counting) taken(t *testing.T) map[string]int {
	t.Helper()
	families, err := c.registry.Gather()
	must(t, err)
	calls := map[string]int{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			method, n := metric.GetLabel()[0].GetValue(), int(metric.GetHistogram().GetSampleCount())
			if n > c.counted[method] && !slices.Contains(background, method) {
				calls[method], c.counted[method] = n-c.counted[method], n
			}
		}
	}
	return calls
}
