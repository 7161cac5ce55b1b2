package amqp

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/rabbitmq/amqp091-go"
)

// The gate makes the number of partitions one that all processes agree on at
// every moment. The broker holds it, as the bound of the marker queue:
//
//   - A session that publishes or consumes first registers, by consuming from
//     PREFIX.publishers or PREFIX.workers; then subscribes to the marker; and
//     last checks that the marker has its own number.
//   - ovation partitions closes the gate by deleting the marker. The broker
//     cancels every subscription to it, upon which sessions end, and no session
//     begins: a missing marker beside a dead-letter queue is a closed gate.
//   - Once no session is registered and the queues are drained, it opens the gate
//     by declaring the marker with the new number.
//
// A session with another number than the marker's therefore checked it before the
// gate was closed, was registered by then, and has ended before the drain: what it
// was confirmed lies in a queue that is drained. The registration of a publisher
// and its messages share a channel, so that the one does not end before the others
// are taken.

// errClosedGate is why a session cannot begin, or ends.
var errClosedGate = errors.New("the number of partitions is being changed; where ovation partitions has been killed, run it again")

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
	subscriptions := []string{register, o.marker()}
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
	return s.agree(o)
}

// agree returns an error unless the gate is open and the marker has the number of
// partitions of the options.
func (s *session) agree(o Options) error {
	closed, err := s.lacks(o.marker())
	if err == nil && closed {
		return errClosedGate
	}
	if err != nil {
		return fmt.Errorf("look for queue %s: %w", o.marker(), err)
	}
	// Where the gate is closed just now this makes a marker of the old number,
	// which ovation partitions finds and deletes again.
	return s.with(func(channel *amqp091.Channel) error { return declareAll(channel, o, []declaration{markerOf(o)}) })
}

// gateClosed reports whether there are queues and no marker.
func (s *session) gateClosed(o Options) (bool, error) {
	for _, missing := range []struct {
		queue string
		want  bool
	}{{o.marker(), true}, {o.dead(), false}} {
		is, err := s.lacks(missing.queue)
		if err != nil || is != missing.want {
			return false, err
		}
	}
	return true, nil
}

// with runs requests on a channel of their own.
func (s *session) with(requests func(*amqp091.Channel) error) error {
	channel, err := s.conn.Channel()
	if err != nil {
		return fmt.Errorf("open a channel: %w", err)
	}
	if err := requests(channel); err != nil {
		_ = channel.Close() // where the broker refused something, it has closed it
		return err
	}
	return channel.Close()
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
