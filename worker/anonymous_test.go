package worker_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"ovation/storage"
	"ovation/worker"
)

// TestAnonymousReadsLeaveRoomForSignedInLikes sends many more anonymous reads than the
// backlog has room for.
func TestAnonymousReadsLeaveRoomForSignedInLikes(t *testing.T) {
	const backlog, room, readers = 50, 10, 500
	store, queue, mirror := startLocal(t)
	gate := make(chan struct{}) // messages of anonymous users wait until it is closed
	publisher := &tap{partitions: 8, Publisher: publishFunc(func(ctx context.Context, m storage.Message) (storage.Durability, error) {
		if m.Actions[0].User.Anonymous() {
			select {
			case <-gate:
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		return queue.Publish(ctx, 0, m)
	})}
	registry := prometheus.NewRegistry()
	r := newRecorder(t, publisher, mirror, worker.RecorderOptions{
		MaxBacklog: backlog, PublishTimeout: 2 * time.Minute, Metrics: worker.NewMetrics(registry, worker.Records),
	})

	// All reads are in one partition, so that likes in other partitions do not wait for
	// them.
	taken := worker.PartitionOf(movie, publisher.Partitions())
	nobody := storage.User{Tenant: storage.DefaultTenant}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // after which the test fails
	defer cancel()
	results := make(chan error, readers)
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			_, err := r.Record(ctx, storage.Action{User: nobody, Subject: movie, Kind: storage.KindRead}, nil)
			results <- err
		})
	}
	for range readers - room {
		if err := <-results; !errors.Is(err, worker.ErrBusy) {
			t.Fatalf("a read beyond the room for anonymous ones: got %v, want %v", err, worker.ErrBusy)
		}
	}
	for i, likes := 0, 0; likes < backlog; i++ {
		if subject := video(strconv.Itoa(i)); worker.PartitionOf(subject, publisher.Partitions()) != taken {
			if _, err := r.Record(ctx, react(alice, subject, storage.Like), nil); err != nil {
				t.Fatalf("a like beside %d anonymous reads: got %v, want it recorded", room, err)
			}
			likes++
		}
	}
	close(gate)
	all.Wait()
	for range room {
		if err := <-results; err != nil {
			t.Errorf("a read within the room for anonymous ones: got %v, want it recorded", err)
		}
	}
	if got := countsOf(t, store, movie).ReadCount; got != room {
		t.Errorf("%d reads are counted, want %d", got, room)
	}
	if n, err := testutil.GatherAndCount(registry, "ovation_recorder_refused_actions_total"); n != 1 || err != nil {
		t.Errorf("got %d series of ovation_recorder_refused_actions_total, %v, want 1", n, err)
	}
	// There is room again.
	if _, err := r.Record(ctx, storage.Action{User: nobody, Subject: movie, Kind: storage.KindRead}, nil); err != nil {
		t.Error(err)
	}
}
