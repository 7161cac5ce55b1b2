package amqp

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/worker/queuetest"
)

func TestQueueContract(t *testing.T) {
	for _, c := range []struct {
		partitions, prefetch, window int
		name                         string
	}{{3, 100, 256, ""}, {1, 1, 1, ""}, {8, 7, 16, ""}, {1, 4, 16, "jobs"}} {
		t.Run(fmt.Sprintf("%d partitions %s, prefetch %d, window %d", c.partitions, c.name, c.prefetch, c.window), func(t *testing.T) {
			features := queuetest.Features{ConfirmsEarly: true, MaxUnsettled: c.prefetch, DeadLetters: deadReasons}
			queuetest.Run(t, features, func(t *testing.T) queuetest.Queue {
				t.Helper()
				opts := options(t)
				opts.Partitions, opts.Prefetch, opts.Window, opts.Name = c.partitions, c.prefetch, c.window, c.name
				opts.balanceEvery = time.Hour // no partition is handed over
				if c.name != "" {
					t.Cleanup(func() { deleteQueues(t, opts) })
				}
				return open(t, opts)
			})
		})
	}
}

// deadReasons waits for n dead letters and returns the reason of each by its id.
func deadReasons(t *testing.T, q queuetest.Queue, n int) map[string]string {
	t.Helper()
	dead := openDead(t, q.(*Queue).opts)
	reasons := map[string]string{}
	await.That(t, fmt.Sprintf("%d messages are dead-lettered", n), func() bool {
		letters, err := dead.List(t.Context(), n)
		must.Succeed(t, err)
		for _, l := range letters {
			reasons[l.ID] = l.Reason
		}
		return len(letters) == n
	})
	return reasons
}

// A named queue is separate from the partitions: neither receives messages of the other.
func TestQueueOfANameIsApart(t *testing.T) {
	t.Parallel()
	opts := options(t)
	named := opts
	named.Name, named.Partitions = "jobs", 1
	t.Cleanup(func() { deleteQueues(t, named) })
	actions, jobs := open(t, opts), open(t, named)
	for i, q := range []*Queue{actions, jobs} {
		if _, err := q.Publish(t.Context(), 0, message(fmt.Sprint("m", i))); err != nil {
			t.Fatal(err)
		}
	}
	for i, q := range []*Queue{actions, jobs} {
		deliveries, err := q.Consume(t.Context())
		must.Succeed(t, err)
		if d := <-deliveries; d.Message().ID != fmt.Sprint("m", i) || d.Reject(errors.New("aside")) != nil {
			t.Errorf("queue %d: got message %s, want m%d, rejected without an error", i, d.Message().ID, i)
		}
	}
	for i, o := range []Options{opts, named} {
		letters, err := openDead(t, o).List(t.Context(), 10)
		if err != nil || len(letters) != 1 || letters[0].ID != fmt.Sprint("m", i) {
			t.Errorf("queue %d: got the dead letters %+v, %v, want m%d alone", i, letters, err, i)
		}
	}
}
