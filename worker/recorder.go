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

// RecorderOptions configure a Recorder. The zero value is a good choice.
type RecorderOptions struct {
	// MaxBatch is the maximum number of actions in a message; 1,000 if 0.
	MaxBatch int
	// MaxInFlight is the maximum number of unconfirmed messages per partition; 1 if 0.
	// Actions that arrive in the meantime share the next message.
	MaxInFlight int
	// Linger is the maximum time for which a partition that has actions to send waits
	// while messages of other partitions are unconfirmed. Actions that arrive in the
	// meantime share its message. Longer waits make fewer and larger messages, which cost
	// the queue less. If 0, partitions do not wait.
	Linger time.Duration
	// MaxBacklog is the maximum number of actions that are accepted and not yet answered;
	// 10,000 if 0. Further calls wait. Anonymous users have a separate backlog of a fifth
	// of this size; when it is full, their actions fail with ErrBusy.
	MaxBacklog int
	// PublishTimeout is the maximum time for publishing a message and, separately, for
	// the call to Mirror.Apply that follows; 10 s if 0.
	PublishTimeout time.Duration
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Logger logs failures that are not returned to a caller; slog.Default() if nil.
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
	o.Metrics = cmp.Or(o.Metrics, noMetrics)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Recorder makes users' actions durable. It is safe for concurrent use.
type Recorder struct {
	mirror     Mirror
	batcher    *batcher
	stateLocks *keyedMutex
	inDoubt    *inDoubt
	opts       RecorderOptions
}

// Recorded is the result of Record.
type Recorded struct {
	// Known is false if the previous state was unknown (see Mirror.Get). The action was
	// then published, and Changed has no meaning.
	Known bool
	// Changed is false if the action would not have changed the state, so that nothing
	// was published.
	Changed bool
	// Durability is where the action is stored or, if nothing changed, where the previous
	// action on the state is stored.
	Durability storage.Durability
}

// NewRecorder returns a Recorder that publishes actions and, once they are confirmed,
// applies them to the mirror. Close it to send the backlog.
func NewRecorder(publisher Publisher, mirror Mirror, opts RecorderOptions) *Recorder {
	opts = opts.withDefaults()
	r := &Recorder{mirror: mirror, stateLocks: newKeyedMutex(), inDoubt: newInDoubt(), opts: opts}
	r.batcher = newBatcher(publisher, mirror, r.finish, opts)
	return r
}

// Record returns when the action is durable and visible, or is known to change nothing.
// It sets the action's Version. For storage.KindRead, it also sets First and raises Times
// to at least 1.
//
// Actions on one state (a user, a subject and a kind other than storage.KindRead) are
// serialised in the order of arrival: each action starts from the result of the previous
// one. If the context ends first, Record returns immediately, but an action that was
// accepted is still published and applied.
//
// If seen is not nil, Record sets it to the subject as the user then sees it, or to the
// zero value if that would take another read.
//
// An action that would set a state on a deleted subject has no effect. If the deletion is
// known without another round trip, the error is storage.ErrNotFound.
//
// Errors: storage.ErrInvalid; storage.ErrNotFound as above; storage.ErrUnavailable, also when the context's deadline
// passes, in which case the action may or may not become durable later; ErrRejected;
// ErrBusy, for anonymous users, in which case nothing was published; ErrClosed after
// Close; context.Canceled.
func (r *Recorder) Record(ctx context.Context, action storage.Action, seen *storage.Interactive) (Recorded, error) {
	recorded, err := r.record(ctx, action, seen)
	r.opts.Metrics.action(action.Kind, recorded, err)
	return recorded, err
}

// Close rejects new actions with ErrClosed, and publishes and applies every accepted
// action. It returns when that is done, or returns an error if the context ends first. It
// may be called twice.
func (r *Recorder) Close(ctx context.Context) error { return r.batcher.close(ctx) }

func (r *Recorder) record(ctx context.Context, action storage.Action, seen *storage.Interactive) (Recorded, error) {
	action.Version = storage.Micros(r.opts.Now())
	if action.Kind.AddsUp() {
		action.First, action.Times = action.Version, max(action.Times, 1)
	}
	if err := action.Validate(); err != nil {
		return Recorded{}, err
	}
	known := true
	if !action.Kind.AddsUp() {
		id := idOf(action)
		if err := r.stateLocks.lock(ctx, id); err != nil {
			return Recorded{}, err
		}
		states, where, err := r.readState(ctx, action)
		before := registerOf(action, states)
		doubt := r.inDoubt.resolve(id, before)
		known = where != "" && doubt == 0
		if err == nil && states.Deleted && action.Sets() {
			err = errDeleted
		}
		if err != nil || known && !changes(action, states) {
			r.stateLocks.unlock(id)
			return Recorded{Known: true, Durability: where}, err
		}
		action.Version = max(storage.Micros(r.opts.Now()), before.Version()+1, doubt+1)
	}
	durability, err := r.batcher.submit(ctx, action, seen)
	if err == nil && seen != nil && seen.Deleted && action.Sets() {
		err = errDeleted // the database will clear the state
	}
	if err != nil {
		return Recorded{}, err
	}
	return Recorded{Known: known, Changed: true, Durability: durability}, nil
}

// errDeleted is the error for an action that would set a state on a deleted subject.
var errDeleted = fmt.Errorf("%w: the subject is deleted", storage.ErrNotFound)

// finish records the outcome of an action (confirmed; not sent or rejected; or unknown)
// and releases the lock of its state.
func (r *Recorder) finish(a *storage.Action, err error) {
	if a.Kind.AddsUp() {
		return
	}
	id := idOf(*a)
	switch {
	case err == nil:
		r.inDoubt.resolve(id, actionRegister(a))
	case errors.Is(err, errNotSent), errors.Is(err, ErrRejected):
	default:
		r.inDoubt.add(id, actionRegister(a))
	}
	r.stateLocks.unlock(id)
}

// readState returns the states that the action may change, and where they are stored. If
// the mirror is unavailable, the states are unknown, and the action is published anyway.
func (r *Recorder) readState(ctx context.Context, a storage.Action) (storage.States, storage.Durability, error) {
	key := storage.StateKey{User: a.User, Subject: a.Subject}
	states, known, err := r.mirror.Get(ctx, []storage.StateKey{key}, storage.KindsOf(a.Kind))
	switch {
	case err == nil:
		return states[0], known, nil
	case ctx.Err() != nil:
		return storage.States{}, "", storage.Ended(ctx, "read the previous state")
	case errors.Is(err, storage.ErrUnavailable):
		return storage.States{}, "", nil
	}
	return storage.States{}, "", fmt.Errorf("read the previous state: %w", err)
}

// changes reports whether the action would change the states.
func changes(a storage.Action, s storage.States) bool {
	switch {
	case a.If != storage.NoReaction:
		return s.CurrentReaction() == a.If
	case a.Kind == storage.KindReaction:
		return s.CurrentReaction() != a.Reaction
	case a.Kind == storage.KindFollow:
		return (s.Followed != nil) != a.Following
	}
	folder := ""
	if s.Collected != nil {
		folder = s.Collected.FolderID
	}
	return folder != a.FolderID
}

// registerOf returns the known register of the state that an action changes. For a
// collection or a follow, only the version is set.
func registerOf(a storage.Action, s storage.States) storage.Register {
	switch a.Kind {
	case storage.KindReaction:
		return s.Reaction
	case storage.KindFollow:
		return storage.Register{Set: s.FollowVersion}
	default:
		return storage.Register{Set: s.CollectionVersion}
	}
}

// actionRegister returns the register that results from the action alone.
func actionRegister(a *storage.Action) storage.Register {
	if a.Kind == storage.KindReaction {
		return storage.RegisterOf(a)
	}
	return storage.Register{Set: a.Version}
}
