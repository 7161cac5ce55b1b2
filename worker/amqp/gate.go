package amqp

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/rabbitmq/amqp091-go"
)

// The gate makes all processes agree on the number of partitions at every moment, even
// while the number changes:
//
//   - The number is the length limit of the queue PREFIX.partitions, the marker. The
//     broker refuses a declaration with a different limit.
//   - The gate is open while the queue PREFIX.open exists.
//   - A connection that publishes or consumes first registers, by consuming from
//     PREFIX.publishers or PREFIX.workers; then subscribes to PREFIX.open; and finally
//     checks that the marker has the number of the connection.
//   - ovation partitions closes the gate by deleting PREFIX.open. The broker cancels
//     all subscriptions to it, whereupon the connections end. When no connection is
//     registered any more and the queues are drained, the command replaces the marker
//     and declares PREFIX.open again.
//
// PREFIX.open is declared only by the process that creates the queues and by the command.
// Each holds a lock that ends with its connection. A connection with the old number has
// therefore registered, has then subscribed to the queue that the command deletes, and
// has ended before the drain. Every message that was confirmed to it is in a queue that
// is drained. A publisher registers on the channel on which it publishes, so that its
// registration does not end before its messages have arrived.

// errClosedGate is returned if a connection cannot register because the gate is closed,
// and is the reason given when existing connections are discarded.
var errClosedGate = errors.New("the number of partitions is being changed; if ovation partitions was interrupted, run it again")

// register registers a channel, arranges for expelled to be called when the gate closes,
// and checks the number of partitions. Nothing may be published or consumed until it has
// returned.
func (b *brokerConn) register(channel *amqp091.Channel, o Options, register string, expelled func(error)) error {
	cancelled := channel.NotifyCancel(make(chan string, 2))
	b.watching.Go(func() {
		for range cancelled { // until the channel is closed
			expelled(errClosedGate)
		}
	})
	if err := channel.Qos(1, 0, false); err != nil { // foreign messages in these queues stay there
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
	return b.declareAll(o, markerOf(o))
}

// gateState is the state in which a connection finds the gate.
type gateState int

const (
	gateOpen gateState = iota
	gateClosed
	gateMissing // the queues do not exist
)

// gateState returns the state of the gate. It looks for PREFIX.dead before the gate,
// because another process may be creating the queues at this moment, with PREFIX.dead as
// the last one. In the opposite order, gateState could mistake a gate that is not created
// yet for a closed gate.
func (b *brokerConn) gateState(o Options) (gateState, error) {
	lacksDead, err := b.missing(o.dead())
	if err != nil {
		return gateOpen, err
	}
	lacksGate, err := b.missing(o.gate())
	switch {
	case err != nil || !lacksGate:
		return gateOpen, err
	case lacksDead:
		return gateMissing, nil
	}
	return gateClosed, nil
}

// errLocked is returned while another process creates the queues or changes their number.
var errLocked = errors.New("another process is creating the queues or changing the number of partitions at this moment")

// lock excludes other processes until unlock is called or the connection ends. Errors:
// errLocked.
func (b *brokerConn) lock(o Options) error {
	err := b.withChannel(func(channel *amqp091.Channel) error {
		_, err := channel.QueueDeclare(o.lock(), false, true, true, false, nil)
		return err
	})
	if refused, is := errors.AsType[*amqp091.Error](err); is && refused.Code == amqp091.ResourceLocked {
		return errLocked
	}
	return err
}

func (b *brokerConn) unlock(o Options) error {
	return b.withChannel(func(channel *amqp091.Channel) error {
		_, err := channel.QueueDelete(o.lock(), false, false, false)
		return err
	})
}

const (
	lockEvery = 50 * time.Millisecond // between two tries to lock
	lockTime  = 30 * time.Second      // for all tries together
)

// setUp creates the queues if there are none. The gate and the dead-letter queue are
// created last: they show other processes that all queues exist. Errors: errClosedGate;
// errLocked if another process that creates the queues takes too long.
func (b *brokerConn) setUp(o Options) error {
	for late := time.Now().Add(lockTime); ; {
		state, err := b.gateState(o)
		switch {
		case err != nil:
			return err
		case state == gateClosed:
			return errClosedGate
		case state == gateOpen:
			return nil
		}
		if err := b.lock(o); err == nil {
			break
		} else if !errors.Is(err, errLocked) || time.Now().After(late) {
			return err
		}
		time.Sleep(lockEvery)
	}
	if state, err := b.gateState(o); err != nil || state != gateMissing { // another process may have created them
		return errors.Join(err, b.unlock(o))
	}
	return errors.Join(b.declareAll(o, topology(o)...), b.unlock(o))
}

// withChannel runs requests on a new channel.
func (b *brokerConn) withChannel(requests func(*amqp091.Channel) error) error {
	channel, err := b.channel()
	if err != nil {
		return err
	}
	return b.withTimeout(func() error {
		if err := requests(channel); err != nil {
			_ = channel.Close() // the broker has closed it if it refused a request
			return err
		}
		return channel.Close()
	})
}

func (b *brokerConn) channel() (channel *amqp091.Channel, err error) {
	err = b.withTimeout(func() (err error) {
		if channel, err = b.conn.Channel(); err != nil {
			err = fmt.Errorf("open a channel: %w", err)
		}
		return err
	})
	return channel, err
}

// currentValue matches the value of an existing queue's argument in the broker's error.
var currentValue = regexp.MustCompile(`current is (?:the value )?'(\d+)'`)

// partitionsIn returns the number of partitions in the marker. The broker states it when
// it refuses a different number. The result is 0 if the error does not contain the
// number.
func partitionsIn(refused *amqp091.Error) int {
	found := currentValue.FindStringSubmatch(refused.Reason)
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[1]) // 0 if it is too large
	return n
}
