package worker

import (
	"context"
	"errors"

	"ovation/storage"
)

// The errors of a queue that its users should tell apart with errors.Is.
var (
	// ErrRejected is what Publish returns where it learns that a worker has
	// given the message up (see Delivery.Reject). Queues that confirm before a
	// worker has seen the message never return it.
	ErrRejected = errors.New("the message cannot be persisted")
	// ErrBusy is returned for an action of an anonymous user while too many of
	// them wait for their confirm. The action was not published.
	ErrBusy = errors.New("too many actions of anonymous users are on their way")
	// ErrClosed is returned by what is used after it was closed or stopped.
	ErrClosed = errors.New("closed")
	// ErrSettled: the delivery was settled before, or its consumer has gone
	// away and the message comes again.
	ErrSettled = errors.New("the delivery is settled already")
)

// Publisher puts messages into the queue. It is safe for concurrent use.
type Publisher interface {
	// Partitions is how many partitions the queue has, at least 1. It never
	// changes. All actions on a subject belong into one partition, so that
	// only one worker at a time changes the subject.
	Partitions() int
	// Publish makes a message durable and returns where it then is. The
	// outcome is unknown where it returns an error: the message may still be
	// persisted. Publishing a message of the same ID again is harmless.
	// Errors: storage.ErrUnavailable, ErrRejected, ErrClosed, the context's.
	Publish(ctx context.Context, partition int, message storage.Message) (storage.Durability, error)
}

// Consumer takes messages out of the queue. It is safe for concurrent use.
type Consumer interface {
	// Consume delivers messages until the context is done or the queue is
	// lost, then closes the channel. A message comes again, marked as
	// redelivered, where it was requeued or its consumer went away before it
	// settled it. Messages of one partition go to one consumer at a time, in
	// the order they were published, but for redelivered ones: those come before any
	// that nobody has had (see Barriers), in any order. How many
	// messages a consumer is given before it settles one is bounded.
	// Errors: storage.ErrUnavailable, ErrClosed.
	Consume(ctx context.Context) (<-chan Delivery, error)
}

// Delivery is a message in the hands of a worker, which settles it exactly
// once by one of its three methods. Each returns ErrSettled, and does nothing,
// where that is no longer possible.
type Delivery interface {
	Message() storage.Message
	// Partition is the one that the message was published to.
	Partition() int
	// Redelivered reports whether some worker may have had the message before.
	Redelivered() bool
	// Ack says that the message is persisted.
	Ack() error
	// Requeue gives the message back, to be delivered again.
	Requeue() error
	// Reject says that the message can never be persisted. The queue keeps it
	// aside with the reason or tells its publisher.
	Reject(reason error) error
}

// Together is a Delivery of a queue that can acknowledge many at once.
type Together interface {
	Delivery
	// AckAll does to deliveries of its queue what Ack does to one, for less.
	AckAll(deliveries []Delivery) error
}
