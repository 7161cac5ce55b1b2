package worker

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"ovation/storage"
)

func like(user int) storage.Action {
	return storage.Action{
		User:    storage.User{Tenant: storage.DefaultTenant, UserID: strconv.Itoa(user)},
		Subject: storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: "1"},
		Kind:    storage.KindReaction, Reaction: storage.Like,
	}
}

func TestTurnsLeaveNothingBehind(t *testing.T) {
	turns := newTurns()
	release, err := turns.take(t.Context(), like(1))
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := turns.take(gone, like(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("a turn that is taken was given: %v", err)
	}
	release()
	if len(turns.taken) != 0 {
		t.Errorf("%d turns are remembered", len(turns.taken))
	}
}

func TestDoubtsAreBounded(t *testing.T) {
	d := newDoubts()
	for i := range maxDoubts + 10 {
		d.add(idOf(like(i)), 7)
	}
	if len(d.versions) != maxDoubts {
		t.Errorf("%d states are in doubt, at most %d may be", len(d.versions), maxDoubts)
	}
	last := idOf(like(maxDoubts + 9))
	if got := d.above(last, 6); got != 7 {
		t.Errorf("the doubt is %d, want 7", got)
	}
	if got := d.above(last, 7); got != 0 || len(d.versions) != maxDoubts-1 {
		t.Errorf("a doubt that was overtaken is still there: %d", got)
	}
}
