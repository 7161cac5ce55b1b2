package worker_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ovation/storage"
	"ovation/worker"
	"ovation/worker/local"
)

func TestReplyComesAfterApply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, queue := openStore(t), newQueue(t)
		gate := make(chan struct{})
		mirror := &spy{Mirror: local.Mirror{Reader: store}, apply: func([]storage.Action) error { <-gate; return nil }}
		startWorker(t, queue, store, mirror, worker.Options{})
		r := newRecorder(t, queue, mirror, worker.RecorderOptions{})
		answer := background(r, t.Context(), react(alice, movie, storage.Like))
		synctest.Wait()
		select {
		case got := <-answer:
			t.Errorf("got the answer %+v before the action was applied, want none", got)
		default:
		}
		close(gate)
		wantRecorded(t, answer)
	})
}

// An action that cannot be applied to the mirror succeeds nevertheless. The failures are
// logged as one outage.
func TestFailedApplyFailsNoAction(t *testing.T) {
	store, queue := openStore(t), newQueue(t)
	mirror := &spy{Mirror: local.Mirror{Reader: store}, apply: func([]storage.Action) error { return errBroken }}
	startWorker(t, queue, store, mirror, worker.Options{})
	var log bytes.Buffer // safe to read: each batch is answered after it is logged
	r := newRecorder(t, queue, mirror, worker.RecorderOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	began := time.Now()
	for i := range 20 {
		record(t, r, react(user(i), movie, storage.Like))
	}
	wantLikes(t, store, movie, 20)
	most := 1 + int(time.Since(began)/(10*time.Second))
	if n := strings.Count(log.String(), "not applied to the mirror yet"); n < 1 || n > most {
		t.Errorf("one outage: got %d log lines, want 1 to %d:\n%s", n, most, log.String())
	}
}

func TestOnlyConfirmedActionsAreApplied(t *testing.T) {
	store, queue := openStore(t), newQueue(t)
	mirror := &spy{Mirror: local.Mirror{Reader: store}, apply: func([]storage.Action) error {
		t.Error("an action that was rejected is applied")
		return nil
	}}
	startWorker(t, queue, &hooks{Persister: store, before: func(context.Context, []storage.Message) error {
		return errBroken
	}}, mirror, worker.Options{MaxTries: 1})
	r := newRecorder(t, queue, mirror, worker.RecorderOptions{})
	_, err := r.Record(t.Context(), react(alice, movie, storage.Like), nil)
	if !errors.Is(err, worker.ErrRejected) || !errors.Is(err, errBroken) {
		t.Errorf("Record returned %v, want ErrRejected with the reason", err)
	}
}

// The log reports the end of the mirror's outage only once a queued action has been
// applied. For a persisted action, the mirror may have nothing to do.
func TestEndOfFailuresOfApplyIsLoggedOnceAQueuedActionIsApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		where, fails := storage.Queued, true
		mirror := &spy{Mirror: local.Mirror{Reader: openStore(t)}, apply: func([]storage.Action) error {
			if fails {
				return errBroken
			}
			return nil
		}, get: func() (storage.Durability, error) { return "", nil }} // so that each action is published
		confirming := publishFunc(func(context.Context, storage.Message) (storage.Durability, error) { return where, nil })
		r := newRecorder(t, confirming, mirror, worker.RecorderOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		record(t, r, react(alice, movie, storage.Like))
		time.Sleep(time.Minute)
		for _, c := range []struct {
			where storage.Durability
			ends  int
		}{{storage.Persisted, 0}, {storage.Queued, 1}} {
			where, fails = c.where, false
			record(t, r, react(alice, movie, storage.Like))
			if n := strings.Count(log.String(), "applied to the mirror again"); n != c.ends {
				t.Errorf("after an action that is %s, %d lines log the end, want %d", c.where, n, c.ends)
			}
		}
	})
}
