package postgres

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"ovation/storage"
)

// Calls that wait for a transaction look less and less often whether it has ended, and
// only a few look at the same time.
func TestClearsWaitWithFewLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const calls = 12
		waits := make(clearWaits, maxClearWaits)
		var mu sync.Mutex
		looking, most, looks := map[int]bool{}, 0, 0
		var running sync.WaitGroup
		for call := range calls {
			running.Go(func() {
				err := waits.wait(t.Context(), func(context.Context) ([]string, error) {
					mu.Lock()
					defer mu.Unlock()
					looking[call] = true
					most, looks = max(most, len(looking)), looks+1
					return []string{"1/2"}, nil
				})
				mu.Lock()
				defer mu.Unlock()
				delete(looking, call)
				if !errors.Is(err, storage.ErrUnavailable) {
					t.Errorf("got the error %v, want %v", err, storage.ErrUnavailable)
				}
			})
		}
		running.Wait()
		if most != maxClearWaits || looks > 110*maxClearWaits {
			t.Errorf("%d calls looked at the same time, %d times in total, want %d and at most %d", most, looks, maxClearWaits, 110*maxClearWaits)
		}
	})
}

// A call waits for the transactions that are in progress when it begins, and not for later
// ones.
func TestClearsWaitForEarlierTransactions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		replies := [][]string{{"1/1", "2/2"}, {"2/2", "3/3"}, {"3/3", "2/2"}, {"3/3"}}
		looks := 0
		err := make(clearWaits, 1).wait(t.Context(), func(context.Context) ([]string, error) {
			looks++
			return replies[looks-1], nil
		})
		if err != nil || looks != len(replies) {
			t.Errorf("got the error %v after %d looks, want none after %d", err, looks, len(replies))
		}
	})
}
