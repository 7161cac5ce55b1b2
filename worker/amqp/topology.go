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

// declaration is a queue as it must be.
type declaration struct {
	name string
	args amqp091.Table
}

// topology returns every queue, in the order in which they are made at first.
//
//   - PREFIX.partitions, the marker, holds nothing. Its bound is the number of
//     partitions: the broker itself refuses, at one point and without a race,
//     any process that would use another number.
//   - PREFIX.publishers and PREFIX.workers hold nothing. Their consumers are the
//     sessions that publish and those that consume.
//   - PREFIX.0 … are the partitions.
//   - PREFIX.open holds nothing. While it is there, the queues may be used: see
//     gate.go.
//   - PREFIX.dead takes dead letters.
//
// All are quorum queues, so that they outlive the loss of a node of a cluster.
// The broker places the leader of each where the fewest are: all would otherwise
// be on the node that the first process happened to reach, and if only the
// others were, the partitions would avoid that node.
// Messages reach them by name through the default exchange: there are no
// bindings that could be missing.
func topology(o Options) []declaration {
	queues := make([]declaration, 0, 5+o.Partitions)
	queues = append(queues, markerOf(o), holdsNothing(o.publishers()), holdsNothing(o.workers()))
	for partition := range o.Partitions {
		queues = append(queues, declaration{o.queue(partition), amqp091.Table{
			amqp091.QueueTypeArg:            amqp091.QueueTypeQuorum,
			leaderLocator:                   balanced,
			amqp091.SingleActiveConsumerArg: true,
			"x-delivery-limit":              o.DeliveryLimit,
			"x-dead-letter-exchange":        "",
			"x-dead-letter-routing-key":     o.dead(),
			"x-dead-letter-strategy":        "at-least-once",
			amqp091.QueueOverflowArg:        amqp091.QueueOverflowRejectPublish, // which at-least-once needs
		}})
	}
	return append(queues, holdsNothing(o.gate()), declaration{o.dead(), amqp091.Table{
		amqp091.QueueTypeArg: amqp091.QueueTypeQuorum,
		leaderLocator:        balanced,
		// To look at a message is to have it delivered; newer brokers drop
		// it after twenty times where nothing is said.
		"x-delivery-limit": 1_000_000_000,
	}})
}

func holdsNothing(queue string) declaration {
	return declaration{queue, amqp091.Table{amqp091.QueueTypeArg: amqp091.QueueTypeQuorum, leaderLocator: balanced}}
}

func markerOf(o Options) declaration {
	return declaration{o.marker(), amqp091.Table{
		amqp091.QueueTypeArg:   amqp091.QueueTypeQuorum,
		leaderLocator:          balanced,
		amqp091.QueueMaxLenArg: o.Partitions,
	}}
}

// declare makes sure that all queues are there and as they must be. It reports
// whether it made the last partition, at least. Errors: errClosedGate.
func (s *session) declare(o Options) (made bool, err error) {
	if made, err = s.lacks(o.queue(o.Partitions - 1)); err != nil {
		return false, err
	}
	if err := s.with(o.probe); err != nil {
		return false, fmt.Errorf("check the permissions: %w", err)
	}
	if !o.draining {
		if err := s.setUp(o); err != nil {
			return false, err
		}
	}
	return made, s.make(o, o.used()...)
}

// used is what a session declares again whenever it begins: all but the gate and,
// while that is closed, the marker.
func (o Options) used() []declaration {
	return slices.DeleteFunc(topology(o), func(d declaration) bool {
		return d.name == o.gate() || d.name == o.marker() && o.draining
	})
}

// expect returns an error where the queue of what is put aside is not there.
func (s *session) expect(o Options) error {
	lacks, err := s.lacks(o.dead())
	if err == nil && lacks {
		err = fmt.Errorf("this broker has no queue %s: is it the right one, and the right prefix? "+
			"ovation serve or work makes the queues when it starts", o.dead())
	}
	return err
}

// lacks reports whether there is no such queue.
func (s *session) lacks(queue string) (bool, error) {
	channel, err := s.channel()
	if err != nil {
		return false, err
	}
	err = s.within(func() error {
		_, err := channel.QueueDeclarePassive(queue, true, false, false, false, nil)
		return err
	})
	if refused, is := errors.AsType[*amqp091.Error](err); is && refused.Code == amqp091.NotFound {
		return true, nil // which has closed the channel
	}
	return false, errors.Join(err, s.within(channel.Close))
}

// probe has the broker check all permissions that are needed: whoever declares
// a new queue with dead letters must be allowed to configure and read it, and
// to write to their exchange. Of a queue that is there the broker would check
// the first only, and the others when something is published or consumed.
func (o Options) probe(ch *amqp091.Channel) error {
	name := o.Prefix + ".probe-" + rand.Text()
	_, err := ch.QueueDeclare(name, false, true, true, false, amqp091.Table{"x-dead-letter-exchange": ""})
	if err != nil {
		return o.explain(name, err)
	}
	_, err = ch.QueueDelete(name, false, false, false)
	return err
}

// explain says what to do about a queue that is not as it must be.
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
		return fmt.Errorf("the queues were made for another number of partitions than %d: use %s, "+
			"or change it by ovation partitions %d: %w", o.Partitions, theirs, o.Partitions, err)
	case refused.Code == amqp091.PreconditionFailed:
		return fmt.Errorf("the queue is there and of another type or with other arguments: use another prefix, "+
			"or let the workers empty the queues, stop every process and delete this one: %w", err)
	case refused.Code == amqp091.AccessRefused:
		queues := "^" + strings.ReplaceAll(o.Prefix, ".", `\.`) + `\.`
		return fmt.Errorf("the user needs the permissions to configure, write and read %s, and to write to amq.default "+
			"(rabbitmqctl set_permissions -p VHOST USER '%s' '%s|^amq\\.default$' '%s'): %w", queues, queues, queues, queues, err)
	}
	return err
}
