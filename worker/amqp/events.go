package amqp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/rabbitmq/amqp091-go"

	"ovation/storage"
	"ovation/worker"
	"ovation/worker/events"
)

var _ events.Publisher = (*Queue)(nil)

// PublishEvents publishes messages to the durable topic exchange PREFIX.events in their
// order, and returns nil when the broker has confirmed all of them. It declares the exchange
// if necessary. A message that is routed to no queue is confirmed, too. After an error, any
// of them may have been published.
//
// Errors: storage.ErrUnavailable, also after Grace if the broker is unavailable or blocks
// publishers; worker.ErrClosed; context.Canceled. Other errors come from the broker; they
// state what to do about another exchange of this name and missing permissions.
func (q *Queue) PublishEvents(ctx context.Context, messages []events.Message) error {
	b, err := q.publishing.ready(ctx, q.closing, q.opts.Grace)
	if err != nil {
		return fmt.Errorf("publish events: %w", err)
	}
	done := make(chan error, 1)
	if !q.startWork(func() { done <- b.events.publish(b.publisher, messages) }) {
		return worker.ErrClosed
	}
	select {
	case err = <-done:
	case <-ctx.Done():
		err = storage.Ended(ctx, "wait for confirmation")
	}
	if err != nil {
		return fmt.Errorf("publish events: %w", err)
	}
	return nil
}

// eventPublisher publishes events over one connection. It has a channel of its own, because
// the broker closes a channel whose exchange does not exist.
type eventPublisher struct {
	mu      sync.Mutex
	channel *amqp091.Channel // nil until the exchange is declared, and after a failure
	closed  chan *amqp091.Error
}

// publish publishes messages one after another, and then waits for their confirms. The
// parameter p is the publisher of the same connection.
func (e *eventPublisher) publish(p *confirmPublisher, messages []events.Message) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.open(p); err != nil {
		return err
	}
	for part := range slices.Chunk(messages, p.opts.Window) {
		if err := e.confirmed(p, part); err != nil {
			_ = p.brokerConn.withTimeout(e.channel.Close) // it may be closed already
			e.channel = nil
			return eventError(p.opts, fmt.Errorf("publish to exchange %s: %w", p.opts.exchange(), err))
		}
	}
	return nil
}

// eventError marks an error as storage.ErrUnavailable, unless the broker has refused the
// request.
func eventError(o Options, err error) error {
	if refused, is := errors.AsType[*amqp091.Error](err); is && refused.Server && refused.Code != amqp091.NotFound {
		return fmt.Errorf("%s: %w", o.broker(), o.explain(o.exchange(), err))
	}
	return fmt.Errorf("%s: %w: %w", o.broker(), storage.ErrUnavailable, err)
}

// open opens the channel and declares the exchange.
func (e *eventPublisher) open(p *confirmPublisher) error {
	if e.channel != nil {
		return nil
	}
	name := p.opts.exchange()
	var channel *amqp091.Channel
	err := p.brokerConn.withTimeout(func() (err error) {
		if channel, err = p.brokerConn.conn.Channel(); err != nil {
			return err
		}
		if err := channel.ExchangeDeclare(name, amqp091.ExchangeTopic, true, false, false, false, nil); err != nil {
			return err
		}
		return channel.Confirm(false)
	})
	if refused, is := errors.AsType[*amqp091.Error](err); is && refused.Code == amqp091.PreconditionFailed {
		return fmt.Errorf("exchange %s exists and is not a durable topic exchange: delete it, or use another prefix: %w", name, err)
	}
	if err != nil {
		return eventError(p.opts, fmt.Errorf("declare exchange %s: %w", name, err))
	}
	e.channel, e.closed = channel, channel.NotifyClose(make(chan *amqp091.Error, 1))
	return nil
}

func (e *eventPublisher) confirmed(p *confirmPublisher, messages []events.Message) error {
	confirms := make([]*amqp091.DeferredConfirmation, 0, len(messages))
	for i := range messages {
		m := &messages[i]
		confirm, err := e.channel.PublishWithDeferredConfirm(p.opts.exchange(), m.RoutingKey, false, false, amqp091.Publishing{
			MessageId: m.ID, ContentType: events.ContentType, DeliveryMode: amqp091.Persistent, Body: m.Body,
		})
		if err != nil {
			return err
		}
		confirms = append(confirms, confirm)
	}
	for _, confirm := range confirms {
		if p.await(confirm.Done()); !confirm.Acked() {
			select {
			case err := <-e.closed:
				return closeReason(err)
			default:
				return errors.New("an event was not confirmed")
			}
		}
	}
	return nil
}
