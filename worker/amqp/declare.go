package amqp

import (
	"errors"
	"fmt"
	"maps"

	"github.com/rabbitmq/amqp091-go"
)

// leaderLocator is the argument that says where the broker places the leader of
// a queue.
const (
	leaderLocator = "x-queue-leader-locator"
	balanced      = "balanced"
)

// make declares queues.
func (s *session) make(o Options, queues ...declaration) error {
	d := declarer{session: s, places: true}
	for _, queue := range queues {
		if err := d.declare(queue); err != nil {
			return fmt.Errorf("declare queue %s: %w", queue.name, o.explain(queue.name, err))
		}
	}
	if d.channel == nil {
		return nil
	}
	return s.within(d.channel.Close)
}

// declarer declares queues. Those made by an earlier release do not say where
// their leaders are placed, and the arguments of a queue cannot be changed: each
// is declared as the one before, and in the other way if the broker refuses
// that.
type declarer struct {
	session *session
	channel *amqp091.Channel // nil before the first queue, and after a refusal, which closes it
	places  bool
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
		if d.channel, err = d.session.channel(); err != nil {
			return err
		}
	}
	args := queue.args
	if !d.places {
		args = maps.Clone(args)
		delete(args, leaderLocator)
	}
	err = d.session.within(func() error {
		_, err := d.channel.QueueDeclare(queue.name, true, false, false, false, args)
		return err
	})
	if err != nil {
		_ = d.channel.Close() // where the broker has refused something, it has closed it
		d.channel = nil
	}
	return err
}
