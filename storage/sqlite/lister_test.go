package sqlite

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"ovation/storage"
)

// holdLists occupies every connection for lists until release is called.
func holdLists(t *testing.T, s *Store) (release func()) {
	t.Helper()
	var calls, begun sync.WaitGroup
	held := make(chan struct{})
	begun.Add(cap(s.lister))
	for range cap(s.lister) {
		calls.Go(func() {
			if err := s.readList(context.WithoutCancel(t.Context()), "hold", func(tx) error {
				begun.Done()
				<-held
				return nil
			}); err != nil && !errors.Is(err, storage.ErrUnavailable) {
				t.Errorf("a list that hangs: got %v, want nil or %v", err, storage.ErrUnavailable)
			}
		})
	}
	begun.Wait()
	release = sync.OnceFunc(func() { close(held); calls.Wait() })
	t.Cleanup(release)
	return release
}

// TestSlowListsLeaveReadsTheirConnections checks that slow lists occupy only the
// connections for lists: reads by key continue, and other lists fail after a timeout.
func TestSlowListsLeaveReadsTheirConnections(t *testing.T) {
	s := open(t)
	s.listTimeout = time.Minute
	release := holdLists(t, s)
	subject := storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: "1"}
	for range 2 * readers {
		if _, err := s.Interactives(t.Context(), storage.User{Tenant: storage.DefaultTenant}, []storage.Subject{subject}, 0); err != nil {
			t.Fatal(err)
		}
	}
	s.listTimeout = time.Millisecond
	queries := []storage.LikersQuery{{Subject: subject, Page: storage.Page{First: 1}}}
	if _, err := s.Likers(t.Context(), queries); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("a list that waits for others: got %v, want %v", err, storage.ErrUnavailable)
	}
	release()
	s.listTimeout = time.Minute
	if _, err := s.Likers(t.Context(), queries); err != nil {
		t.Errorf("a list, when there is a connection: %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Likers(cancelled, queries); !errors.Is(err, context.Canceled) || errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("a list that its caller has given up: got %v, want %v alone", err, context.Canceled)
	}
}
