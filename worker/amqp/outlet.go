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

// outlet publishes over one session. It is safe for concurrent use.
type outlet struct {
	session *session
	channel *amqp091.Channel
	opts    Options
	link    *link
	last    atomic.Uint64 // numbers what is published

	// A message that no queue took is returned and then confirmed all the
	// same. The reader of the connection has put the return into this channel
	// before the confirm can be seen, so that whoever sees the confirm finds it
	// here or, if somebody else has emptied the channel, in the set. There is
	// room for as many as can be outstanding: the reader never waits.
	returns chan amqp091.Return
	mu      sync.Mutex
	back    map[string]bool // by number
}

// newOutlet opens a channel to publish on, where the number of partitions is the
// one of the options. At most Window messages may be published through it at a
// time.
func newOutlet(s *session, l *link) (*outlet, error) {
	channel, err := s.conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("open a channel: %w", err)
	}
	if err := channel.Confirm(false); err != nil {
		return nil, fmt.Errorf("ask for confirms: %w", err)
	}
	expelled := func(why error) { l.giveUp(s, why) }
	if err := s.enter(channel, l.opts, l.opts.publishers(), expelled); err != nil {
		return nil, err
	}
	return &outlet{
		session: s, channel: channel, opts: l.opts, link: l,
		returns: channel.NotifyReturn(make(chan amqp091.Return, l.opts.Window)),
		back:    map[string]bool{},
	}, nil
}

// publish returns when the broker has made the message durable. It returns at
// the latest when the session ends. Errors: storage.ErrUnavailable, and the
// outcome is unknown.
func (o *outlet) publish(queue string, message amqp091.Publishing) error {
	o.opts.Metrics.confirms.Inc()
	defer o.opts.Metrics.confirms.Dec()
	message.CorrelationId = strconv.FormatUint(o.last.Add(1), 36)
	message.DeliveryMode = amqp091.Persistent
	confirm, err := o.channel.PublishWithDeferredConfirm("", queue, true, false, message)
	if err != nil {
		o.link.giveUp(o.session, err) // nobody else should try it
		return o.failed("write", err)
	}
	o.await(confirm.Done())
	if o.cameBack(message.CorrelationId) {
		o.opts.Metrics.returns.Inc()
		err := fmt.Errorf("queue %s does not exist", queue)
		o.link.giveUp(o.session, err) // the next session declares it again
		return o.failed("no queue", err)
	}
	if !confirm.Acked() {
		return o.failed("no confirm", fmt.Errorf("queue %s has not confirmed the message", queue))
	}
	o.opts.Metrics.published.WithLabelValues("confirmed").Inc()
	return nil
}

func (o *outlet) failed(how string, err error) error {
	o.opts.Metrics.published.WithLabelValues(how).Inc()
	return fmt.Errorf("%s: %w: %w", o.opts.broker(), storage.ErrUnavailable, err)
}

// await waits for the confirm or the end of the session, and gives the session up
// after ConfirmTimeout. That starts anew when an alarm ends: only then does the
// broker read the message, which it has to store before it confirms it.
func (o *outlet) await(confirmed <-chan struct{}) {
	sent := time.Now()
	timer := time.NewTimer(o.opts.ConfirmTimeout)
	defer timer.Stop()
	for {
		select {
		case <-confirmed: // comes with the end of the session, too
			return
		case <-timer.C:
			left := o.opts.ConfirmTimeout - o.link.flowing(sent)
			if left <= 0 {
				o.link.giveUp(o.session, errors.New("a confirm is overdue"))
				left = o.opts.ConfirmTimeout
			}
			timer.Reset(left)
		}
	}
}

// cameBack reports whether the message of this number was returned. It is
// asked once, after the confirm.
func (o *outlet) cameBack(number string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		select {
		case r, open := <-o.returns:
			if open {
				o.back[r.CorrelationId] = true
				continue
			}
		default:
		}
		break
	}
	was := o.back[number]
	delete(o.back, number)
	return was
}
