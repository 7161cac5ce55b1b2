package worker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"ovation/storage"
)

// DirectWriter commits actions in the database while their clients wait, and then tells
// all nodes.
type DirectWriter interface {
	storage.Committer
	// Tell makes a committed outcome visible to all readers. It may be called late, or
	// again. Errors: storage.ErrUnavailable if some readers may not see the outcome; the
	// context's error.
	Tell(ctx context.Context, outcome storage.Outcome) error
}

// directLane commits actions in groups: one transaction is in progress at a time, and
// actions that arrive in the meantime share the next one. An action is answered when it
// is committed and told.
type directLane struct {
	writer DirectWriter
	group  *groupCommit[storage.Action, directResult]
	now    func() time.Time
	last   atomic.Int64 // version of the latest action
}

// directResult is the result of one action.
type directResult struct {
	changed bool
	// overtaken means that the state includes an action of a higher version from another
	// transaction, so that this action may have had no effect, or not the effect that it
	// would have had as the latest one.
	overtaken bool
	state     *storage.StateChange // the state of the action's user on its subject
	counts    *storage.Counts      // of the subject; nil if the transaction has not changed them
	outcome   *storage.Outcome     // of the transaction
}

func newDirectLane(writer DirectWriter, opts RecorderOptions) *directLane {
	l := &directLane{writer: writer, now: opts.Now}
	l.group = &groupCommit[storage.Action, directResult]{
		name: "commit action", commit: l.commit, publish: l.tell,
		lockKey: func(a storage.Action) any { return storage.StateKey{User: a.User, Subject: a.Subject} },
		breaker: FallbackOptions{Logger: opts.Logger}.breaker("direct commits", groupTimeout, 0),
		timeout: groupTimeout,
		sizes:   func(n int) { opts.Metrics.groupSizes.WithLabelValues("actions").Observe(float64(n)) },
	}
	return l
}

// takes reports whether the lane commits actions of the kind.
func (l *directLane) takes(kind storage.Kind) bool { return l != nil && kind == storage.KindReaction }

// record commits a valid action, and sets seen, unless it is nil, to the subject with the
// action's state as the user sees it. It leaves seen unchanged if the counts have not
// changed. Errors: as documented for Recorder.Record; after storage.ErrUnavailable, the
// action may or may not be committed.
func (l *directLane) record(ctx context.Context, action storage.Action, seen *storage.Interactive) (Recorded, error) {
	action.Version = l.nextVersion(0)
	result, err := l.group.do(ctx, action)
	if err == nil && result.overtaken && result.state.Version-action.Version < maxClockError.Microseconds() {
		first := result
		action.Version = l.nextVersion(first.state.Version)
		if result, err = l.group.do(ctx, action); err == nil && first.changed {
			result.changed = first.state.OldReaction != result.state.Reaction
		}
	}
	switch {
	case err == nil:
	case errors.Is(err, storage.ErrUnavailable), errors.Is(err, ErrClosed), ctx.Err() != nil:
		return Recorded{}, err
	default:
		return Recorded{}, fmt.Errorf("%w: %w", ErrRejected, err)
	}
	if seen != nil && result.counts != nil {
		*seen = storage.Interactive{Subject: action.Subject, Counts: *result.counts, Freshness: storage.Live}
		seen.Liked = result.state.Register.Liked(storage.StateKey{User: action.User, Subject: action.Subject})
	}
	return Recorded{Known: true, Changed: result.changed, Durability: storage.Persisted}, nil
}

// maxClockError bounds the difference between the clocks of two nodes, which both follow
// the database's clock. If an action is overtaken by no more than this, the other action
// may have been answered before this one began. The action is then committed again, as
// the later one. Otherwise, this action has waited, and the other one was made later.
const maxClockError = 250 * time.Millisecond

// nextVersion returns the present time, or the successor of the later one of the lane's
// last version and the given version.
func (l *directLane) nextVersion(above int64) int64 {
	for {
		last := l.last.Load()
		next := max(storage.Micros(l.now()), last+1, above+1)
		if l.last.CompareAndSwap(last, next) {
			return next
		}
	}
}

// commit commits the actions in one transaction.
func (l *directLane) commit(ctx context.Context, actions []storage.Action) ([]directResult, error) {
	outcome, err := l.writer.CommitActions(ctx, actions)
	if err != nil {
		return nil, err
	}
	return directResults(actions, &outcome)
}

// tell makes the outcome of one transaction visible.
func (l *directLane) tell(results []directResult) error {
	if err := l.writer.Tell(context.Background(), *results[0].outcome); err != nil {
		return fmt.Errorf("the actions are committed, but not visible everywhere: %w", err)
	}
	return nil
}

// close rejects new actions, and waits until all accepted actions are answered.
func (l *directLane) close(ctx context.Context) error {
	if l == nil {
		return nil
	}
	return l.group.close(ctx, l.group.name)
}
