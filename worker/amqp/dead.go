package amqp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"ovation/storage"
	"ovation/worker"
)

// DeadLetter is a dead-lettered message.
type DeadLetter struct {
	// ID is the message's id. If the message has no id that is safe to type in a shell,
	// ID is "body-" followed by a digest of the body.
	ID string
	// Reason is why the message was dead-lettered.
	Reason string
	// Queue is the queue that the message comes from, and At is the time when it was
	// dead-lettered.
	Queue string
	At    time.Time
	// Message is the decoded message, and Published is the time when it was first
	// published. If the body cannot be decoded, Unreadable is the reason.
	Message    storage.Message
	Published  time.Time
	Unreadable error
	// Body is the encoded message.
	Body []byte
}

// DeadLetters reads the dead-letter queue. Each method walks the queue from the oldest
// message; while it does so, other clients cannot receive the messages that it has
// passed. A DeadLetters must be closed after an error. It is not safe for concurrent use.
type DeadLetters struct {
	opts       Options
	conn       *supervisedConn
	brokerConn *brokerConn
	channel    *amqp091.Channel // to read
}

// OpenDeadLetters connects to the broker; Window and Prefetch are ignored. Errors: as
// documented for Open.
func OpenDeadLetters(ctx context.Context, opts Options) (*DeadLetters, error) {
	d := &DeadLetters{opts: opts.withDefaults()}
	if err := d.opts.validate(); err != nil {
		return nil, err
	}
	d.conn = newSupervisedConn("dead letters", d.opts, func(b *brokerConn) error {
		return b.withTimeout(func() (err error) {
			d.channel, err = b.conn.Channel()
			return err
		})
	})
	d.conn.passive = true
	b, err := d.conn.connect(ctx)
	if err != nil {
		return nil, err
	}
	d.brokerConn = b
	return d, nil
}

// Close ends the connection. It may be called twice.
func (d *DeadLetters) Close() error {
	d.brokerConn.close()
	return nil
}

// List returns up to limit dead letters, oldest first. Errors: storage.ErrUnavailable,
// the context's error.
func (d *DeadLetters) List(ctx context.Context, limit int) ([]DeadLetter, error) {
	var letters []DeadLetter
	err := d.walk(ctx, "list", func(l DeadLetter) (step, error) {
		if len(letters) >= limit {
			return stop, nil
		}
		letters = append(letters, l)
		return keep, nil
	})
	return letters, err
}

// Show returns the oldest dead letter with this id. Errors: storage.ErrNotFound,
// storage.ErrUnavailable, the context's error.
func (d *DeadLetters) Show(ctx context.Context, id string) (DeadLetter, error) {
	var found *DeadLetter
	err := d.walk(ctx, "show", func(l DeadLetter) (step, error) {
		if l.ID != id {
			return keep, nil
		}
		found = &l
		return stop, nil
	})
	if err == nil && found == nil {
		err = fmt.Errorf("dead letter %s: %w", id, storage.ErrNotFound)
	}
	if err != nil {
		return DeadLetter{}, err
	}
	return *found, nil
}

// Replayed counts the picked messages by outcome.
type Replayed struct {
	Queued     int // published again and removed
	Unreadable int // left, because their partition is unknown
	Expired    int // left, because they might count twice; see DeadLetter.Expired
}

// Replay publishes the picked messages again, each to the partition of its subjects, and
// removes them. Expired messages are left unless force is set. A failure midway may leave
// a message both in its partition and among the dead letters. That is harmless, because
// the message counts once. Errors: storage.ErrUnavailable; the context's error; an error
// if the configured number of partitions differs from the number in effect, in which case
// nothing is done.
func (d *DeadLetters) Replay(ctx context.Context, force bool, pick func(DeadLetter) bool) (Replayed, error) {
	var n Replayed
	done := map[string]bool{} // a message that is rejected again is not replayed again
	now := time.Now()
	out, err := d.publisher()
	if err != nil {
		return n, fmt.Errorf("replay dead letters: %w", err)
	}
	err = d.walk(ctx, "replay", func(l DeadLetter) (step, error) {
		switch {
		case !pick(l) || done[l.ID]:
			return keep, nil
		case !l.replayable():
			n.Unreadable++
			return keep, nil
		case l.Expired(now) && !force:
			n.Expired++
			return keep, nil
		}
		sealed, err := newPublishing(l.Message, l.Published)
		if err != nil {
			return keep, fmt.Errorf("message %s: %w", l.ID, err)
		}
		if force || l.Message.Cover != (storage.VideoKey{}) {
			sealed.Headers = amqp091.Table{headerForced: true}
		}
		partition := 0 // of cover jobs
		if len(l.Message.Actions) > 0 {
			partition = worker.PartitionOf(l.Message.Actions[0].Subject, d.opts.Partitions)
		}
		if err := out.publish(d.opts.queue(partition), sealed); err != nil {
			return keep, err
		}
		done[l.ID] = true
		n.Queued++
		return remove, nil
	})
	return n, err
}

// publisher returns the connection's publisher, and opens it on first use.
func (d *DeadLetters) publisher() (*confirmPublisher, error) {
	if d.brokerConn.publisher != nil {
		return d.brokerConn.publisher, nil
	}
	err := d.brokerConn.withTimeout(func() (err error) {
		d.brokerConn.publisher, err = newConfirmPublisher(d.brokerConn, d.conn)
		return err
	})
	return d.brokerConn.publisher, err
}

// replayable reports whether the message's partition is known.
func (l DeadLetter) replayable() bool {
	return l.Unreadable == nil && (len(l.Message.Actions) > 0 || l.Message.Cover != storage.VideoKey{})
}

// Expired reports whether replaying the message might count its actions twice, if it was
// persisted before it was dead-lettered. That is so if the message contains reads and may
// be older than the ids kept in the inbox. All other actions are deduplicated by their
// versions.
func (l DeadLetter) Expired(now time.Time) bool {
	m := l.Message
	m.Published = storage.Micros(l.Published)
	return m.MayExpire(now) && now.Sub(l.Published) >= storage.MaxMessageAge
}

// Drop deletes the picked messages and returns how many it has deleted. Their actions are
// lost. Errors: storage.ErrUnavailable, the context's error.
func (d *DeadLetters) Drop(ctx context.Context, pick func(DeadLetter) bool) (int, error) {
	dropped := 0
	err := d.walk(ctx, "drop", func(l DeadLetter) (step, error) {
		if !pick(l) {
			return keep, nil
		}
		dropped++
		return remove, nil
	})
	return dropped, err
}

// step tells walk what to do with a dead letter, and whether to continue.
type step int

const (
	keep   step = iota // in the queue, and continue
	remove             // from the queue, and continue
	stop
)

// walk visits messages from the oldest to the newest until visit returns stop. The
// messages that are kept return to the queue.
func (d *DeadLetters) walk(ctx context.Context, doing string, visit func(DeadLetter) (step, error)) error {
	release := context.AfterFunc(ctx, d.brokerConn.abort) // requests do not accept a context
	defer release()
	err := d.visitAll(visit)
	if err != nil && ctx.Err() != nil {
		err = storage.Ended(ctx, "wait for RabbitMQ")
	}
	if err != nil {
		err = fmt.Errorf("%s dead letters: %w", doing, err)
	}
	return err
}

// visitAll calls visit for each dead letter until visit returns stop. It does not ask for
// the number of messages first, because the broker requeues messages with a delay, and
// only a Get on the same channel waits until they are in the queue again.
func (d *DeadLetters) visitAll(visit func(DeadLetter) (step, error)) (err error) {
	var left uint64 // the latest delivery tag
	defer func() {
		if left > 0 {
			err = errors.Join(err, unavailable(d.channel.Nack(left, true, true)))
		}
	}()
	for {
		var raw amqp091.Delivery
		var there bool
		err := d.brokerConn.withTimeout(func() (err error) {
			raw, there, err = d.channel.Get(d.opts.dead(), false)
			return err
		})
		if err != nil || !there {
			return unavailable(err)
		}
		next, err := visit(parseDeadLetter(raw))
		if next == remove {
			err = unavailable(raw.Ack(false))
		} else {
			left = raw.DeliveryTag
		}
		if err != nil || next == stop {
			return err
		}
	}
}

func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("RabbitMQ: %w: %w", storage.ErrUnavailable, err)
}

// Headers of a dead letter that was published by a worker.
const (
	headerReason = "ovation-reason"
	headerQueue  = "ovation-queue"
	headerAt     = "ovation-at" // microseconds since 1970
)

// headerForced marks a replayed message that is processed regardless of its age, or of its
// cover being dead-lettered.
const headerForced = "ovation-forced"

// maxReason is the maximum length of a reason in bytes.
const maxReason = 4096

// deadCopy returns the dead letter of a delivery.
func deadCopy(raw amqp091.Delivery, queue string, reason error, at time.Time) amqp091.Publishing {
	text := "no reason was given"
	if reason != nil {
		text = reason.Error()
	}
	return amqp091.Publishing{
		MessageId:   raw.MessageId,
		ContentType: raw.ContentType,
		Body:        raw.Body,
		Headers: amqp091.Table{
			headerReason: strings.ToValidUTF8(text[:min(len(text), maxReason)], ""),
			headerQueue:  queue,
			headerAt:     storage.Micros(at),
		},
	}
}

// shellSafeID matches ids that can be typed in a shell without quoting.
var shellSafeID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)

// parseDeadLetter decodes a dead letter, published by a worker or by the broker itself.
func parseDeadLetter(raw amqp091.Delivery) DeadLetter {
	l := DeadLetter{ID: raw.MessageId, Body: raw.Body}
	l.Message, l.Published, l.Unreadable = decode(raw.Body)
	if !shellSafeID.MatchString(l.ID) {
		sum := sha256.Sum256(raw.Body)
		l.ID = "body-" + hex.EncodeToString(sum[:8])
	}
	if reason, ours := raw.Headers[headerReason].(string); ours {
		l.Reason = reason
		l.Queue, _ = raw.Headers[headerQueue].(string)
		at, _ := raw.Headers[headerAt].(int64)
		l.At = storage.Time(at)
		return l
	}
	l.Reason = "RabbitMQ gives no reason"
	deaths, _ := raw.Headers["x-death"].([]any)
	if len(deaths) > 0 {
		death, _ := deaths[0].(amqp091.Table)
		why, _ := death["reason"].(string)
		l.Queue, _ = death["queue"].(string)
		l.At, _ = death["time"].(time.Time)
		switch why {
		case "delivery_limit":
			l.Reason = "it was delivered too often without being settled and may have crashed workers; check their logs before replaying it"
		case "rejected":
			l.Reason = "a worker rejected it; see the worker's log for the reason"
		default:
			l.Reason = "reason given by RabbitMQ: " + why
		}
	}
	return l
}
