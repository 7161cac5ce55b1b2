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

// Queue is both ends of the queue in RabbitMQ. It is safe for concurrent use.
type Queue struct {
	opts    Options
	window  chan struct{} // holds a token for each message without its confirm
	closing chan struct{} // closed by Close

	publishing *link
	consuming  *link
	consumes   bool           // consuming is started
	work       sync.WaitGroup // publishings and consumptions
	mu         sync.Mutex     // guards closed, consumes and additions to work
	closed     bool
	ended      chan struct{} // closed when Close is done
}

var (
	_ worker.Publisher = (*Queue)(nil)
	_ worker.Consumer  = (*Queue)(nil)
)

// Open connects to the broker, declares the queues and returns a Queue that
// stays connected until it is closed. It makes a second connection when
// something is first consumed, and at once where there are Metrics: that one
// never publishes, so that the queues can be measured during an alarm, too.
//
// Errors: storage.ErrInvalid for options out of bounds; storage.ErrUnavailable
// where the broker cannot be reached; else the broker is there and the message
// says what to do: a wrong password or virtual host, missing permissions, a
// RabbitMQ before 3.10, queues of another type or number of partitions.
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
	q.publishing = newLink(toPublish, opts, q.prepare)
	second := toConsume
	if opts.Metrics != unmeasured && opts.Metrics.does&Consumes == 0 {
		second = toMeasure
	}
	q.consuming = newLink(second, opts, func(*session) error { return nil })
	if opts.Metrics != unmeasured {
		q.consuming.every = q.inspect
	}
	first, err := q.publishing.connect(ctx)
	if err != nil {
		return nil, err
	}
	q.publishing.start(first) //nolint:contextcheck // lives until Close
	if opts.Metrics != unmeasured {
		q.startConsuming() //nolint:contextcheck // lives until Close
	}
	return q, nil
}

// startConsuming makes the second connection, unless that was done.
func (q *Queue) startConsuming() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed && !q.consumes {
		q.consumes = true
		q.consuming.start(nil)
	}
}

// prepare opens what a session needs to publish.
func (q *Queue) prepare(s *session) error {
	return s.within(func() (err error) {
		s.out, err = newOutlet(s, q.publishing)
		return err
	})
}

// Partitions is how many partitions there are.
func (q *Queue) Partitions() int { return q.opts.Partitions }

// Publish returns storage.Queued when the broker has made the message durable.
// It never outlives its context, whatever state the connection is in.
//
// Errors: storage.ErrUnavailable, at the latest when the context's deadline
// passes, and after Grace where the broker is away or takes no messages;
// storage.ErrInvalid for an id out of bounds or a message above 16 MiB;
// worker.ErrClosed; context.Canceled.
func (q *Queue) Publish(ctx context.Context, partition int, message storage.Message) (storage.Durability, error) {
	if partition < 0 || partition >= q.opts.Partitions {
		return "", fmt.Errorf("publish: there is no partition %d of %d", partition, q.opts.Partitions)
	}
	sealed, err := seal(message, time.Now())
	if err == nil {
		err = q.send(ctx, q.opts.queue(partition), sealed)
	}
	if err != nil {
		return "", fmt.Errorf("publish: %w", err)
	}
	return storage.Queued, nil
}

// Up reports whether the broker takes messages, as far as is known.
func (q *Queue) Up() bool { return q.publishing.up() && !q.publishing.alarmOn() }

// seal makes of a message what is sent.
func seal(message storage.Message, at time.Time) (amqp091.Publishing, error) {
	if err := (storage.Message{ID: message.ID}).Validate(); err != nil {
		return amqp091.Publishing{}, err // the actions were checked when they were made
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

// send publishes to a queue. The publishing itself belongs to no caller: it
// keeps its place in the window until the confirm, and the caller leaves when
// its context ends.
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
	s, err := q.publishing.ready(ctx, q.closing, q.opts.Grace)
	if err != nil {
		<-q.window
		return err
	}
	done := make(chan error, 1)
	if !q.begin(func() {
		done <- s.out.publish(queue, sealed)
		<-q.window
	}) {
		<-q.window
		return worker.ErrClosed
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return storage.Ended(ctx, "wait for the confirm")
	}
}

// begin runs something that Close waits for, or returns false after Close.
func (q *Queue) begin(f func()) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.work.Go(f)
	return true
}

// Close ends the consumers, waits for the confirms that are under way, no
// longer than IOTimeout, and closes the connections. It may be called twice.
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
	late := time.AfterFunc(q.opts.IOTimeout, q.publishing.cut)
	q.work.Wait()
	late.Stop()
	if q.consumes {
		q.consuming.end()
	}
	q.publishing.end()
	close(q.ended)
	return nil
}
