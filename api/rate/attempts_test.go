package rate

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

func TestAttemptsAreCountedForEachKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAttempts(3, time.Minute)
		for i := range 3 {
			if wait := a.Take("alice"); wait != 0 {
				t.Fatalf("attempt %d: got a wait of %v, want none", i, wait)
			}
		}
		if wait := a.Take("alice"); wait != time.Minute {
			t.Errorf("the fourth attempt: got a wait of %v, want %v", wait, time.Minute)
		}
		if wait := a.Take("bob"); wait != 0 {
			t.Errorf("another key: got a wait of %v, want none", wait)
		}
		a.Return("alice")
		if wait := a.Take("alice"); wait != 0 {
			t.Errorf("after a returned attempt: got a wait of %v, want none", wait)
		}
		time.Sleep(time.Minute)
		if first, second := a.Take("alice"), a.Take("alice"); first != 0 || second != time.Minute {
			t.Errorf("a minute later: got waits of %v and %v, want none and %v", first, second, time.Minute)
		}
	})
}

func TestReturnedAttemptsAddNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAttempts(2, time.Minute)
		for range 10 {
			a.Return("alice")
		}
		for i := range 2 {
			if wait := a.Take("alice"); wait != 0 {
				t.Fatalf("attempt %d: got a wait of %v, want none", i, wait)
			}
		}
		if a.Take("alice") == 0 {
			t.Error("the third attempt: got no wait, want one")
		}
	})
}

func TestNoAttemptsAreNoLimit(t *testing.T) {
	a := NewAttempts(0, time.Minute)
	for i := range 1000 {
		if a.Take(strconv.Itoa(i%2)) != 0 {
			t.Fatalf("attempt %d without a limit: got a wait, want none", i)
		}
		a.Return("0")
	}
}
