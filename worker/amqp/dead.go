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

// Letter is a message that was put aside.
type Letter struct {
	// ID is the message's id or, where it has none that can be typed, "body-"
	// and a digest of its bytes.
	ID string
	// Reason is why it was put aside.
	Reason string
	// Queue is where it comes from, and At when it left there.
	Queue string
	At    time.Time
	// Message is what it says, and Published when it was first published.
	// Where it cannot be read, Unreadable is why.
	Message    storage.Message
	Published  time.Time
	Unreadable error
	// Body is the message as it was sent.
	Body []byte
}

// Dead looks into the queue of messages put aside. Every use goes through it
// from the oldest message; meanwhile others do not see what it has passed.
// After an error it is best closed. It is not safe for concurrent use.
type Dead struct {
	opts    Options
	link    *link
	session *session
	channel *amqp091.Channel // to read
}

// OpenDead connects to the broker; Window and Prefetch are of no matter.
// Errors are those of Open.
func OpenDead(ctx context.Context, opts Options) (*Dead, error) {
	d := &Dead{opts: opts.withDefaults()}
	if err := d.opts.validate(); err != nil {
		return nil, err
	}
	d.link = newLink("dead letters", d.opts, func(s *session) error {
		return s.within(func() (err error) {
			d.channel, err = s.conn.Channel()
			return err
		})
	})
	d.link.looks = true
	s, err := d.link.connect(ctx)
	if err != nil {
		return nil, err
	}
	d.session = s
	return d, nil
}

// Close ends the connection. It may be called twice.
func (d *Dead) Close() error {
	d.session.close()
	return nil
}

// List returns the oldest messages, up to a limit. Errors:
// storage.ErrUnavailable, the context's.
func (d *Dead) List(ctx context.Context, limit int) ([]Letter, error) {
	var letters []Letter
	err := d.walk(ctx, func(l Letter) (step, error) {
		if len(letters) >= limit {
			return stop, nil
		}
		letters = append(letters, l)
		return leave, nil
	})
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	return letters, nil
}

// Show returns the oldest message of this id. Errors: storage.ErrNotFound,
// storage.ErrUnavailable, the context's.
func (d *Dead) Show(ctx context.Context, id string) (Letter, error) {
	var found *Letter
	err := d.walk(ctx, func(l Letter) (step, error) {
		if l.ID != id {
			return leave, nil
		}
		found = &l
		return stop, nil
	})
	switch {
	case err != nil:
		return Letter{}, fmt.Errorf("show dead letter: %w", err)
	case found == nil:
		return Letter{}, fmt.Errorf("dead letter %s: %w", id, storage.ErrNotFound)
	}
	return *found, nil
}

// Replayed is what became of the picked messages.
type Replayed struct {
	Queued     int // published anew and taken out
	Unreadable int // left, as it is not known where they belong
	Old        int // left, as they might count twice, see Letter.Old
}

// Replay publishes the picked messages anew, each to the partition of its
// subjects, and takes them out. Old ones are left unless it is forced. A
// failure on the way may leave one message in both places, which is harmless:
// it counts once. Errors: storage.ErrUnavailable, the context's; another number of
// partitions than that of the queues, with nothing done.
func (d *Dead) Replay(ctx context.Context, force bool, pick func(Letter) bool) (Replayed, error) {
	var n Replayed
	done := map[string]bool{} // what a worker rejects once more is not replayed for ever
	now := time.Now()
	out, err := d.outlet()
	if err != nil {
		return n, fmt.Errorf("replay dead letters: %w", err)
	}
	err = d.walk(ctx, func(l Letter) (step, error) {
		switch {
		case !pick(l) || done[l.ID]:
			return leave, nil
		case !l.replayable():
			n.Unreadable++
			return leave, nil
		case l.Old(now) && !force:
			n.Old++
			return leave, nil
		}
		sealed, err := seal(l.Message, l.Published)
		if err != nil {
			return leave, fmt.Errorf("message %s: %w", l.ID, err)
		}
		if force {
			sealed.Headers = amqp091.Table{headerForced: true}
		}
		partition := worker.PartitionOf(l.Message.Actions[0].Subject, d.opts.Partitions)
		if err := out.publish(d.opts.queue(partition), sealed); err != nil {
			return leave, err
		}
		done[l.ID] = true
		n.Queued++
		return take, nil
	})
	if err != nil {
		return n, fmt.Errorf("replay dead letters: %w", err)
	}
	return n, nil
}

// outlet opens a channel to publish on, unless that was done.
func (d *Dead) outlet() (*outlet, error) {
	if d.session.out != nil {
		return d.session.out, nil
	}
	err := d.session.within(func() (err error) {
		d.session.out, err = newOutlet(d.session, d.link)
		return err
	})
	return d.session.out, err
}

// replayable reports whether it is known where the message belongs.
func (l Letter) replayable() bool { return l.Unreadable == nil && len(l.Message.Actions) > 0 }

// Old reports whether the message, if it was persisted before it was put aside,
// would count twice: it holds reads, and may be older than the memory of what
// was persisted. Everything else is told by its version for ever.
func (l Letter) Old(now time.Time) bool {
	m := l.Message
	m.Published = storage.Micros(l.Published)
	return m.MayExpire(now) && now.Sub(l.Published) >= storage.MaxMessageAge
}

// Drop takes the picked messages out for good and returns how many. Their
// actions are lost. Errors: storage.ErrUnavailable, the context's.
func (d *Dead) Drop(ctx context.Context, pick func(Letter) bool) (int, error) {
	dropped := 0
	err := d.walk(ctx, func(l Letter) (step, error) {
		if !pick(l) {
			return leave, nil
		}
		dropped++
		return take, nil
	})
	if err != nil {
		return dropped, fmt.Errorf("drop dead letters: %w", err)
	}
	return dropped, nil
}

// step is what to do with a letter.
type step int

const (
	leave step = iota // and go on
	take              // out of the queue, and go on
	stop
)

// walk visits messages until none is left or it is told to stop, oldest first,
// and gives back what it leaves.
func (d *Dead) walk(ctx context.Context, visit func(Letter) (step, error)) error {
	release := context.AfterFunc(ctx, d.session.abort) // requests know no context
	defer release()
	err := d.visitAll(visit)
	if err != nil && ctx.Err() != nil {
		return storage.Ended(ctx, "talk to RabbitMQ")
	}
	return err
}

// visitAll does not ask first how many there are: the broker puts a message
// back some time after it was given back, and answers a Get on the same
// channel only then, but not a question.
func (d *Dead) visitAll(visit func(Letter) (step, error)) (err error) {
	var left uint64 // the newest one
	defer func() {
		if left > 0 {
			err = errors.Join(err, unavailable(d.channel.Nack(left, true, true)))
		}
	}()
	for {
		var raw amqp091.Delivery
		var there bool
		err := d.session.within(func() (err error) {
			raw, there, err = d.channel.Get(d.opts.dead(), false)
			return err
		})
		if err != nil || !there {
			return unavailable(err)
		}
		next, err := visit(letterOf(raw))
		if next == take {
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

// The headers of a copy that a worker puts aside.
const (
	headerReason = "ovation-reason"
	headerQueue  = "ovation-queue"
	headerAt     = "ovation-at" // microseconds since 1970
)

// headerForced is of a message that is replayed and persisted whatever its age.
const headerForced = "ovation-forced"

// maxReason bounds a reason in bytes.
const maxReason = 4096

// deadCopy is a delivery as it is put aside.
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

// typed is the form of an id that an operator can write in a shell.
var typed = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)

// letterOf reads what was put aside, by a worker or by the broker itself.
func letterOf(raw amqp091.Delivery) Letter {
	l := Letter{ID: raw.MessageId, Body: raw.Body}
	l.Message, l.Published, l.Unreadable = decode(raw.Body)
	if !typed.MatchString(l.ID) {
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
	l.Reason = "RabbitMQ does not say why"
	deaths, _ := raw.Headers["x-death"].([]any)
	if len(deaths) > 0 {
		death, _ := deaths[0].(amqp091.Table)
		why, _ := death["reason"].(string)
		l.Queue, _ = death["queue"].(string)
		l.At, _ = death["time"].(time.Time)
		switch why {
		case "delivery_limit":
			l.Reason = "it was delivered too often and never settled: it may have killed its workers; look into their logs before it is replayed"
		case "rejected":
			l.Reason = "a worker rejected it; the reason is in the worker's log"
		default:
			l.Reason = "RabbitMQ says: " + why
		}
	}
	return l
}
