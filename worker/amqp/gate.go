package amqp

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/rabbitmq/amqp091-go"
)

// The gate makes the number of partitions one that all processes agree on at
// every moment, also while it changes:
//
//   - The number is the bound of the queue PREFIX.partitions, the marker. The broker
//     refuses a declaration with another one.
//   - The gate is open while there is a queue PREFIX.open.
//   - A session that publishes or consumes first registers, by consuming from
//     PREFIX.publishers or PREFIX.workers; then subscribes to PREFIX.open; and last
//     checks that the marker has its own number.
//   - ovation partitions closes the gate by deleting PREFIX.open. The broker cancels
//     every subscription to it, upon which sessions end. Once none is registered, and
//     the queues are drained, it replaces the marker and makes PREFIX.open again.
//
// Sessions never make PREFIX.open: the first one of all does, and the command, each
// under a lock that ends with its connection. A session with the old number therefore
// subscribed to the queue that the command deleted, was registered by then, and has
// ended before the drain: what it was confirmed lies in a queue that is drained. The
// registration of a publisher and its messages share a channel, so that the one does
// not end before the others are taken.

// errClosedGate is why a session cannot begin, or ends.
var errClosedGate = errors.New("the number of partitions is being changed; where ovation partitions was killed, run it again")

// enter registers a channel, has expelled called when the gate closes, and checks
// the number of partitions. Nothing may be published or consumed before.
func (s *session) enter(channel *amqp091.Channel, o Options, register string, expelled func(error)) error {
	cancelled := channel.NotifyCancel(make(chan string, 2))
	s.watching.Go(func() {
		for range cancelled { // until the channel is closed
			expelled(errClosedGate)
		}
	})
	if err := channel.Qos(1, 0, false); err != nil { // what a stranger puts there is not drained
		return fmt.Errorf("bound the prefetch: %w", err)
	}
	subscriptions := []string{register, o.gate()}
	if o.draining {
		subscriptions = subscriptions[:1]
	}
	for _, queue := range subscriptions {
		if _, err := channel.Consume(queue, "", false, false, false, false, nil); err != nil {
			return fmt.Errorf("consume %s: %w", queue, err)
		}
	}
	if o.draining {
		return nil
	}
	return s.make(o, markerOf(o))
}

// gateState is what a session finds.
type gateState int

const (
	gateOpen gateState = iota
	gateClosed
	gateMissing // there are no queues
)

// gateState looks for the gate last: PREFIX.dead, which is made after it, is no proof
// of a closed gate where another process makes the queues at this moment.
func (s *session) gateState(o Options) (gateState, error) {
	lacksDead, err := s.lacks(o.dead())
	if err != nil {
		return gateOpen, err
	}
	lacksGate, err := s.lacks(o.gate())
	switch {
	case err != nil || !lacksGate:
		return gateOpen, err
	case lacksDead:
		return gateMissing, nil
	}
	return gateClosed, nil
}

// errLocked: another process makes the queues, or changes their number.
var errLocked = errors.New("another process is making the queues or changes the number of partitions at this moment")

// lock excludes other processes until the connection ends or unlock. Errors:
// errLocked.
func (s *session) lock(o Options) error {
	err := s.with(func(channel *amqp091.Channel) error {
		_, err := channel.QueueDeclare(o.lock(), false, true, true, false, nil)
		return err
	})
	if refused, is := errors.AsType[*amqp091.Error](err); is && refused.Code == amqp091.ResourceLocked {
		return errLocked
	}
	return err
}

func (s *session) unlock(o Options) error {
	return s.with(func(channel *amqp091.Channel) error {
		_, err := channel.QueueDelete(o.lock(), false, false, false)
		return err
	})
}

const (
	lockEvery = 50 * time.Millisecond // between two tries to lock
	lockTime  = 30 * time.Second      // of all of them
)

// setUp makes the queues where there are none. Those of the topology come last that
// say that there are some. Errors: errLocked where another process that does the
// same takes too long.
func (s *session) setUp(o Options) error {
	for late := time.Now().Add(lockTime); ; {
		state, err := s.gateState(o)
		switch {
		case err != nil:
			return err
		case state == gateClosed:
			return errClosedGate
		case state == gateOpen:
			return nil
		}
		if err := s.lock(o); err == nil {
			break
		} else if !errors.Is(err, errLocked) || time.Now().After(late) {
			return err
		}
		time.Sleep(lockEvery)
	}
	if state, err := s.gateState(o); err != nil || state != gateMissing { // by now
		return errors.Join(err, s.unlock(o))
	}
	return errors.Join(s.make(o, topology(o)...), s.unlock(o))
}

// with runs requests on a channel of their own.
func (s *session) with(requests func(*amqp091.Channel) error) error {
	channel, err := s.channel()
	if err != nil {
		return err
	}
	return s.within(func() error {
		if err := requests(channel); err != nil {
			_ = channel.Close() // where the broker refused something, it has closed it
			return err
		}
		return channel.Close()
	})
}

// channel opens a channel.
func (s *session) channel() (channel *amqp091.Channel, err error) {
	err = s.within(func() (err error) {
		if channel, err = s.conn.Channel(); err != nil {
			err = fmt.Errorf("open a channel: %w", err)
		}
		return err
	})
	return channel, err
}

// currentValue is how the broker names the argument of a queue that is there.
var currentValue = regexp.MustCompile(`current is (?:the value )?'(\d+)'`)

// partitionsIn returns the number of partitions that the marker has, as far as the
// broker's refusal of another one tells; 0 if it does not.
func partitionsIn(refused *amqp091.Error) int {
	found := currentValue.FindStringSubmatch(refused.Reason)
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[1]) // 0 where it is too large
	return n
}
