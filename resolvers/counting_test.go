package resolvers_test

import (
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/metered"
)

// background lists the methods that the worker calls, and the one that package accounts
// calls to poll for revocations.
var background = []string{"Persist", "Prune", "Revocations"}

// counting is a store that counts the calls that requests make.
type counting struct {
	storage.Store

	registry *prometheus.Registry
	counted  map[string]int // the number of calls that taken has returned, by method
}

func newCounting(next storage.Store) *counting {
	registry := prometheus.NewRegistry()
	return &counting{Store: metered.New(next, registry), registry: registry, counted: map[string]int{}}
}

// taken returns the number of calls since the last call to taken, by method.
func (c *counting) taken(t *testing.T) map[string]int {
	t.Helper()
	families, err := c.registry.Gather()
	must.Succeed(t, err)
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
