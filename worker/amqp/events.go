package amqp

import (
	"context"
	"errors"
	"fmt"
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
}

// publish publishes messages one after another, and then waits for their confirms. The
// parameter p is the publisher of the same connection.
func (e *eventPublisher) publish(p *confirmPublisher, messages []events.Message) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.open(p); err != nil {
		return err
	}
	err := e.confirmed(p, messages)
	if err != nil {
		_ = p.brokerConn.withTimeout(e.channel.Close) // it may be closed already
		e.channel = nil
		return fmt.Errorf("%s: %w: exchange %s: %w", p.opts.broker(), storage.ErrUnavailable, p.opts.exchange(), err)
	}
	return nil
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
		return fmt.Errorf("exchange %s exists and is no durable topic exchange: delete it, or use another prefix: %w", name, err)
	}
	if err != nil {
		return fmt.Errorf("declare exchange %s: %w", name, p.opts.explain(name, err))
	}
	e.channel = channel
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
			return errors.New("an event was not confirmed")
		}
	}
	return nil
}
