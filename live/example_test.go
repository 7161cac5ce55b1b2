package live_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"ovation/live"
	"ovation/storage"
	"ovation/storage/sqlite"
)

// A watcher receives a snapshot of each subject, and newer counts after each change. In a
// single process, the store notifies the hub (Notifying).
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	folder, err := os.MkdirTemp("", "ovation")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	database, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(folder, "ovation.db")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer database.Close()

	hub := live.New(database, live.Options{})
	defer hub.Close()
	store := live.Notifying(database, hub.Changed, hub.ChangedAll)

	video := storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: "42"}
	watcher := hub.Watch([]storage.Subject{video})
	defer watcher.Close()
	events := make([]*live.Event, 1)
	for likes, users := 0, []string{"alice", "bob"}; ; likes++ {
		if _, err := watcher.Next(ctx, events); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("likes:", events[0].LikeCount)
		if likes == len(users) {
			break
		}
		user := storage.User{Tenant: storage.DefaultTenant, UserID: users[likes]}
		like := storage.Action{User: user, Subject: video, Kind: storage.KindReaction, Reaction: storage.Like, Version: 1}
		if _, err := store.Persist(ctx, []storage.Message{{ID: user.UserID, Actions: []storage.Action{like}}}, nil); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// likes: 0
	// likes: 1
	// likes: 2
}
