package postgres

import (
	"reflect"
	"testing"

	"ovation/storage"
)

func TestWindowHoldsAllOrNothing(t *testing.T) {
	s := open(t)
	alice := storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}
	bob := storage.User{Tenant: storage.DefaultTenant, UserID: "bob"}
	movie := storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: "movie"}
	clip := storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: "clip"}
	act := func(user storage.User, subject storage.Subject, kind storage.Kind, reaction storage.Reaction, folder string, version int64) storage.Action {
		return storage.Action{User: user, Subject: subject, Kind: kind, Reaction: reaction, FolderID: folder, Version: version}
	}
	_, err := s.Persist(t.Context(), []storage.Message{{ID: "1", Actions: []storage.Action{
		act(alice, movie, storage.KindReaction, storage.Like, "", 1),
		act(alice, movie, storage.KindCollection, 0, storage.DefaultFolderID, 2),
		act(alice, clip, storage.KindReaction, storage.NoReaction, "", 3),
		act(bob, movie, storage.KindReaction, storage.Dislike, "", 4),
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	keys := []storage.WindowKey{{User: bob, Biz: "video"}, {User: alice, Biz: "video"}, {User: alice, Biz: "article"}}
	all := []storage.Window{
		{Complete: true, States: map[string]storage.States{
			"movie": {ReactionVersion: 4, Liked: &storage.Liked{User: bob, Subject: movie, Reaction: storage.Dislike, Version: 4}},
		}},
		{Complete: true, States: map[string]storage.States{
			"movie": {
				ReactionVersion: 1, Liked: &storage.Liked{User: alice, Subject: movie, Reaction: storage.Like, Version: 1},
				CollectionVersion: 2, Collected: &storage.Collected{User: alice, Subject: movie, FolderID: storage.DefaultFolderID, Version: 2},
			},
			"clip": {ReactionVersion: 3},
		}},
		{Complete: true, States: map[string]storage.States{}},
	}
	for limit, want := range map[int][]storage.Window{3: all, 2: {all[0], {}, all[2]}} {
		got, err := s.Windows(t.Context(), keys, limit)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("windows of %d are %+v, %v; want %+v", limit, got, err, want)
		}
	}
}
