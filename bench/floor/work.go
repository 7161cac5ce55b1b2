package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rabbitmq/amqp091-go"
)

const (
	maxBatch    = 500                  // maximum number of likes in a transaction
	batchLinger = 5 * time.Millisecond // maximum time for which a batch waits for more likes
)

// persistStatement inserts likes that are not stored yet, and counts them.
const persistStatement = `
WITH new AS (
	INSERT INTO floor_likes (user_id, biz_id) SELECT * FROM unnest($1::text[], $2::text[])
	ON CONFLICT DO NOTHING RETURNING biz_id
)
INSERT INTO floor_counts (biz_id, likes) SELECT biz_id, count(*) FROM new GROUP BY biz_id ORDER BY biz_id
ON CONFLICT (biz_id) DO UPDATE SET likes = floor_counts.likes + excluded.likes`

// startWorker starts a goroutine that persists the queued likes until ctx is done. The
// function that it returns waits until the goroutine has ended and returns the
// goroutine's error.
func startWorker(ctx context.Context, channel *amqp091.Channel, queue, database string) (wait func() error, err error) {
	c, err := pgx.Connect(ctx, database)
	if err != nil {
		return nil, fmt.Errorf("connect to Postgres: %w", err)
	}
	if err := channel.Qos(4*maxBatch, 0, false); err != nil {
		return nil, fmt.Errorf("limit unacknowledged deliveries: %w", err)
	}
	deliveries, err := channel.ConsumeWithContext(ctx, queue, "", false, false, false, false, nil)
	if err != nil {
		return nil, fmt.Errorf("consume: %w", err)
	}
	over := make(chan error, 1)
	go func() {
		err := persistBatches(ctx, c, deliveries)
		over <- errors.Join(err, c.Close(context.WithoutCancel(ctx)))
	}()
	return func() error { return <-over }, nil
}

func persistBatches(ctx context.Context, c *pgx.Conn, deliveries <-chan amqp091.Delivery) error {
	for {
		var first amqp091.Delivery
		var open bool
		select {
		case first, open = <-deliveries:
		case <-ctx.Done():
		}
		if !open {
			return nil
		}
		users, ids := make([]string, 0, maxBatch), make([]string, 0, maxBatch)
		last, late := first, time.After(batchLinger)
		for add, full := first, false; !full; {
			user, id, _ := strings.Cut(string(add.Body), " ")
			users, ids, last = append(users, user), append(ids, id), add
			if len(ids) == maxBatch {
				break
			}
			select {
			case add, open = <-deliveries:
				full = !open
			case <-late:
				full = true
			}
		}
		if _, err := c.Exec(context.WithoutCancel(ctx), persistStatement, users, ids); err != nil {
			return fmt.Errorf("persist: %w", err)
		}
		if err := last.Ack(true); err != nil {
			return fmt.Errorf("acknowledge: %w", err)
		}
	}
}
