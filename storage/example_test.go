package storage_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"ovation/storage"
	"ovation/storage/sqlite"
)

// Persist applies messages with actions in one transaction. Counts change only if a state
// changes, so a like that is repeated, in the same message or later, counts only once.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "ovation")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	store, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(folder, "ovation.db")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	alice := storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}
	video := storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: "42"}
	like := storage.Action{User: alice, Subject: video, Kind: storage.KindReaction, Reaction: storage.Like, Version: 1}
	again := like
	again.Version = 2
	for _, message := range []storage.Message{
		{ID: "first", Actions: []storage.Action{like}},
		{ID: "first", Actions: []storage.Action{like}}, // redelivered
		{ID: "second", Actions: []storage.Action{again}},
	} {
		outcome, err := store.Persist(ctx, []storage.Message{message}, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("message %s: %d skipped\n", message.ID, outcome.Skipped)
	}

	found, err := store.Interactives(ctx, alice, []storage.Subject{video}, storage.AllKinds)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("likes: %d, liked by alice: %t\n", found[0].LikeCount, found[0].Liked != nil)
	// Output:
	// message first: 0 skipped
	// message first: 1 skipped
	// message second: 0 skipped
	// likes: 1, liked by alice: true
}
