package worker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"ovation/storage"
	"ovation/storage/sqlite"
	"ovation/worker"
	"ovation/worker/local"
)

// This example runs the write path in one process: a Recorder publishes to a queue, and a
// Worker persists what the queue delivers. `ovation dev` is wired like this.
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

	queue := local.NewQueue(local.Options{})
	mirror := local.Mirror{Reader: store}
	recorder := worker.NewRecorder(queue, mirror, worker.RecorderOptions{})
	working, stop := context.WithCancel(ctx)
	defer stop()
	stopped := make(chan error)
	go func() { stopped <- worker.New(queue, store, mirror, worker.Options{}).Run(working) }()

	like := storage.Action{
		User:    storage.User{Tenant: storage.DefaultTenant, UserID: "alice"},
		Subject: storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: "42"},
		Kind:    storage.KindReaction, Reaction: storage.Like,
	}
	for range 2 {
		recorded, err := recorder.Record(ctx, like, nil) // returns when the like is durable
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("changed: %t, durability: %s\n", recorded.Changed, recorded.Durability)
	}

	// Stop in stages: accept nothing more, then finish what is queued.
	fmt.Println("recorder:", recorder.Close(ctx))
	stop()
	fmt.Println("worker:", <-stopped)
	fmt.Println("queue:", queue.Close())
	// Output:
	// changed: true, durability: PERSISTED
	// changed: false, durability: PERSISTED
	// recorder: <nil>
	// worker: <nil>
	// queue: <nil>
}
