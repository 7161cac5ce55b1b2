package amqp

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"ovation/storage"
)

// confirmPublisher publishes over one connection and waits for publisher confirms. It is
// safe for concurrent use.
type confirmPublisher struct {
	brokerConn *brokerConn
	channel    *amqp091.Channel
	opts       Options
	conn       *supervisedConn
	last       atomic.Uint64 // number of the latest message

	// A message that no queue accepts is returned and then confirmed nevertheless. The
	// connection's reader sends the return to this channel before the confirm becomes
	// visible. After a confirm, the return is therefore found here or, if another call
	// has emptied the channel, in the map below. The channel's buffer has room for as
	// many returns as can be outstanding, so that the reader never blocks.
	returns  chan amqp091.Return
	mu       sync.Mutex
	returned map[string]bool // by message number
}

// newConfirmPublisher opens a channel to publish on. It also registers the channel. The
// registration includes a check of the number of partitions. At most Window messages may
// be unconfirmed at a time.
func newConfirmPublisher(b *brokerConn, l *supervisedConn) (*confirmPublisher, error) {
	channel, err := b.conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("open a channel: %w", err)
	}
	if err := channel.Confirm(false); err != nil {
		return nil, fmt.Errorf("enable publisher confirms: %w", err)
	}
	expelled := func(why error) { l.discard(b, why) }
	if err := b.register(channel, l.opts, l.opts.publishers(), expelled); err != nil {
		return nil, err
	}
	return &confirmPublisher{
		brokerConn: b, channel: channel, opts: l.opts, conn: l,
		returns:  channel.NotifyReturn(make(chan amqp091.Return, l.opts.Window)),
		returned: map[string]bool{},
	}, nil
}

// publish returns when the broker has made the message durable, or the connection ends.
// Errors: storage.ErrUnavailable, in which case the outcome is unknown.
func (p *confirmPublisher) publish(queue string, message amqp091.Publishing) error {
	p.opts.Metrics.confirms.Inc()
	defer p.opts.Metrics.confirms.Dec()
	message.CorrelationId = strconv.FormatUint(p.last.Add(1), 36)
	message.DeliveryMode = amqp091.Persistent
	confirm, err := p.channel.PublishWithDeferredConfirm("", queue, true, false, message)
	if err != nil {
		p.conn.discard(p.brokerConn, err) // no other caller should use this connection
		return p.failed("write", err)
	}
	p.await(confirm.Done())
	if p.wasReturned(message.CorrelationId) {
		p.opts.Metrics.returns.Inc()
		err := fmt.Errorf("queue %s does not exist", queue)
		p.conn.discard(p.brokerConn, err) // the next connection declares the queue again
		return p.failed("no queue", err)
	}
	if !confirm.Acked() {
		return p.failed("no confirm", fmt.Errorf("queue %s has not confirmed the message", queue))
	}
	p.opts.Metrics.published.WithLabelValues("confirmed").Inc()
	return nil
}

func (p *confirmPublisher) failed(how string, err error) error {
	p.opts.Metrics.published.WithLabelValues(how).Inc()
	return fmt.Errorf("%s: %w: %w", p.opts.broker(), storage.ErrUnavailable, err)
}

// await waits for the confirm or the end of the connection, and discards the connection
// after ConfirmTimeout. The timeout starts anew when an alarm ends, because the broker
// may not read the message until then.
func (p *confirmPublisher) await(confirmed <-chan struct{}) {
	sent := time.Now()
	timer := time.NewTimer(p.opts.ConfirmTimeout)
	defer timer.Stop()
	for {
		select {
		case <-confirmed: // also closed when the connection ends
			return
		case <-timer.C:
			left := p.opts.ConfirmTimeout - p.conn.unblockedFor(sent)
			if left <= 0 {
				p.conn.discard(p.brokerConn, errors.New("no confirm within the timeout"))
				left = p.opts.ConfirmTimeout
			}
			timer.Reset(left)
		}
	}
}

// wasReturned reports whether the message with this number was returned. It is called
// once per message, after the confirm.
func (p *confirmPublisher) wasReturned(number string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		select {
		case r, open := <-p.returns:
			if open {
				p.returned[r.CorrelationId] = true
				continue
			}
		default:
		}
		break
	}
	was := p.returned[number]
	delete(p.returned, number)
	return was
}
