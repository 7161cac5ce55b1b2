package redis

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	hubs "ovation/live"
	"ovation/storage"
	"ovation/storage/redis/internal/changebus"
)

// Subjects that one node publishes reach every node, including the publisher.
func TestChangeBusReachesEveryNode(t *testing.T) {
	server, db := startServer(t), openDatabase(t)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	const size = changebus.MessageSize + 1
	told := make([]chan storage.Subject, 2)
	buses := make([]*changebus.Bus, 2)
	for i := range buses {
		told[i] = make(chan storage.Subject, 10*size)
		buses[i] = open(t, Options{URL: server.url(), Database: openAgain(t, db)}).NewBus(Comments)
		running.Go(func() {
			buses[i].Run(ctx, func(subjects []storage.Subject) {
				for _, s := range subjects {
					select {
					case told[i] <- s:
					default:
					}
				}
			})
		})
	}
	first := storage.Subject{Tenant: "acme", Biz: "video", BizID: "first"}
	for i := range buses {
		await.That(t, "the other node receives a message", func() bool {
			buses[1-i].Notify([]storage.Subject{first})
			return len(told[i]) > 0
		})
	}
	attempt := 0
	await.That(t, "every node receives every subject of one call", func() bool { // a message may be lost
		attempt++
		var want []storage.Subject // other ones for each call
		for i := range size {
			want = append(want, storage.Subject{Tenant: "acme", Biz: "video", BizID: fmt.Sprintf("é:{%d %d}\"", attempt, i)})
		}
		buses[0].Notify(want)
		late := time.After(10 * time.Second)
		for i := range told {
			left := make(map[storage.Subject]bool)
			for _, s := range want {
				left[s] = true
			}
			for len(left) > 0 {
				select {
				case s := <-told[i]:
					delete(left, s)
				case <-late:
					return false
				}
			}
		}
		return true
	})
}

// When a message is added on one node, watchers of its sender and its recipient on
// another node receive an event long before a sweep. Only the bus of messages announces
// the message.
func TestMessagesOfOneNodeReachAnother(t *testing.T) {
	server, db := startServer(t), openDatabase(t)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	node, other := open(t, Options{URL: server.url(), Database: db}), open(t, Options{URL: server.url(), Database: openAgain(t, db)})
	news := hubs.New(hubs.MessageVersions(other), hubs.Options{Sweep: time.Hour, Logger: quiet})
	defer news.Close()
	bus, listening, comments := node.NewBus(Messages), other.NewBus(Messages), other.NewBus(Comments)
	running.Go(func() { bus.Run(ctx, func([]storage.Subject) {}) })
	running.Go(func() { listening.Run(ctx, news.Changed) })
	running.Go(func() {
		comments.Run(ctx, func(subjects []storage.Subject) { t.Errorf("the bus of comments announces %v, want nothing", subjects) })
	})
	users := []storage.User{alice, {Tenant: alice.Tenant, UserID: "a friend"}}
	watchers, events := make([]*hubs.Watcher, len(users)), make([]*hubs.Event, 1)
	for i, user := range users {
		watchers[i] = news.Watch([]storage.Subject{user.Subject()})
		defer watchers[i].Close()
		if _, err := watchers[i].Next(ctx, events); err != nil || events[0].Version != 0 {
			t.Errorf("before any message: got version %d, %v, want 0", events[0].Version, err)
		}
	}
	added, err := node.AddMessages(ctx, []storage.NewDirectMessage{{From: users[0], To: users[1], Text: "hello"}})
	must.Succeed(t, err)
	must.Succeed(t, added[0].Err)
	told := make(chan int64, len(users))
	for _, watcher := range watchers {
		running.Go(func() {
			events := make([]*hubs.Event, 1)
			if _, err := watcher.Next(ctx, events); err != nil {
				t.Errorf("Next: %v", err)
			} else {
				told <- events[0].Version
			}
		})
	}
	await.That(t, "the other node announces the message to both users", func() bool { // the other node may not listen yet
		bus.Notify([]storage.Subject{users[0].Subject(), users[1].Subject()})
		return len(told) == len(users)
	})
	for range users {
		if version := <-told; version != added[0].Message.Number {
			t.Errorf("the other node announces version %d, want %d", version, added[0].Message.Number)
		}
	}
}
