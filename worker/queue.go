package worker

import (
	"context"
	"errors"

	"ovation/storage"
)

// Errors from a queue that callers should distinguish with errors.Is.
var (
	// ErrRejected is returned by Publish if a worker has rejected the message (see
	// Delivery.Reject). Queues that confirm before a worker has received the message
	// never return it.
	ErrRejected = errors.New("the message cannot be persisted")
	// ErrBusy is returned for an action by an anonymous user while too many such actions
	// wait for confirmation. The action was not published.
	ErrBusy = errors.New("too many actions of anonymous users are waiting for confirmation; try again later")
	// ErrClosed is returned by methods called after Close.
	ErrClosed = errors.New("closed")
	// ErrSettled is returned if the delivery is already settled, or if its consumer has
	// ended, in which case the message will be redelivered.
	ErrSettled = errors.New("the delivery is already settled")
)

// Publisher puts messages into the queue. It is safe for concurrent use.
type Publisher interface {
	// Partitions is the number of partitions, at least 1. It never changes. All actions
	// on a subject belong to one partition, so that only one worker at a time changes
	// the subject; a batch of actions is in the partition of its first subject.
	Partitions() int
	// Publish makes a message durable and returns where it is stored. After an error, the
	// outcome is unknown: the message may still be persisted. Publishing a message with
	// the same ID again is harmless. If Publish returns before a worker has received the
	// message, the queue sets the field Published of the delivered message to the time of
	// Publish. Errors: storage.ErrUnavailable, ErrRejected, ErrClosed, the context's
	// error.
	Publish(ctx context.Context, partition int, message storage.Message) (storage.Durability, error)
}

// Consumer takes messages out of the queue. It is safe for concurrent use.
type Consumer interface {
	// Consume delivers messages until the context ends or the queue is lost, and then
	// closes the channel. A message is redelivered, and marked as such, if it was
	// requeued or its consumer ended without settling it. Messages of one partition go to
	// one consumer at a time, in the order of publication. Redelivered messages may come
	// in any order, but come before messages that were never delivered (see Barriers).
	// The number of unsettled messages of a consumer is bounded. Errors:
	// storage.ErrUnavailable, ErrClosed.
	Consume(ctx context.Context) (<-chan Delivery, error)
}

// Delivery is a message delivered to a worker. The worker settles it exactly once, by
// Ack, Requeue or Reject. These methods return ErrSettled, and do nothing, if the
// delivery can no longer be settled.
type Delivery interface {
	Message() storage.Message
	// Partition is the partition that the message was published to.
	Partition() int
	// Redelivered reports whether a worker may have received the message before.
	Redelivered() bool
	// Ack reports that the message is persisted.
	Ack() error
	// Requeue returns the message to the queue, which delivers it again.
	Requeue() error
	// Reject reports that the message can never be persisted. The queue dead-letters it
	// with the reason, or returns the reason to its publisher.
	Reject(reason error) error
}

// BatchAcker is a Delivery from a queue that can acknowledge many deliveries in one call.
type BatchAcker interface {
	Delivery
	// AckAll acknowledges deliveries of the same queue, at a lower cost than one Ack for
	// each delivery.
	AckAll(deliveries []Delivery) error
}
