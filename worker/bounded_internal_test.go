package worker

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"

	"ovation/storage"
)

func like(user int) storage.Action {
	return storage.Action{
		User:    storage.User{Tenant: storage.DefaultTenant, UserID: strconv.Itoa(user)},
		Subject: storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: "1"},
		Kind:    storage.KindReaction, Reaction: storage.Like,
	}
}

// A waiter whose context is cancelled is skipped, even if the lock becomes free at that
// moment.
func TestKeyedMutexSkipsCancelledWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns, id := newKeyedMutex(), idOf(like(1))
		if err := turns.lock(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		const callers = 9
		var order []int
		var hangUp [callers]context.CancelFunc
		for i := range callers {
			ctx, cancel := context.WithCancel(t.Context())
			hangUp[i] = cancel
			go func() {
				if turns.lock(ctx, id) == nil {
					order = append(order, i) // guarded by the lock
					turns.unlock(id)
				}
			}()
			synctest.Wait() // so that the callers wait in order
		}
		hangUp[0]()
		hangUp[4]()
		synctest.Wait()
		hangUp[1]() // at the same time as the unlock: either may be first
		turns.unlock(id)
		hangUp[8]()
		synctest.Wait()
		order = slices.DeleteFunc(order, func(i int) bool { return i == 1 || i == 8 })
		if want := []int{2, 3, 5, 6, 7}; !slices.Equal(order, want) || len(turns.locks) != 0 {
			t.Errorf("the lock was acquired in the order %v, want %v; %d locks are left", order, want, len(turns.locks))
		}
		for _, cancel := range hangUp {
			cancel()
		}
	})
}

func TestInDoubtIsBounded(t *testing.T) {
	d := newInDoubt()
	for i := range maxInDoubt + 10 {
		d.add(idOf(like(i)), storage.Register{Value: storage.Like, Set: 7})
	}
	if len(d.actions) != maxInDoubt {
		t.Errorf("got %d states in doubt, want the maximum, %d", len(d.actions), maxInDoubt)
	}
	last := idOf(like(maxInDoubt + 9))
	for _, below := range []storage.Register{{Set: 6}, {Set: 6, Clears: storage.Clears{8, 0}}} {
		if got := d.resolve(last, below); got != 7 {
			t.Errorf("beyond %+v the doubt is %d, want 7", below, got)
		}
	}
	if got := d.resolve(last, storage.Register{Set: 7}); got != 0 || len(d.actions) != maxInDoubt-1 {
		t.Errorf("resolving an overtaken doubt: got %d, %d states in doubt, want 0, %d", got, len(d.actions), maxInDoubt-1)
	}
}
