package local_test

import (
	"testing"

	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
	"ovation/worker/local"
)

func TestMirrorReadsTheStore(t *testing.T) {
	store := sqlitetest.Open(t)
	mirror := local.Mirror{Reader: store}
	keys := []storage.StateKey{
		{User: storage.User{Tenant: "default", UserID: "alice"}, Subject: storage.Subject{Tenant: "default", Biz: "video", BizID: "1"}},
		{User: storage.User{Tenant: "default", UserID: "bob"}, Subject: storage.Subject{Tenant: "default", Biz: "video", BizID: "1"}},
	}
	_, err := store.Persist(t.Context(), []storage.Message{{ID: "1", Actions: []storage.Action{{
		User: keys[0].User, Subject: keys[0].Subject, Kind: storage.KindReaction, Reaction: storage.Like, Version: 7,
	}}}}, mirror.Mark)
	if err != nil {
		t.Fatal(err)
	}
	states, known, err := mirror.Get(t.Context(), keys, storage.AllKinds)
	if err != nil || known != storage.Persisted || states[0].Reaction.Version() != 7 || states[0].Liked == nil || states[1].Liked != nil {
		t.Errorf("got %+v, %q, %v, want the like of version 7 first, none second, %q", states, known, err, storage.Persisted)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, known, err := mirror.Get(t.Context(), keys, storage.AllKinds); err == nil || known != "" {
		t.Errorf("Get from a closed store: got %q, %v, want an error and no durability", known, err)
	}
}
