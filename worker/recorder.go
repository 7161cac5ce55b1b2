package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ovation/storage"
)

// RecorderOptions tune a Recorder. The zero value is a good choice.
type RecorderOptions struct {
	// MaxBatch is how many actions one message holds at most; 1,000 if 0.
	MaxBatch int
	// MaxInFlight is how many messages of one partition are published at the
	// same time; 1 if 0. What arrives meanwhile makes the next message.
	MaxInFlight int
	// Linger is for how long at most a partition that could send a message waits
	// while those of others are published, and what comes meanwhile shares it; it
	// does not if 0. Fewer messages are larger, and cost the queue less.
	Linger time.Duration
	// MaxBacklog is how many actions may be on their way, from the moment they
	// are accepted to their answer; 10,000 if 0. Whoever comes then waits. Besides
	// those, a fifth as many of anonymous users may be on their way; one more is
	// refused with ErrBusy.
	MaxBacklog int
	// PublishTimeout bounds the publishing of a message, and then the showing
	// of its actions; 10 s if 0.
	PublishTimeout time.Duration
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Logger takes what goes wrong without failing a caller; slog.Default() if
	// nil.
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics *Metrics
}

func (o RecorderOptions) withDefaults() RecorderOptions {
	o.MaxBatch = cmp.Or(o.MaxBatch, 1000)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, 1)
	o.MaxBacklog = cmp.Or(o.MaxBacklog, 10_000)
	o.PublishTimeout = cmp.Or(o.PublishTimeout, 10*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.Metrics = cmp.Or(o.Metrics, unmeasured)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Recorder makes the actions of users durable. It is safe for concurrent use.
type Recorder struct {
	mirror  Mirror
	batcher *batcher
	turns   *turns
	doubts  *doubts
	opts    RecorderOptions
}

// Recorded is what became of an action.
type Recorded struct {
	// Known is false where the state before was not known (see Mirror.Look). The
	// action was then published, and Changed says nothing.
	Known bool
	// Changed is false where the action had nothing to change, and nothing was
	// published.
	Changed bool
	// Durability is where the action is or, where nothing changed, the one
	// that had done it.
	Durability storage.Durability
}

// NewRecorder returns a Recorder that publishes to the publisher and shows in
// the mirror what is confirmed. Close it to send what is still on its way.
func NewRecorder(publisher Publisher, mirror Mirror, opts RecorderOptions) *Recorder {
	opts = opts.withDefaults()
	r := &Recorder{mirror: mirror, turns: newTurns(), doubts: newDoubts(), opts: opts}
	r.batcher = newBatcher(publisher, mirror, r.settle, opts)
	return r
}

// Record returns when the action is durable and shown, or is known to change nothing. It
// sets the action's Version and, of a read, First; a read without Times is one.
//
// Actions on one state (user, subject and kind, reads excepted) take turns, in
// the order they came: each sees what the one before it did. When the context
// ends first, Record returns at once, but an action that was accepted is
// published and shown all the same.
//
// Errors: storage.ErrInvalid; storage.ErrUnavailable, where the action may or
// may not become durable later, also when the context's deadline passes;
// ErrRejected; ErrBusy, where the user is anonymous and nothing was published;
// ErrClosed after Close; context.Canceled.
func (r *Recorder) Record(ctx context.Context, action storage.Action) (Recorded, error) {
	recorded, err := r.record(ctx, action)
	r.opts.Metrics.action(action.Kind, recorded, err)
	return recorded, err
}

// Close refuses new actions with ErrClosed, publishes and shows every accepted
// one and returns when that is done, or an error when the context ends first.
// It may be called twice.
func (r *Recorder) Close(ctx context.Context) error { return r.batcher.close(ctx) }

func (r *Recorder) record(ctx context.Context, action storage.Action) (Recorded, error) {
	action.Version = storage.Micros(r.opts.Now())
	if action.Kind == storage.KindRead {
		action.First, action.Times = action.Version, max(action.Times, 1)
	}
	if err := action.Validate(); err != nil {
		return Recorded{}, err
	}
	known := true
	if action.Kind != storage.KindRead {
		id := idOf(action)
		if err := r.turns.take(ctx, id); err != nil {
			return Recorded{}, err
		}
		states, where, err := r.look(ctx, action)
		seen := registerOf(action, states)
		doubt := r.doubts.beyond(id, seen)
		known = where != "" && doubt == 0
		if err != nil || known && !changes(action, states) {
			r.turns.release(id)
			return Recorded{Known: true, Durability: where}, err
		}
		action.Version = max(storage.Micros(r.opts.Now()), seen.Version()+1, doubt+1)
	}
	durability, err := r.batcher.do(ctx, action)
	if err != nil {
		return Recorded{}, err
	}
	return Recorded{Known: known, Changed: true, Durability: durability}, nil
}

// settle learns what became of an action: it is confirmed, was not sent or
// never will be persisted, or its fate is unknown. Then it is the next one's
// turn.
func (r *Recorder) settle(a *storage.Action, err error) {
	if a.Kind == storage.KindRead {
		return
	}
	id := idOf(*a)
	switch {
	case err == nil:
		r.doubts.beyond(id, saidBy(a))
	case errors.Is(err, errNotSent), errors.Is(err, ErrRejected):
	default:
		r.doubts.add(id, saidBy(a))
	}
	r.turns.release(id)
}

// look returns the state of one user on one subject. What is unavailable is
// unknown, which does not keep an action from the queue.
func (r *Recorder) look(ctx context.Context, a storage.Action) (storage.States, storage.Durability, error) {
	key := storage.StateKey{User: a.User, Subject: a.Subject}
	states, known, err := r.mirror.Look(ctx, []storage.StateKey{key}, storage.KindsOf(a.Kind))
	switch {
	case err == nil:
		return states[0], known, nil
	case ctx.Err() != nil:
		return storage.States{}, "", storage.Ended(ctx, "look at the state before")
	case errors.Is(err, storage.ErrUnavailable):
		return storage.States{}, "", nil
	}
	return storage.States{}, "", fmt.Errorf("look at the state before: %w", err)
}

// changes reports whether the action makes the states anything else.
func changes(a storage.Action, s storage.States) bool {
	switch {
	case a.If != storage.NoReaction:
		return reactionOf(s) == a.If
	case a.Kind == storage.KindReaction:
		return reactionOf(s) != a.Reaction
	}
	folder := ""
	if s.Collected != nil {
		folder = s.Collected.FolderID
	}
	return folder != a.FolderID
}

func reactionOf(s storage.States) storage.Reaction {
	if s.Liked == nil {
		return storage.NoReaction
	}
	return s.Liked.Reaction
}

// registerOf returns what is known of the state that an action is on. Of a
// collection the version is enough.
func registerOf(a storage.Action, s storage.States) storage.Register {
	if a.Kind == storage.KindReaction {
		return s.Reaction
	}
	return storage.Register{Set: s.CollectionVersion}
}

// saidBy is registerOf where nothing but the action is known.
func saidBy(a *storage.Action) storage.Register {
	if a.Kind == storage.KindReaction {
		return storage.RegisterOf(a)
	}
	return storage.Register{Set: a.Version}
}
