package amqp

import (
	"fmt"
	"testing"

	"ovation/worker/queuetest"
)

func TestQueueContract(t *testing.T) {
	for _, c := range []struct{ partitions, prefetch, window int }{{3, 100, 256}, {1, 1, 1}, {8, 7, 16}} {
		t.Run(fmt.Sprintf("%d partitions, prefetch %d, window %d", c.partitions, c.prefetch, c.window), func(t *testing.T) {
			features := queuetest.Features{ConfirmsEarly: true, MaxUnsettled: c.prefetch, DeadLetters: deadReasons}
			queuetest.Run(t, features, func(t *testing.T) queuetest.Queue {
				t.Helper()
				opts := options(t)
				opts.Partitions, opts.Prefetch, opts.Window = c.partitions, c.prefetch, c.window
				return open(t, opts)
			})
		})
	}
}

// deadReasons waits for so many messages that were put aside.
func deadReasons(t *testing.T, q queuetest.Queue, n int) map[string]string {
	t.Helper()
	dead := openDead(t, q.(*Queue).opts)
	reasons := map[string]string{}
	eventually(t, "dead letters", func() bool {
		letters, err := dead.List(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range letters {
			reasons[l.ID] = l.Reason
		}
		return len(letters) == n
	})
	return reasons
}
