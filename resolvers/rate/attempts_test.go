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
				t.Fatalf("attempt %d waits %v", i, wait)
			}
		}
		if wait := a.Take("alice"); wait != time.Minute {
			t.Errorf("the fourth waits %v", wait)
		}
		if wait := a.Take("bob"); wait != 0 {
			t.Errorf("another key waits %v", wait)
		}
		a.Return("alice")
		if wait := a.Take("alice"); wait != 0 {
			t.Errorf("after one attempt was returned, the next waits %v", wait)
		}
		time.Sleep(time.Minute)
		if first, second := a.Take("alice"), a.Take("alice"); first != 0 || second != time.Minute {
			t.Errorf("a minute later they wait %v and %v", first, second)
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
				t.Fatalf("attempt %d waits %v", i, wait)
			}
		}
		if a.Take("alice") == 0 {
			t.Error("there is a third attempt")
		}
	})
}

func TestNoAttemptsAreNoLimit(t *testing.T) {
	a := NewAttempts(0, time.Minute)
	for i := range 1000 {
		if a.Take(strconv.Itoa(i%2)) != 0 {
			t.Fatal("it limits")
		}
		a.Return("0")
	}
}
