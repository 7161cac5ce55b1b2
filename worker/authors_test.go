package worker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ovation/storage"
	"ovation/worker"
)

// failingPersister makes the first calls to Persist fail.
type failingPersister struct {
	storage.Persister

	fail []error
	ids  []string
}

func (f *failingPersister) Persist(_ context.Context, messages []storage.Message, _ storage.Mark) (storage.Outcome, error) {
	n := len(f.ids)
	f.ids = append(f.ids, messages[0].ID)
	if n < len(f.fail) {
		return storage.Outcome{}, f.fail[n]
	}
	return storage.Outcome{}, nil
}

// A declaration that fails because the database is unavailable is retried once under the
// same id, so that it is persisted only once. It is not retried after an error that would
// recur.
func TestDeclarationsAreRetriedOnce(t *testing.T) {
	down, invalid := fmt.Errorf("down: %w", storage.ErrUnavailable), &storage.InvalidError{Field: "author"}
	declared := []storage.Action{{Kind: storage.KindAuthor}}
	for name, c := range map[string]struct {
		fail  []error
		calls int
		want  error
	}{
		"success":     {nil, 1, nil},
		"one failure": {[]error{down}, 2, nil},
		"an outage":   {[]error{down, down}, 2, storage.ErrUnavailable},
		"not allowed": {[]error{invalid}, 1, storage.ErrInvalid},
	} {
		persister := &failingPersister{fail: c.fail}
		_, err := worker.NewAuthors(persister, quiet).Declare(t.Context(), declared)
		if !errors.Is(err, c.want) || len(persister.ids) != c.calls || persister.ids[0] != persister.ids[c.calls-1] {
			t.Errorf("%s: got %v after the calls %q, want %v after %d calls with one id", name, err, persister.ids, c.want, c.calls)
		}
	}
	persister := &failingPersister{}
	if _, err := worker.NewAuthors(persister, nil).Declare(t.Context(), nil); err != nil || len(persister.ids) > 0 {
		t.Errorf("declaring nothing: got %v, %d calls, want no error and no call", err, len(persister.ids))
	}
}

func TestDeclarationTimesOutWhileItsCommitHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		release := sync.OnceFunc(func() { close(hold) })
		store := &hooks{before: func(context.Context, []storage.Message) error {
			<-hold // like a commit that hangs: no context ends it
			return errBroken
		}}
		time.AfterFunc(time.Minute, release) // in case Declare does not return
		a := worker.NewAuthors(store, quiet)
		began := time.Now()
		if _, err := a.Declare(t.Context(), []storage.Action{{Kind: storage.KindAuthor}}); !errors.Is(err, storage.ErrUnavailable) || time.Since(began) > 3*time.Second {
			t.Errorf("Declare while the commit hangs: got %v after %v, want %v within 3 s", err, time.Since(began), storage.ErrUnavailable)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := a.Close(ctx); !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("Close while the commit hangs: got %v, want %v", err, storage.ErrUnavailable)
		}
		release()
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := a.Declare(t.Context(), []storage.Action{{Kind: storage.KindAuthor}}); !errors.Is(err, worker.ErrClosed) {
			t.Errorf("Declare after Close: got %v, want %v", err, worker.ErrClosed)
		}
	})
}
