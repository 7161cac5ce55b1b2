package main

import (
	"context"
	"errors"

	"ovation/storage"
	"ovation/storage/redis"
	"ovation/worker"
	"ovation/worker/amqp"
)

// partitionsCommand changes the queue's number of partitions.
type partitionsCommand struct {
	postgresFlag `embed:""`
	redisFlag    `embed:""`
	queueFlag    `embed:""`
	prefixFlag   `embed:""`
	logFlag      `embed:""`

	Count int `arg:"" help:"The new number of partitions, 1 to 256." type:"partitions"`
}

// Help returns the text that is printed between the command's summary and its flags.
func (*partitionsCommand) Help() string {
	return `It may be used while nodes and workers run. It closes the queue to them, persists the queued actions, and opens the queue to processes with the new number. Nodes then persist directly to Postgres until they are restarted: restart the workers with the new OVATION_PARTITIONS, then the nodes, one by one. Dead letters are kept.

If it fails, the old number remains in force. If it is killed, run it again: until then the queue remains closed, and nodes persist directly to Postgres.`
}

// Run changes the number and prints what to do next.
func (c *partitionsCommand) Run(p *program) (err error) {
	log := newLogger(p.stderr, c.LogLevel.Level)
	flags := servicesFlags{
		postgresFlag: c.postgresFlag, redisFlag: c.redisFlag, prefixFlag: c.prefixFlag,
		queueFlags: queueFlags{queueFlag: c.queueFlag, Partitions: c.Count},
	}
	_, copied, err := flags.openMirrored(p, "partitions", storage.EventOptions{}, redis.Options{Logger: log, RedisTimeout: bulkTimeout})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, copied.Close()) }()
	changed, err := amqp.ChangePartitions(p.ctx, flags.options(c.Prefix, log), func(ctx context.Context, queue worker.Consumer) error {
		return worker.New(queue, copied, copied, worker.Options{MaxActions: maxActions, Logger: log}).Run(ctx)
	})
	if err != nil {
		return withFlag(queueFlagNames, err)
	}
	if changed.From == c.Count {
		sayf(p.stdout, "There are %d partitions already.\n", c.Count)
		return nil
	}
	sayf(p.stdout, "There are %d partitions now. Restart the workers with OVATION_PARTITIONS=%d, then the nodes, one by one.\n", c.Count, c.Count)
	if changed.Kept > 0 {
		sayf(p.stdout, "%d queues are empty and kept for when there are more partitions again.\n", changed.Kept)
	}
	return nil
}
