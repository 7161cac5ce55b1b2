package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"ovation/outage"
	"ovation/storage"
)

const (
	barrierEvery = 200 * time.Millisecond // between two looks
	barrierAgain = 3 * time.Second        // a barrier that was not passed is published once more
	barrierLimit = 2 * time.Second        // of publishing it
)

// Barriers publishes a barrier to every partition of the queue whenever the
// mirror may lack something that is queued. Each goes the way of all messages:
// once a Worker has persisted it, so is everything that was confirmed before it
// in its partition. Several processes may do so for one queue.
type Barriers struct {
	publisher Publisher
	due       func() int64
	failed    *outage.Log

	number int64 // of those that were published last
	at     time.Time
}

// NewBarriers returns a Barriers. due returns the number of the barrier that is to
// be passed, 0 while there is none. The options' Logger is used.
func NewBarriers(publisher Publisher, due func() int64, opts Options) *Barriers {
	opts = opts.withDefaults()
	return &Barriers{
		publisher: publisher, due: due,
		failed: outage.New(opts.Logger, "barriers not published; viewers' answers stay STALE", "barriers are published again"),
	}
}

// Run publishes until the context ends.
func (b *Barriers) Run(ctx context.Context) {
	ticker := time.NewTicker(barrierEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			b.look(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// look publishes what is due and was not published lately.
func (b *Barriers) look(ctx context.Context) {
	number := b.due()
	if number == 0 || number == b.number && time.Since(b.at) < barrierAgain {
		return
	}
	if err := b.publish(ctx, number); err != nil {
		if ctx.Err() == nil {
			b.failed.Failed("barrier", number, "error", err)
		}
		return
	}
	b.failed.Worked()
	b.number, b.at = number, time.Now()
}

func (b *Barriers) publish(ctx context.Context, number int64) error {
	ctx, cancel := context.WithTimeout(ctx, barrierLimit)
	defer cancel()
	partitions := b.publisher.Partitions()
	for partition := range partitions {
		_, err := b.publisher.Publish(ctx, partition, storage.Message{
			ID:      uuid.Must(uuid.NewV7()).String(),
			Barrier: storage.Barrier{Number: number, Partition: partition, Partitions: partitions},
		})
		if err != nil {
			return fmt.Errorf("publish the barrier of partition %d: %w", partition, err)
		}
	}
	return nil
}
