package amqp

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rabbitmq/amqp091-go"
)

// declaration is a queue as it must be.
type declaration struct {
	name string
	args amqp091.Table
}

// topology returns every queue, in the order in which they are declared.
//
//   - PREFIX.partitions holds nothing. Its bound is the number of partitions:
//     the broker itself then refuses, at one point and without a race, whoever
//     would use another number.
//   - PREFIX.dead takes what is put aside.
//   - PREFIX.0 … are the partitions.
//
// All are quorum queues, so that they outlive the loss of a node of a cluster.
// Messages reach them by name through the default exchange: there are no
// bindings that could be missing.
func topology(o Options) []declaration {
	queues := make([]declaration, 0, 2+o.Partitions)
	queues = append(queues,
		declaration{o.marker(), amqp091.Table{
			amqp091.QueueTypeArg:   amqp091.QueueTypeQuorum,
			amqp091.QueueMaxLenArg: o.Partitions,
		}},
		declaration{o.dead(), amqp091.Table{
			amqp091.QueueTypeArg: amqp091.QueueTypeQuorum,
			// To look at a message is to have it delivered; newer brokers drop
			// it after twenty times where nothing is said.
			"x-delivery-limit": 1_000_000_000,
		}},
	)
	for partition := range o.Partitions {
		queues = append(queues, declaration{o.queue(partition), amqp091.Table{
			amqp091.QueueTypeArg:            amqp091.QueueTypeQuorum,
			amqp091.SingleActiveConsumerArg: true,
			"x-delivery-limit":              o.DeliveryLimit,
			"x-dead-letter-exchange":        "",
			"x-dead-letter-routing-key":     o.dead(),
			"x-dead-letter-strategy":        "at-least-once",
			amqp091.QueueOverflowArg:        amqp091.QueueOverflowRejectPublish, // which at-least-once needs
		}})
	}
	return queues
}

// declare makes sure that all queues are there and as they must be.
func (s *session) declare(o Options) error {
	ch, err := s.conn.Channel()
	if err != nil {
		return fmt.Errorf("open a channel: %w", err)
	}
	for _, queue := range topology(o) {
		if _, err := ch.QueueDeclare(queue.name, true, false, false, false, queue.args); err != nil {
			return fmt.Errorf("declare queue %s: %w", queue.name, o.explain(queue.name, err))
		}
	}
	return ch.Close()
}

// explain says what to do about a queue that is not as it must be.
func (o Options) explain(queue string, err error) error {
	var refused *amqp091.Error
	if !errors.As(err, &refused) {
		return err
	}
	switch {
	case refused.Code == amqp091.PreconditionFailed && queue == o.marker():
		return fmt.Errorf("the queues were made for another number of partitions than %d: use theirs, "+
			"or let the workers empty the queues, stop every process and delete the queues %s.*: %w", o.Partitions, o.Prefix, err)
	case refused.Code == amqp091.PreconditionFailed:
		return fmt.Errorf("the queue is there and of another type or with other arguments: use another prefix, "+
			"or let the workers empty the queues, stop every process and delete this one: %w", err)
	case refused.Code == amqp091.AccessRefused:
		return fmt.Errorf("the user needs the permissions to configure, write and read %s, and to write to amq.default: %w",
			"^"+strings.ReplaceAll(o.Prefix, ".", `\.`)+`\.`, err)
	}
	return err
}
