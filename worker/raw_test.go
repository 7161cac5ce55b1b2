package worker_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
	"ovation/storage"
	"ovation/storage/postgres"
	"ovation/storage/redis"
	"ovation/worker"
	"ovation/worker/amqp"
)

// servers holds connections to Postgres, Redis and RabbitMQ from the environment, with
// separate tables, keys and queues for one benchmark.
type servers struct {
	database *postgres.Store
	copied   *redis.Store
	queue    *amqp.Queue
}

func openServers(b *testing.B) servers {
	b.Helper()
	var at [2]string
	for i, name := range []string{"OVATION_REDIS_URL", "OVATION_RABBITMQ_URL"} {
		if at[i] = os.Getenv(name); at[i] == "" {
			b.Skip(name + " is not set: run it by scripts/services run")
		}
	}
	own := "bench-" + strings.ToLower(rand.Text()[:12])
	var s servers
	var err error
	s.database, err = postgres.Open(b.Context(), postgres.Options{URL: postgrestest.Schema(b), Logger: quiet})
	must.Succeed(b, err)
	s.copied, err = redis.Open(b.Context(), redis.Options{URL: at[0], Database: s.database, Prefix: own, TTL: 2 * time.Minute, QueuedTTL: 2 * time.Minute, Logger: quiet})
	must.Succeed(b, err)
	b.Cleanup(func() { must.Succeed(b, s.copied.Close()) })
	s.queue, err = amqp.Open(b.Context(), amqp.Options{URL: at[1], Prefix: own, Logger: quiet})
	must.Succeed(b, err)
	b.Cleanup(func() {
		must.Succeed(b, s.queue.Close())
		deleteQueues(b, at[1], own, s.queue.Partitions())
	})
	return s
}

func deleteQueues(b *testing.B, at, prefix string, partitions int) {
	b.Helper()
	connection, err := amqp091.Dial(at)
	must.Succeed(b, err)
	defer connection.Close()
	channel, err := connection.Channel()
	must.Succeed(b, err)
	names := []string{"dead", "partitions", "open", "publishers", "workers"}
	for i := range partitions {
		names = append(names, strconv.Itoa(i))
	}
	for _, name := range names {
		_, err := channel.QueueDelete(prefix+"."+name, false, false, false)
		must.Succeed(b, err)
	}
}

// BenchmarkLikes measures how long likes take from Record to their acknowledgement,
// without HTTP, and how fast a worker in the same process persists them. Each like is by
// a different user, on one of ten thousand subjects.
func BenchmarkLikes(b *testing.B) {
	for _, clients := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			s := openServers(b)
			done := &persisted{Persister: s.database, want: int64(b.N), all: make(chan struct{})}
			startWorker(b, s.queue, done, s.copied, worker.Options{})
			r := newRecorder(b, s.queue, s.copied, worker.RecorderOptions{})
			took := make([]time.Duration, b.N)
			b.ResetTimer()
			likeAll(b, r, clients, took)
			acknowledged := b.Elapsed()
			<-done.all
			b.StopTimer()
			slices.Sort(took)
			b.ReportMetric(float64(b.N)/acknowledged.Seconds(), "likes/s")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "persisted/s")
			b.ReportMetric(took[b.N/2].Seconds()*1e3, "p50-ms")
			b.ReportMetric(took[b.N*99/100].Seconds()*1e3, "p99-ms")
		})
	}
}

// likeAll records a like for each element of took, and sets the element to the duration
// of the like.
func likeAll(b *testing.B, r *worker.Recorder, clients int, took []time.Duration) {
	b.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(took); i = int(next.Add(1)) - 1 {
				began := time.Now()
				if _, err := r.Record(b.Context(), react(user(i), video(strconv.Itoa(i%10_000)), storage.Like), nil); err != nil {
					b.Error(err)
					return
				}
				took[i] = time.Since(began)
			}
		})
	}
	all.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

// persisted is a persister that closes the channel all when the wanted number of actions
// is in the database.
type persisted struct {
	storage.Persister

	want, has int64
	took      time.Duration // in Persist, so far
	all       chan struct{}
}

func (p *persisted) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	began := time.Now()
	outcome, err := p.Persister.Persist(ctx, messages, mark)
	p.took += time.Since(began)
	if err == nil && p.has < p.want {
		for i := range messages {
			p.has += int64(len(messages[i].Actions))
		}
		if p.has >= p.want {
			close(p.all)
		}
	}
	return outcome, err
}

// BenchmarkWorker measures how fast a worker persists, marks and publishes queued likes;
// an iteration is a like. Before the clock starts, the likes are published in messages of
// 10 or 1,000 actions. If shown is true, they are also applied to the mirror, as a
// recorder would apply them.
func BenchmarkWorker(b *testing.B) {
	for _, size := range []int{10, 1000} {
		for _, shown := range []bool{false, true} {
			b.Run(fmt.Sprintf("actions=%d/shown=%t", size, shown), func(b *testing.B) {
				s := openServers(b)
				for from := 0; from < b.N; from += size {
					fillQueue(b, s, from, min(size, b.N-from), shown)
				}
				done := &persisted{Persister: s.database, want: int64(b.N), all: make(chan struct{})}
				mirror := &timed{Mirror: s.copied}
				b.ResetTimer()
				startWorker(b, s.queue, done, mirror, worker.Options{Concurrency: 2})
				<-done.all
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "actions/s")
				b.ReportMetric(done.took.Seconds()*1e6/float64(b.N), "persist-µs/action")
				b.ReportMetric(time.Duration(mirror.marking.Load()).Seconds()*1e6/float64(b.N), "of-it-mark-µs/action")
				b.ReportMetric(time.Duration(mirror.publishing.Load()).Seconds()*1e6/float64(b.N), "publish-µs/action")
			})
		}
	}
}

// timed is a mirror that adds up how long its calls take.
type timed struct {
	worker.Mirror

	marking, publishing atomic.Int64
}

func (m *timed) Mark(ctx context.Context, outcome storage.Outcome) error {
	defer m.add(&m.marking, time.Now())
	return m.Mirror.Mark(ctx, outcome)
}

func (m *timed) Publish(ctx context.Context, outcome storage.Outcome) error {
	defer m.add(&m.publishing, time.Now())
	return m.Mirror.Publish(ctx, outcome)
}

func (*timed) add(to *atomic.Int64, began time.Time) { to.Add(int64(time.Since(began))) }

// fillQueue publishes a message with n likes and, if show is true, applies them to the
// mirror.
func fillQueue(b *testing.B, s servers, from, n int, show bool) {
	b.Helper()
	m := storage.Message{ID: fmt.Sprintf("message-%d", from)}
	for i := range n {
		a := react(user(from+i), video(strconv.Itoa((from+i)%10_000)), storage.Like)
		a.Version = storage.Micros(time.Now()) + int64(i)
		m.Actions = append(m.Actions, a)
	}
	_, err := s.queue.Publish(b.Context(), from/max(n, 1)%s.queue.Partitions(), m)
	must.Succeed(b, err)
	if show {
		must.Succeed(b, s.copied.Apply(b.Context(), m.Actions, storage.Queued, nil))
	}
}
