package sqlite

import (
	"path/filepath"
	"testing"

	"ovation/internal/testing/must"
	"ovation/storage"
)

// TestEventsAreOff checks that a store logs nothing unless events are switched on.
func TestEventsAreOff(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "test.db"))
	user, movie := storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}, storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: "1"}
	_, err := s.Persist(t.Context(), []storage.Message{{ID: "1", Actions: []storage.Action{
		{User: user, Subject: movie, Kind: storage.KindReaction, Reaction: storage.Like, Version: 1},
	}}}, nil)
	must.Succeed(t, err)
	stream, err := s.EventStream(t.Context())
	must.Succeed(t, err)
	if stream.First != 1 || stream.Last != 0 {
		t.Errorf("got %+v, want no events", stream)
	}
}
