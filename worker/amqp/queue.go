package amqp

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"ovation/storage"
	"ovation/worker"
)

// Queue is the queue in RabbitMQ, for publishers and consumers. It is safe for
// concurrent use.
type Queue struct {
	opts    Options
	window  chan struct{} // holds a token for each unconfirmed message
	closing chan struct{} // closed by Close

	publishing *supervisedConn
	consuming  *supervisedConn
	consumes   bool           // consuming has been started
	work       sync.WaitGroup // running publishes and consumers
	mu         sync.Mutex     // guards closed, consumes and additions to work
	closed     bool
	ended      chan struct{} // closed when Close is done
}

var (
	_ worker.Publisher = (*Queue)(nil)
	_ worker.Consumer  = (*Queue)(nil)
)

// Open connects to the broker, declares the queues and returns a Queue that reconnects
// until it is closed. The Queue opens a second connection on the first call to Consume,
// or immediately if Options.Metrics is set. This connection never publishes, so that
// queue depths can be measured even during an alarm.
//
// Errors: storage.ErrInvalid for invalid options; storage.ErrUnavailable if the broker
// cannot be reached. Other errors come from the broker. They state what to do about wrong
// credentials, a wrong virtual host, missing permissions, RabbitMQ before 3.10, or queues
// of another type or number.
func Open(ctx context.Context, opts Options) (*Queue, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	q := &Queue{
		opts:    opts,
		window:  make(chan struct{}, opts.Window),
		closing: make(chan struct{}),
		ended:   make(chan struct{}),
	}
	q.publishing = newSupervisedConn(toPublish, opts, q.prepare)
	second := toConsume
	if opts.Metrics != noMetrics && opts.Metrics.role&worker.Works == 0 {
		second = toMeasure
	}
	q.consuming = newSupervisedConn(second, opts, func(*brokerConn) error { return nil })
	if opts.Metrics != noMetrics {
		q.consuming.onTick = q.inspect
	}
	first, err := q.publishing.connect(ctx)
	if err != nil {
		return nil, err
	}
	q.publishing.start(first) //nolint:contextcheck // lives until Close
	if opts.Metrics != noMetrics {
		q.startConsuming() //nolint:contextcheck // lives until Close
	}
	return q, nil
}

// startConsuming opens the second connection, once.
func (q *Queue) startConsuming() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed && !q.consumes {
		q.consumes = true
		q.consuming.start(nil)
	}
}

// prepare readies a connection for publishing.
func (q *Queue) prepare(b *brokerConn) error {
	return b.withTimeout(func() (err error) {
		b.publisher, err = newConfirmPublisher(b, q.publishing)
		return err
	})
}

// Partitions is the number of partitions.
func (q *Queue) Partitions() int { return q.opts.Partitions }

// Publish returns storage.Queued when the broker has made the message durable. It never
// outlasts its context, regardless of the state of the connection.
//
// Errors: storage.ErrUnavailable, at the context's deadline at the latest, and after
// Grace if the broker is unavailable or blocks publishers; storage.ErrInvalid for an
// invalid id or a message above 16 MiB; worker.ErrClosed; context.Canceled.
func (q *Queue) Publish(ctx context.Context, partition int, message storage.Message) (storage.Durability, error) {
	if partition < 0 || partition >= q.opts.Partitions {
		return "", fmt.Errorf("publish: there is no partition %d of %d", partition, q.opts.Partitions)
	}
	sealed, err := newPublishing(message, time.Now())
	if err == nil {
		err = q.send(ctx, q.opts.queue(partition), sealed)
	}
	if err != nil {
		return "", fmt.Errorf("publish: %w", err)
	}
	return storage.Queued, nil
}

// Up reports whether the broker, as far as is known, accepts messages.
func (q *Queue) Up() bool { return q.publishing.connected() && !q.publishing.blocked() }

// newPublishing encodes a message.
func newPublishing(message storage.Message, at time.Time) (amqp091.Publishing, error) {
	if err := (storage.Message{ID: message.ID}).Validate(); err != nil {
		return amqp091.Publishing{}, err // the actions were validated by the recorder
	}
	body := encode(message, at)
	if len(body) > maxBody {
		return amqp091.Publishing{}, &storage.InvalidError{
			Field: "message", Reason: fmt.Sprintf("has %d bytes; at most %d are allowed", len(body), maxBody),
		}
	}
	return amqp091.Publishing{MessageId: message.ID, ContentType: contentType, Body: body}, nil
}

const contentType = "application/vnd.ovation.message"

// send publishes to a queue. If ctx ends, send returns, but the publishing continues
// and keeps its place in the window until it is confirmed.
func (q *Queue) send(ctx context.Context, queue string, sealed amqp091.Publishing) error {
	if ctx.Err() != nil {
		return storage.Ended(ctx, "begin")
	}
	select {
	case q.window <- struct{}{}:
	case <-q.closing:
		return worker.ErrClosed
	case <-ctx.Done():
		return storage.Ended(ctx, "wait for room in the window")
	}
	b, err := q.publishing.ready(ctx, q.closing, q.opts.Grace)
	if err != nil {
		<-q.window
		return err
	}
	done := make(chan error, 1)
	if !q.startWork(func() {
		done <- b.publisher.publish(queue, sealed)
		<-q.window
	}) {
		<-q.window
		return worker.ErrClosed
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return storage.Ended(ctx, "wait for confirmation")
	}
}

// startWork runs f in a goroutine that Close waits for, or returns false after Close.
func (q *Queue) startWork(f func()) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.work.Go(f)
	return true
}

// Close ends the consumers, waits at most IOTimeout for outstanding confirms, and
// closes the connections. It may be called twice.
func (q *Queue) Close() error {
	q.mu.Lock()
	first := !q.closed
	q.closed = true
	q.mu.Unlock()
	if !first {
		<-q.ended
		return nil
	}
	close(q.closing)
	late := time.AfterFunc(q.opts.IOTimeout, q.publishing.disconnect)
	q.work.Wait()
	late.Stop()
	if q.consumes {
		q.consuming.end()
	}
	q.publishing.end()
	close(q.ended)
	return nil
}
