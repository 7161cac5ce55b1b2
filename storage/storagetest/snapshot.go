package storagetest

import (
	"strconv"
	"sync"
	"testing"

	"ovation/storage"
)

// CountsAndStatesAreOfOneMoment checks that counts and states in one reply are from one
// snapshot, while another goroutine changes both. It is not a case of Run, because a
// mirror does not read counts and states at the same time.
func CountsAndStatesAreOfOneMoment(t *testing.T, s storage.Store) {
	t.Helper()
	alice := storage.User{Tenant: "default", UserID: "alice"}
	subject := storage.Subject{Tenant: "default", Biz: "video", BizID: "1"}
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for n := int64(1); ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			a := storage.Action{User: alice, Subject: subject, Kind: storage.KindReaction, Reaction: storage.Reaction(n % 2), Version: n}
			if _, err := s.Persist(t.Context(), []storage.Message{{ID: strconv.FormatInt(n, 10), Actions: []storage.Action{a}}}, nil); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 300 {
		got, err := s.Interactives(t.Context(), alice, []storage.Subject{subject}, storage.AllKinds)
		if err != nil {
			t.Fatal(err)
		}
		if liked := got[0].Liked != nil; liked != (got[0].LikeCount == 1) {
			t.Errorf("Interactives: got liked %t, %d likes, want both of one moment", liked, got[0].LikeCount)
		}
	}
	close(stop)
	group.Wait()
}
