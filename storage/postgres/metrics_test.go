package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
)

// metric returns the value of the gauge or counter ovation_postgres_NAME. If state is not
// empty, metric selects the one whose first label has this value.
func metric(t *testing.T, registry *prometheus.Registry, name, state string) float64 {
	t.Helper()
	families, err := registry.Gather()
	must.Succeed(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "ovation_postgres_"+name && (state == "" || m.GetLabel()[0].GetValue() == state) {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("got no metric ovation_postgres_%s %s", name, state)
	return 0
}

func TestPoolIsMeasured(t *testing.T) {
	store := openAt(t, Options{URL: postgrestest.Schema(t), MaxConns: 2})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(store.Collectors()...)
	value := func(name, state string) float64 { return metric(t, registry, name, state) }
	first, err := store.pool.Acquire(t.Context())
	must.Succeed(t, err)
	second, err := store.pool.Acquire(t.Context())
	must.Succeed(t, err)
	if a, idle, most := value("connections", "acquired"), value("connections", "idle"), value("max_connections", ""); a != 2 || idle != 0 || most != 2 {
		t.Errorf("got %v connections acquired, %v idle, at most %v, want 2, 0 and 2", a, idle, most)
	}
	defer second.Release()
	// Acquire races with Release. Sooner or later, Acquire is first and has to wait.
	for deadline := time.Now().Add(2 * time.Minute); value("waits_total", "") == 0; {
		if time.Now().After(deadline) {
			t.Fatal("condition not met in time: a wait for a connection is counted")
		}
		comes, acquired := make(chan struct{}), make(chan *pgxpool.Conn)
		go func() {
			close(comes)
			c, err := store.pool.Acquire(context.WithoutCancel(t.Context()))
			if err != nil {
				t.Errorf("Acquire: %v", err)
			}
			acquired <- c
		}()
		<-comes
		first.Release()
		if first = <-acquired; first == nil {
			return
		}
	}
	first.Release()
	if waited := value("wait_seconds_total", ""); waited <= 0 {
		t.Errorf("got waits of %v s in total, want more than 0", waited)
	}
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("GatherAndLint found %v, %v, want no problems", problems, err)
	}
	if n, err := testutil.GatherAndCount(registry); err != nil || n != 6 {
		t.Errorf("got %d samples, %v, want 6", n, err)
	}
}
