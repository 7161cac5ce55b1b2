package main

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/rueidis"

	"ovation/internal/testing/must"
)

const (
	// stallTime is how long a round of watchStalls may take without counting as a stall. It
	// is a fifth of the longest time that a node waits for Redis.
	stallTime = 50 * time.Millisecond
	// stallEffect is how long after a stall a reply may be other than LIVE, because a
	// node polled late. A node answers LIVE for 1.5 s after a poll, and polls every 500
	// ms.
	stallEffect = 3 * time.Second
)

// stalls records the periods in which the machine or the servers of a site were too slow
// for a node to answer LIVE.
type stalls struct {
	stop func()

	mu    sync.Mutex
	spans [][2]time.Time
}

// watchStalls queries Postgres and Redis every 10 ms, until stop is called, and records
// each round that takes longer than stallTime or fails.
func watchStalls(t *testing.T, s *site) *stalls {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	database, err := pgx.Connect(ctx, s.variables["OVATION_POSTGRES_URL"])
	must.Succeed(t, err)
	options, err := rueidis.ParseURL(s.variables["OVATION_REDIS_URL"])
	must.Succeed(t, err)
	options.DisableCache = true
	redis, err := rueidis.NewClient(options)
	must.Succeed(t, err)
	w := &stalls{}
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for last := time.Now(); ctx.Err() == nil; {
			<-tick.C
			_, errDatabase := database.Exec(ctx, "SELECT epoch FROM mirror")
			errRedis := redis.Do(ctx, redis.B().Ping().Build()).Error()
			now := time.Now()
			if late := now.Sub(last) > stallTime; ctx.Err() == nil && (late || errDatabase != nil || errRedis != nil) {
				w.mu.Lock()
				w.spans = append(w.spans, [2]time.Time{last, now})
				w.mu.Unlock()
			}
			last = now
		}
	})
	w.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		redis.Close()
		_ = database.Close(context.Background()) // it is closed already if its context ended during a query
	})
	t.Cleanup(w.stop)
	return w
}

// explain reports whether a stall explains why a reply that was received at the given
// time is not LIVE.
func (w *stalls) explain(at time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, span := range w.spans {
		if span[0].Before(at) && span[1].Add(stallEffect).After(at) {
			return true
		}
	}
	return false
}

func (w *stalls) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.spans)
}
