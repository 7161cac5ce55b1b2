package main

import (
	"context"
	"errors"

	"ovation/storage/redis"
	"ovation/worker"
	"ovation/worker/amqp"
)

// partitionsCommand changes the number of partitions.
type partitionsCommand struct {
	postgresFlag `embed:""`
	redisFlag    `embed:""`
	queueFlag    `embed:""`
	prefixFlag   `embed:""`
	logFlag      `embed:""`

	Count int `arg:"" help:"How many partitions there shall be, 1 to 256." type:"partitions"`
}

// Help is the end of the command's help.
func (*partitionsCommand) Help() string {
	return `It may run while nodes and workers do. It shuts them out of the queue, persists what is queued and opens the queue to those with the new number. Nodes then persist straight to Postgres until they are started again: start the workers again with the new OVATION_PARTITIONS, then the nodes, one after the other. Dead letters stay.

Where it fails, the old number holds. Where it is killed, run it again: until then nobody can use the queue, and nodes persist straight to Postgres.`
}

// Run changes the number and prints what to do next.
func (c *partitionsCommand) Run(p *program) (err error) {
	log := newLogger(p.stderr, c.LogLevel.Level)
	flags := servicesFlags{
		postgresFlag: c.postgresFlag, redisFlag: c.redisFlag, prefixFlag: c.prefixFlag,
		queueFlags: queueFlags{queueFlag: c.queueFlag, Partitions: c.Count},
	}
	_, copied, err := flags.openCopied(p, "partitions", redis.Options{Logger: log, RedisTimeout: bulkTimeout})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, copied.Close()) }()
	changed, err := amqp.ChangePartitions(p.ctx, flags.options(c.Prefix, log), func(ctx context.Context, queue worker.Consumer) error {
		return worker.New(queue, copied, copied, worker.Options{MaxActions: maxActions, Logger: log}).Run(ctx)
	})
	if err != nil {
		return blame(blameQueue, err)
	}
	if changed.From == c.Count {
		sayf(p.stdout, "There are %d partitions already.\n", c.Count)
		return nil
	}
	sayf(p.stdout, "There are %d partitions now. Start the workers again with OVATION_PARTITIONS=%d, then the nodes, one after the other.\n", c.Count, c.Count)
	if changed.Kept > 0 {
		sayf(p.stdout, "%d queues are empty and kept for when there are more partitions again.\n", changed.Kept)
	}
	return nil
}
