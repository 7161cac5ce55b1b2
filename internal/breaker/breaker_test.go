package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ovation/internal/breaker"
	"ovation/storage"
)

const (
	timeout = 3 * time.Second
	pause   = time.Second
	trial   = 200 * time.Millisecond
)

func fails(context.Context) error { return storage.ErrUnavailable }

func works(context.Context) error { return nil }

func hangs(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// isOpen checks that both Opened and Err show the breaker as open if want is true, and as
// closed otherwise.
func isOpen(t *testing.T, b *breaker.Breaker, want bool) {
	t.Helper()
	open := false
	select {
	case <-b.Opened():
		open = true
	default:
	}
	if err := b.Err(); errors.Is(err, breaker.ErrOpen) != want || open != want {
		t.Errorf("the breaker is open: %t by Opened, Err() = %v, want open: %t", open, err, want)
	}
}

func TestOneStallDoesNotOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Timeout: timeout})
		time.Sleep(time.Hour) // being idle is no outage
		for range 3 * breaker.MinFailures {
			if err := b.Do(t.Context(), fails); !errors.Is(err, storage.ErrUnavailable) || errors.Is(err, breaker.ErrOpen) {
				t.Errorf("a failing call: got %v, want %v of the call itself", err, storage.ErrUnavailable)
			}
		}
		isOpen(t, b, false)
		time.Sleep(breaker.MinOutage)
		_ = b.Do(t.Context(), fails)
		isOpen(t, b, true)
		if err := b.Do(t.Context(), works); !errors.Is(err, breaker.ErrOpen) || !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("an open breaker: got %v, want %v", err, breaker.ErrOpen)
		}
	})
}

// A success restarts the count of failures. A call that began before the success and
// fails after it counts as failing since the success.
func TestSuccessResetsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Timeout: timeout})
		var late sync.WaitGroup
		late.Go(func() { _ = b.Do(t.Context(), hangs) })
		time.Sleep(timeout / 2)
		for _, call := range []func(context.Context) error{fails, fails, fails, fails, works} {
			_ = b.Do(t.Context(), call)
		}
		late.Wait() // it times out, but another call has succeeded in the meantime
		isOpen(t, b, false)
		_ = b.Do(t.Context(), works)
		late.Go(func() { _ = b.Do(t.Context(), hangs) })
		late.Wait()
		isOpen(t, b, true)
	})
}

func TestLockedIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Timeout: timeout, Pause: pause, Trial: trial})
		locked := func(context.Context) error {
			time.Sleep(trial / 2)
			return fmt.Errorf("add: %w", storage.ErrLocked)
		}
		for range 10 * breaker.MinFailures {
			if err := b.Do(t.Context(), locked); !errors.Is(err, storage.ErrLocked) {
				t.Errorf("a locked call: got %v, want %v", err, storage.ErrLocked)
			}
		}
		isOpen(t, b, false)
		_ = b.Do(t.Context(), hangs)
		isOpen(t, b, true)
		time.Sleep(pause)
		_ = b.Do(t.Context(), locked)
		isOpen(t, b, false)
	})
}

func TestOneTimeoutOfMinOutageOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, limit := range []time.Duration{breaker.MinOutage, breaker.MinOutage - 1} {
			b := breaker.New(breaker.Options{Timeout: limit})
			err := b.Do(t.Context(), hangs)
			if !errors.Is(err, storage.ErrUnavailable) {
				t.Errorf("a hanging call: got %v, want %v", err, storage.ErrUnavailable)
			}
			isOpen(t, b, limit == breaker.MinOutage)
		}
	})
}

func TestOnlyATrialCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []error
		var lasted []time.Duration
		b := breaker.New(breaker.Options{Timeout: timeout, Changed: func(err error, outage time.Duration) {
			told, lasted = append(told, err), append(lasted, outage)
		}})
		var before sync.WaitGroup
		before.Go(func() {
			_ = b.Do(t.Context(), func(context.Context) error {
				time.Sleep(timeout + time.Second)
				return nil
			})
		})
		time.Sleep(time.Nanosecond)
		if err := b.Do(t.Context(), hangs); err == nil {
			t.Error("a hanging call: got no error")
		}
		isOpen(t, b, true)
		before.Wait()
		isOpen(t, b, true)
		time.Sleep(time.Hour) // with Pause 0, no call of Do is a trial
		if err := b.Do(t.Context(), works); !errors.Is(err, breaker.ErrOpen) {
			t.Errorf("an open breaker: got %v, want %v", err, breaker.ErrOpen)
		}
		if err := b.Probe(t.Context(), trial, hangs); !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("a hanging probe: got %v, want %v", err, storage.ErrUnavailable)
		}
		isOpen(t, b, true)
		if err := b.Probe(t.Context(), trial, works); err != nil {
			t.Errorf("a probe that works: %v", err)
		}
		isOpen(t, b, false)
		if err := b.Do(t.Context(), works); err != nil {
			t.Errorf("a call after the breaker has closed: %v", err)
		}
		if len(told) != 2 || told[0] == nil || told[1] != nil || lasted[0] != timeout || lasted[1] < time.Hour {
			t.Errorf("Changed received the errors %v after %v, want an error after %v, then none after at least 1h", told, lasted, timeout)
		}
	})
}

func TestTrialsAreOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Timeout: timeout, Pause: pause, Trial: trial})
		_ = b.Do(t.Context(), hangs)
		isOpen(t, b, true)
		for range 3 {
			time.Sleep(pause)
			var all sync.WaitGroup
			refused, began := make(chan error, 10), time.Now()
			for range cap(refused) {
				all.Go(func() { refused <- b.Do(t.Context(), hangs) })
			}
			all.Wait()
			close(refused)
			trials := 0
			for err := range refused {
				if !errors.Is(err, breaker.ErrOpen) {
					trials++
				}
			}
			if took := time.Since(began); trials != 1 || took != trial {
				t.Errorf("%d trials took %v, want 1 of %v", trials, took, trial)
			}
		}
		time.Sleep(pause)
		if err := b.Do(t.Context(), works); err != nil {
			t.Errorf("a trial that works: %v", err)
		}
		isOpen(t, b, false)
	})
}

func TestCallsInProgressAreCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, failing := range []time.Duration{trial, 0} {
			b := breaker.New(breaker.Options{Timeout: timeout, FailingTimeout: failing})
			began := time.Now()
			var all sync.WaitGroup
			for i := range 2 {
				all.Go(func() {
					time.Sleep(time.Duration(i) * time.Second)
					if err := b.Do(t.Context(), hangs); !errors.Is(err, storage.ErrUnavailable) {
						t.Errorf("a hanging call: got %v, want %v", err, storage.ErrUnavailable)
					}
				})
			}
			all.Wait()
			want := timeout
			if failing == 0 {
				want += time.Second
			}
			if took := time.Since(began); took != want {
				t.Errorf("FailingTimeout %v: the calls took %v, want %v", failing, took, want)
			}
		}
	})
}

func TestFailingTimeoutBoundsCallsAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Timeout: timeout, FailingTimeout: trial})
		_ = b.Do(t.Context(), fails)
		began := time.Now()
		_ = b.Do(t.Context(), hangs)
		if took := time.Since(began); took != trial {
			t.Errorf("a hanging call after a failure took %v, want %v", took, trial)
		}
	})
}

func TestCancelledCallsDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Options{Timeout: timeout})
		for range 3 * breaker.MinFailures {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(timeout/2, cancel)
			if err := b.Do(ctx, hangs); !errors.Is(err, context.Canceled) || errors.Is(err, storage.ErrUnavailable) {
				t.Errorf("a cancelled call: got %v, want %v alone", err, context.Canceled)
			}
			for _, err := range []error{breaker.ErrIgnored, errors.Join(breaker.ErrIgnored, storage.ErrUnavailable), storage.ErrInvalid} {
				if got := b.Do(t.Context(), func(context.Context) error { return err }); !errors.Is(got, err) {
					t.Errorf("a call that returns %v: got %v, want it unchanged", err, got)
				}
			}
		}
		isOpen(t, b, false)
	})
}
