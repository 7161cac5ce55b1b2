package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"ovation/internal/outage"
	"ovation/storage"
)

const (
	barrierInterval  = 200 * time.Millisecond // at which the function due is called
	barrierRepublish = 3 * time.Second        // after which a barrier that has not passed is published again
	barrierTimeout   = 2 * time.Second        // for publishing a barrier to all partitions
)

// Barriers publishes a barrier to every partition of the queue when the mirror may lack
// queued actions. A barrier is a message without actions: once a Worker has persisted
// it, everything that was confirmed before it in its partition is persisted, too.
// Several processes may publish barriers to one queue.
type Barriers struct {
	publisher Publisher
	due       func() int64
	failed    *outage.Log

	number      int64 // the number of the barriers published last
	publishedAt time.Time
}

// NewBarriers returns a Barriers. The function due returns the number of the barrier that
// must pass, or 0 if none is needed. Of the options, only Logger is used.
func NewBarriers(publisher Publisher, due func() int64, opts Options) *Barriers {
	opts = opts.withDefaults()
	return &Barriers{
		publisher: publisher, due: due,
		failed: outage.New(opts.Logger, "barriers not published; states of viewers stay STALE", "barriers are published again"),
	}
}

// Run publishes barriers whenever they are due, until the context ends.
func (b *Barriers) Run(ctx context.Context) {
	ticker := time.NewTicker(barrierInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			b.publishIfDue(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// publishIfDue publishes barriers if they are due and were not published recently.
func (b *Barriers) publishIfDue(ctx context.Context) {
	number := b.due()
	if number == 0 || number == b.number && time.Since(b.publishedAt) < barrierRepublish {
		return
	}
	if err := b.publish(ctx, number); err != nil {
		if ctx.Err() == nil {
			b.failed.Failed("barrier", number, "error", err)
		}
		return
	}
	b.failed.Worked()
	b.number, b.publishedAt = number, time.Now()
}

func (b *Barriers) publish(ctx context.Context, number int64) error {
	ctx, cancel := context.WithTimeout(ctx, barrierTimeout)
	defer cancel()
	partitions := b.publisher.Partitions()
	for partition := range partitions {
		_, err := b.publisher.Publish(ctx, partition, storage.Message{
			ID:      uuid.Must(uuid.NewV7()).String(),
			Barrier: storage.Barrier{Number: number, Partition: partition, Partitions: partitions},
		})
		if err != nil {
			return fmt.Errorf("publish barrier to partition %d: %w", partition, err)
		}
	}
	return nil
}
