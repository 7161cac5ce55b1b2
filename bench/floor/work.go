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
	batchSize = 500                  // maximum number of likes in a transaction
	batchTime = 5 * time.Millisecond // for which a batch waits for more likes
)

// persistStatement inserts likes, each once, and counts the new ones.
const persistStatement = `
WITH new AS (
	INSERT INTO floor_likes (user_id, biz_id) SELECT * FROM unnest($1::text[], $2::text[])
	ON CONFLICT DO NOTHING RETURNING biz_id
)
INSERT INTO floor_counts (biz_id, likes) SELECT biz_id, count(*) FROM new GROUP BY biz_id ORDER BY biz_id
ON CONFLICT (biz_id) DO UPDATE SET likes = floor_counts.likes + excluded.likes`

// work persists the likes of the queue until the context ends. The returned function
// waits for that and returns the error, if any.
func work(ctx context.Context, channel *amqp091.Channel, queue, database string) (wait func() error, err error) {
	c, err := pgx.Connect(ctx, database)
	if err != nil {
		return nil, fmt.Errorf("connect to Postgres: %w", err)
	}
	if err := channel.Qos(4*batchSize, 0, false); err != nil {
		return nil, fmt.Errorf("bound what is delivered: %w", err)
	}
	deliveries, err := channel.ConsumeWithContext(ctx, queue, "", false, false, false, false, nil)
	if err != nil {
		return nil, fmt.Errorf("consume: %w", err)
	}
	over := make(chan error, 1)
	go func() {
		err := persistAll(ctx, c, deliveries)
		over <- errors.Join(err, c.Close(context.WithoutCancel(ctx)))
	}()
	return func() error { return <-over }, nil
}

func persistAll(ctx context.Context, c *pgx.Conn, deliveries <-chan amqp091.Delivery) error {
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
		users, ids := make([]string, 0, batchSize), make([]string, 0, batchSize)
		last, late := first, time.After(batchTime)
		for add, full := first, false; !full; {
			user, id, _ := strings.Cut(string(add.Body), " ")
			users, ids, last = append(users, user), append(ids, id), add
			if len(ids) == batchSize {
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
