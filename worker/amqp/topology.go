package amqp

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rabbitmq/amqp091-go"
)

// declaration is a queue with the arguments that it must have.
type declaration struct {
	name string
	args amqp091.Table
}

// topology returns all queues, in the order in which they are first declared.
//
//   - PREFIX.partitions, the marker, holds no messages. Its length limit is the number
//     of partitions: the broker itself refuses, in one place and without a race, any
//     process with a different number.
//   - PREFIX.publishers and PREFIX.workers hold no messages. Their consumers are the
//     connections that publish and the connections that consume.
//   - PREFIX.0 … are the partitions.
//   - PREFIX.open holds no messages. While it exists, the queues may be used: see
//     gate.go.
//   - PREFIX.dead holds dead letters.
//
// All are quorum queues, so that they survive the loss of a cluster node. The broker
// places each leader on the node with the fewest leaders; by default all leaders would be
// on the node to which the first process happened to connect. The leaders of queues
// without messages are placed in the same way; otherwise the partitions would avoid the
// node with those leaders. Messages are routed by queue name through the default
// exchange, so no bindings can be missing.
func topology(o Options) []declaration {
	queues := make([]declaration, 0, 5+o.Partitions)
	queues = append(queues, markerOf(o), emptyQueue(o.publishers()), emptyQueue(o.workers()))
	for partition := range o.Partitions {
		queues = append(queues, declaration{o.queue(partition), amqp091.Table{
			amqp091.QueueTypeArg:            amqp091.QueueTypeQuorum,
			leaderLocator:                   balanced,
			amqp091.SingleActiveConsumerArg: true,
			"x-delivery-limit":              o.DeliveryLimit,
			"x-dead-letter-exchange":        "",
			"x-dead-letter-routing-key":     o.dead(),
			"x-dead-letter-strategy":        "at-least-once",
			amqp091.QueueOverflowArg:        amqp091.QueueOverflowRejectPublish, // required by at-least-once
		}})
	}
	return append(queues, emptyQueue(o.gate()), declaration{o.dead(), amqp091.Table{
		amqp091.QueueTypeArg: amqp091.QueueTypeQuorum,
		leaderLocator:        balanced,
		// Inspecting a dead letter delivers it, and newer brokers drop a message after
		// 20 deliveries by default.
		"x-delivery-limit": 1_000_000_000,
	}})
}

func emptyQueue(queue string) declaration {
	return declaration{queue, amqp091.Table{amqp091.QueueTypeArg: amqp091.QueueTypeQuorum, leaderLocator: balanced}}
}

func markerOf(o Options) declaration {
	return declaration{o.marker(), amqp091.Table{
		amqp091.QueueTypeArg:   amqp091.QueueTypeQuorum,
		leaderLocator:          balanced,
		amqp091.QueueMaxLenArg: o.Partitions,
	}}
}

// declare ensures that all queues exist with the right arguments. The result is true if
// the queue of the last partition did not exist before. Errors: errClosedGate.
func (b *brokerConn) declare(o Options) (made bool, err error) {
	if made, err = b.missing(o.queue(o.Partitions - 1)); err != nil {
		return false, err
	}
	if err := b.withChannel(o.checkPermissions); err != nil {
		return false, fmt.Errorf("check the permissions: %w", err)
	}
	if !o.draining {
		if err := b.setUp(o); err != nil {
			return false, err
		}
	}
	return made, b.declareAll(o, o.usedQueues()...)
}

// usedQueues returns the queues that each connection declares: all except the gate. For a
// connection of ChangePartitions, the marker is excluded, too.
func (o Options) usedQueues() []declaration {
	return slices.DeleteFunc(topology(o), func(d declaration) bool {
		return d.name == o.gate() || d.name == o.marker() && o.draining
	})
}

// requireQueues returns an error if the dead-letter queue does not exist.
func (b *brokerConn) requireQueues(o Options) error {
	lacks, err := b.missing(o.dead())
	if err == nil && lacks {
		err = fmt.Errorf("the broker has no queue %s; check the URL and the prefix "+
			"(ovation serve and ovation work declare the queues when they start)", o.dead())
	}
	return err
}

// missing reports whether the queue does not exist.
func (b *brokerConn) missing(queue string) (bool, error) {
	_, there, err := b.state(queue)
	return !there, err
}

// state returns the number of messages that are ready in a queue and the number of its
// consumers, if the queue exists.
func (b *brokerConn) state(queue string) (state amqp091.Queue, there bool, err error) {
	err = b.withChannel(func(channel *amqp091.Channel) (err error) {
		state, err = channel.QueueDeclarePassive(queue, true, false, false, false, nil)
		return err
	})
	if refused, is := errors.AsType[*amqp091.Error](err); is && refused.Code == amqp091.NotFound {
		return state, false, nil
	}
	return state, err == nil, err
}

// checkPermissions makes the broker check all required permissions: declaring a new
// queue with a dead-letter exchange needs configure and read access to the queue and
// write access to the exchange. For an existing queue the broker would check only the
// configure permission at this point, and the others only when something is published
// or consumed.
func (o Options) checkPermissions(ch *amqp091.Channel) error {
	name := o.queuePrefix() + ".probe-" + rand.Text()
	_, err := ch.QueueDeclare(name, false, true, true, false, amqp091.Table{"x-dead-letter-exchange": ""})
	if err != nil {
		return o.explain(name, err)
	}
	_, err = ch.QueueDelete(name, false, false, false)
	return err
}

// explain adds a remedy to an error from a declaration.
func (o Options) explain(queue string, err error) error {
	var refused *amqp091.Error
	if !errors.As(err, &refused) {
		return err
	}
	switch {
	case refused.Code == amqp091.PreconditionFailed && queue == o.marker():
		theirs := "theirs"
		if n := partitionsIn(refused); n > 0 {
			theirs = strconv.Itoa(n)
		}
		return fmt.Errorf("the queues do not have %d partitions: use %s, "+
			"or change the number with ovation partitions %d: %w", o.Partitions, theirs, o.Partitions, err)
	case refused.Code == amqp091.PreconditionFailed:
		return fmt.Errorf("the queue exists with a different type or arguments: use another prefix, "+
			"or let the workers empty the queues, stop all processes and delete this queue: %w", err)
	case refused.Code == amqp091.AccessRefused:
		queues := "^" + strings.ReplaceAll(o.Prefix, ".", `\.`) + `\.`
		return fmt.Errorf("the user needs the permissions to configure, write and read %s, and to write to amq.default "+
			"(rabbitmqctl set_permissions -p VHOST USER '%s' '%s|^amq\\.default$' '%s'): %w", queues, queues, queues, queues, err)
	}
	return err
}
