package amqp

import (
	"errors"
	"fmt"
	"maps"

	"github.com/rabbitmq/amqp091-go"
)

// leaderLocator is the queue argument that selects the node of a queue's leader.
const (
	leaderLocator = "x-queue-leader-locator"
	balanced      = "balanced"
)

func (b *brokerConn) declareAll(o Options, queues ...declaration) error {
	d := declarer{brokerConn: b, places: true}
	for _, queue := range queues {
		if err := d.declare(queue); err != nil {
			return fmt.Errorf("declare queue %s: %w", queue.name, o.explain(queue.name, err))
		}
	}
	if d.channel == nil {
		return nil
	}
	return b.withTimeout(d.channel.Close)
}

// declarer declares queues. Queues created by earlier releases lack the leader-locator
// argument, and the arguments of a queue cannot be changed. Each queue is therefore
// declared with or without this argument, depending on what worked for the previous
// queue. If the broker refuses that, the queue is declared the other way.
type declarer struct {
	brokerConn *brokerConn
	channel    *amqp091.Channel // nil before the first queue, and after a refusal
	places     bool
}

func (d *declarer) declare(queue declaration) error {
	err := d.try(queue)
	refused, is := errors.AsType[*amqp091.Error](err)
	if !is || refused.Code != amqp091.PreconditionFailed || queue.args[leaderLocator] == nil {
		return err
	}
	d.places = !d.places
	return d.try(queue)
}

func (d *declarer) try(queue declaration) (err error) {
	if d.channel == nil {
		if d.channel, err = d.brokerConn.channel(); err != nil {
			return err
		}
	}
	args := queue.args
	if !d.places {
		args = maps.Clone(args)
		delete(args, leaderLocator)
	}
	err = d.brokerConn.withTimeout(func() error {
		_, err := d.channel.QueueDeclare(queue.name, true, false, false, false, args)
		return err
	})
	if err != nil {
		_ = d.channel.Close() // the broker has closed it if it refused the declaration
		d.channel = nil
	}
	return err
}
