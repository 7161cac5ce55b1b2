package amqp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/worker"
)

// publishConcurrently publishes numbered messages from several callers and calls
// confirmed after each confirm. It returns when all calls to Publish have returned. After
// an error, a message is not published again, because it may be in the queue.
func publishConcurrently(t *testing.T, q *Queue, callers, each int, confirmed func(id string)) {
	t.Helper()
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := range each {
				id := fmt.Sprintf("%d-%d", caller, i)
				ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
				_, err := q.Publish(ctx, i%q.Partitions(), message(id))
				cancel()
				switch {
				case err == nil:
					confirmed(id)
				case !errors.Is(err, storage.ErrUnavailable):
					t.Errorf("publish %s: got %v, want %v or no error", id, err, storage.ErrUnavailable)
				}
			}
		})
	}
	all.Wait()
}

func TestNothingConfirmedIsLostWhileConnectionsAreKilled(t *testing.T) {
	p, opts := through(t, options(t))
	q := open(t, opts)
	got := collect(t, q)
	var mu sync.Mutex
	confirmed := map[string]bool{}
	publishConcurrently(t, q, 8, 100, func(id string) {
		mu.Lock()
		defer mu.Unlock()
		confirmed[id] = true
		if len(confirmed)%150 == 0 {
			p.kill()
		}
	})
	if len(confirmed) < 400 {
		t.Errorf("got %d of 800 messages confirmed, want at least 400", len(confirmed))
	}
	for id := range confirmed {
		await.That(t, fmt.Sprintf("message %s, which was confirmed, is received", id), func() bool { return got.has(id) })
	}
}

func TestStalledConnectionDelaysNoCallAndIsReplaced(t *testing.T) {
	t.Parallel()
	for found, c := range map[string]struct{ confirm, io time.Duration }{
		"by a write that blocks":   {time.Hour, 5 * time.Second},
		"by a confirm that is due": {5 * time.Second, time.Hour},
	} {
		t.Run(found, func(t *testing.T) {
			t.Parallel()
			stalledConnection(t, c.confirm, c.io)
		})
	}
}

func stalledConnection(t *testing.T, confirm, io time.Duration) {
	t.Helper()
	p, opts := through(t, options(t))
	opts.ConfirmTimeout, opts.IOTimeout, opts.Window = confirm, io, 20
	opts.Heartbeat = time.Hour // so that heartbeats do not detect the stall first
	q := open(t, opts)
	publish(t, q, 0, "before")
	p.stall()
	// More bytes than fit into the buffers on the way, so that writes block.
	large := message("large")
	large.Actions[0].FolderID = strings.Repeat("x", 1<<20)
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if _, err := q.Publish(ctx, 0, large); !errors.Is(err, storage.ErrUnavailable) {
				t.Errorf("Publish over a stalled connection: got %v, want %v", err, storage.ErrUnavailable)
			}
		})
	}
	all.Wait() // while the connection is stalled
	await.That(t, "the stalled connection is closed", func() bool { return !q.publishing.connected() })
	p.resume()
	await.That(t, "a new connection confirms a message", func() bool {
		_, err := q.Publish(t.Context(), 0, message("after"))
		return err == nil
	})
}

// A broker that does not answer may only be paused, so the error must not suggest
// deleting its data.
func TestSilentBrokerIsNotReportedAsDataLoss(t *testing.T) {
	p, opts := through(t, options(t))
	s := dialed(t, opts)
	defer s.close()
	s.timeout = 50 * time.Millisecond
	p.stall()
	err := s.withTimeout(func() error {
		_, err := s.declare(opts.withDefaults())
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "no answer") || strings.Contains(err.Error(), "delete") {
		t.Errorf("declaring queues over a stalled connection: got %v, want \"no answer\" and no advice to delete", err)
	}
}

func TestCloseEndsOverAStalledConnection(t *testing.T) {
	t.Parallel()
	p, opts := through(t, options(t))
	opts.IOTimeout = 5 * time.Second
	q := open(t, opts)
	publish(t, q, 0, "held")
	held := receive(t, consume(t, q))
	p.stall()
	done := make(chan error, 1)
	go func() {
		_, err := q.Publish(context.Background(), 0, message("waits"))
		done <- err
	}()
	must.Succeed(t, q.Close())
	if err := <-done; err == nil {
		t.Error("Publish over a stalled connection: got no error, want one")
	}
	if err := held.Ack(); !errors.Is(err, worker.ErrSettled) {
		t.Errorf("Ack after Close: got %v, want %v", err, worker.ErrSettled)
	}
}

func TestStaleDeliverySettlesNothing(t *testing.T) {
	for how, settle := range map[string]func(worker.Delivery) error{
		"ack":     worker.Delivery.Ack,
		"requeue": worker.Delivery.Requeue,
		"reject":  func(d worker.Delivery) error { return d.Reject(errors.New("never mind")) },
	} {
		t.Run(how, func(t *testing.T) {
			p, opts := through(t, options(t))
			q := open(t, opts)
			for i := range 3 {
				publish(t, q, 0, fmt.Sprint(i))
			}
			first := consume(t, q)
			var stale []worker.Delivery
			for range 3 {
				stale = append(stale, receive(t, first))
			}
			p.kill()
			for range first { // ends with the connection
			}
			second := consume(t, q)
			var fresh []worker.Delivery
			for range 3 {
				fresh = append(fresh, receive(t, second))
			}
			for _, d := range stale { // with the same delivery tags as deliveries of the new connection
				if err := settle(d); !errors.Is(err, worker.ErrSettled) {
					t.Errorf("%s of a delivery of a lost connection: got %v, want %v", how, err, worker.ErrSettled)
				}
			}
			for i, d := range fresh {
				if d.Message().ID != fmt.Sprint(i) || !d.Redelivered() {
					t.Errorf("delivery %d: got message %s, redelivered %t, want %d, redelivered", i, d.Message().ID, d.Redelivered(), i)
				}
				if err := d.Ack(); err != nil {
					t.Errorf("ack message %d: %v", i, err)
				}
			}
		})
	}
}

func TestMessageWithoutAQueueIsNotConfirmed(t *testing.T) {
	opts := options(t)
	opts.Metrics = NewMetrics(prometheus.NewRegistry(), worker.Records|worker.Works)
	q := open(t, opts)
	await.That(t, "the second connection has declared the queues, too", q.consuming.connected)
	ch := channel(t, opts)
	await.That(t, "the broker returns a message as unroutable before the client notices the missing queue", func() bool {
		// RabbitMQ 3.10 crashes if a queue is deleted while it is being declared.
		if _, err := q.Publish(t.Context(), 1, message("before")); err != nil {
			return false
		}
		if _, err := ch.QueueDelete(q.opts.queue(1), false, false, false); err != nil {
			t.Fatal(err)
		}
		_, err := q.Publish(t.Context(), 1, message("lost"))
		returned := testutil.ToFloat64(opts.Metrics.returns) == 1
		if returned && !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("Publish to a deleted queue: got %v, want %v", err, storage.ErrUnavailable)
		}
		return returned
	})
	await.That(t, "the queue is declared again", func() bool {
		_, err := q.Publish(t.Context(), 1, message("kept"))
		return err == nil
	})
	if d := receive(t, consume(t, q)); d.Message().ID != "kept" {
		t.Errorf("got message %s, want kept", d.Message().ID)
	}
}

func TestConsumerWithoutAQueueDeclaresItAgain(t *testing.T) {
	opts := options(t)
	q := open(t, opts)
	deliveries := consume(t, q)
	_, err := channel(t, opts).QueueDelete(q.opts.queue(1), false, false, false)
	must.Succeed(t, err)
	for range deliveries { // ends, because one partition is no longer delivered
	}
	deliveries = consume(t, q) // declares the queue, to which nothing is published meanwhile
	publish(t, q, 1, "next")
	if d := receive(t, deliveries); d.Message().ID != "next" {
		t.Errorf("got message %s, want next", d.Message().ID)
	}
}

func TestKilledWorkersDeadLetterNothing(t *testing.T) {
	p, opts := through(t, options(t))
	opts.DeliveryLimit, opts.Partitions, opts.Prefetch = 0, 1, 100 // the limit as usual
	q := open(t, opts)
	const messages = 150 // more than Prefetch
	for i := range messages {
		publish(t, q, 0, fmt.Sprint(i))
	}
	for range 10 {
		deliveries := consume(t, q)
		for range q.opts.Prefetch {
			receive(t, deliveries)
		}
		p.kill()
		for range deliveries { // ends with the connection
		}
	}
	deliveries := consume(t, q)
	for i := range messages {
		d := receive(t, deliveries)
		if d.Message().ID != fmt.Sprint(i) {
			t.Errorf("delivery %d: got message %s, want %d", i, d.Message().ID, i)
		}
		if err := d.Ack(); err != nil {
			t.Error(err)
		}
	}
	if letters := list(t, openDead(t, opts), 1); len(letters) > 0 {
		t.Errorf("got the dead letter %+v, want none", letters[0])
	}
}

func TestDepthIsMeasuredWithoutWorkers(t *testing.T) {
	opts := options(t)
	publishes := open(t, opts)
	for partition := range opts.Partitions {
		for i := range 10 * (partition + 1) {
			publish(t, publishes, partition, fmt.Sprint(i))
		}
	}
	registry := prometheus.NewRegistry()
	opts.Metrics = NewMetrics(registry, worker.Records)
	open(t, opts) // consumes nothing, like an API node
	want := `
# HELP ovation_queue_waiting_messages Messages of each partition that no worker has yet, counted every few seconds.
# TYPE ovation_queue_waiting_messages gauge
ovation_queue_waiting_messages{partition="0"} 10
ovation_queue_waiting_messages{partition="1"} 20
ovation_queue_waiting_messages{partition="2"} 30
`
	await.That(t, "the depth of each partition is measured", func() bool {
		return testutil.GatherAndCompare(registry, strings.NewReader(want), "ovation_queue_waiting_messages") == nil
	})
	await.That(t, "only the connections that publish and measure exist", func() bool {
		return testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP ovation_queue_connected 1 while there is a connection to the broker, by purpose (publish, consume, measure).
# TYPE ovation_queue_connected gauge
ovation_queue_connected{purpose="measure"} 1
ovation_queue_connected{purpose="publish"} 1
`), "ovation_queue_connected") == nil
	})
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("GatherAndLint: got %v, %v, want no problems", problems, err)
	}
}

func TestLagIsTheAgeOfTheOldestUnsettledMessage(t *testing.T) {
	opts := options(t)
	opts.Metrics = NewMetrics(prometheus.NewRegistry(), worker.Records|worker.Works)
	q := open(t, opts)
	begin := time.Now()
	publish(t, q, 0, "1")
	deliveries := consume(t, q)
	first := receive(t, deliveries)
	between := time.Now()
	publish(t, q, 1, "2")
	second := receive(t, deliveries)
	now := time.Now()
	if lag := opts.Metrics.lag(now); lag > now.Sub(begin)+time.Millisecond || lag < now.Sub(between) {
		t.Errorf("got the lag %v, want %v to %v", lag, now.Sub(between), now.Sub(begin))
	}
	must.Succeed(t, first.Ack())
	if lag := opts.Metrics.lag(now); lag > now.Sub(between)+time.Millisecond {
		t.Errorf("after the older of two was acknowledged: got the lag %v, want at most %v", lag, now.Sub(between))
	}
	must.Succeed(t, second.Ack())
	if n := opts.Metrics.unsettled(); n != 0 || opts.Metrics.lag(time.Now()) != 0 {
		t.Errorf("got %d unsettled messages, the lag %v, want none", n, opts.Metrics.lag(time.Now()))
	}
}
