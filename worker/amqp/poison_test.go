package amqp

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/sqlitetest"
	"ovation/worker"
	"ovation/worker/local"
)

func TestPoisonIsDeadLetteredAndDelaysNothing(t *testing.T) {
	store := sqlitetest.Open(t)
	opts := options(t)
	q := open(t, opts)
	var good []string
	for i := range 40 {
		id := fmt.Sprintf("good-%d", i)
		good = append(good, id)
		publish(t, q, 0, id)
		if i%10 == 5 {
			poison := message(fmt.Sprintf("poison-%d", i))
			poison.Actions[0].Version = 0 // no store takes it
			if _, err := q.Publish(t.Context(), 0, poison); err != nil {
				t.Fatal(err)
			}
		}
	}

	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- worker.New(q, store, local.Mirror{Reader: store}, worker.Options{Logger: opts.Logger, MaxTries: 1}).Run(ctx)
	}()
	await.That(t, "every good message is persisted", func() bool {
		seen, err := store.Seen(t.Context(), good)
		must(t, err)
		for _, s := range seen {
			if !s {
				return false
			}
		}
		return true
	})
	dead := openDead(t, opts)
	await.That(t, "the poison is dead-lettered", func() bool { return len(list(t, dead, 10)) == 4 })
	for _, l := range list(t, dead, 10) {
		if !strings.HasPrefix(l.ID, "poison") || !strings.Contains(l.Reason, "version must be above 0") {
			t.Errorf("got the dead letter %s because of %q, want poison because of its version", l.ID, l.Reason)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
