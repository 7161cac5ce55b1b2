package counts

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ovation/storage"
)

// BenchmarkConcurrentMisses measures, for several durations of a query, how long 64
// concurrent callers wait for the counts of the same 20 subjects. A caller that is too
// late for the first flight begins or shares the second, so there are two queries. There
// may be more if a query ends before the other callers run.
func BenchmarkConcurrentMisses(b *testing.B) {
	const callers = 64
	subjects := make([]storage.Subject, 20)
	for i := range subjects {
		subjects[i] = video(strconv.Itoa(i))
	}
	for _, takes := range []time.Duration{0, 200 * time.Microsecond, 2 * time.Millisecond, 20 * time.Millisecond} {
		for _, shared := range []bool{false, true} {
			b.Run(takes.String()+"/shared="+strconv.FormatBool(shared), func(b *testing.B) {
				var queries, slowest atomic.Int64
				slots := make(chan struct{}, 9) // as Options.MaxReads
				load := func(_ context.Context, subjects []storage.Subject) ([]storage.Counts, error) {
					slots <- struct{}{}
					defer func() { <-slots }()
					queries.Add(1)
					if takes > 0 {
						time.Sleep(takes) // the duration that the benchmark varies
					}
					return make([]storage.Counts, len(subjects)), nil
				}
				for b.Loop() {
					var f flightGroup
					var group sync.WaitGroup
					for range callers {
						group.Go(func() {
							began := time.Now()
							if shared {
								_, _, _ = f.load(context.Background(), subjects, load)
							} else {
								_, _ = load(context.Background(), subjects)
							}
							if took := int64(time.Since(began)); took > slowest.Load() {
								slowest.Store(took)
							}
						})
					}
					group.Wait()
				}
				b.ReportMetric(float64(queries.Load())/float64(b.N), "queries/op")
				b.ReportMetric(float64(slowest.Load())/1e6, "slowest-ms")
			})
		}
	}
}
