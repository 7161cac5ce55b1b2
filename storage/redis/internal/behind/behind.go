// Package behind reads the database behind the mirror. A call of the mirror that
// needs several things of a database that fails waits for it once:
// TestACallWaitsOnceForADatabaseThatHangs of package redis.
package behind

import (
	"context"
	"errors"
	"fmt"

	"ovation/storage"
	"ovation/storage/mirror"
)

// lookup is the context of one call that looks several things up. It remembers
// that the database has failed, so that the call does not wait for it again.
type lookup struct {
	context.Context //nolint:containedctx // it is one

	failed bool
}

var errFailedBefore = fmt.Errorf("%w: it has failed within this call", storage.ErrUnavailable)

// NewLookup returns the context of one call, in which a failure of the database is
// remembered.
func NewLookup(ctx context.Context) context.Context { return &lookup{Context: ctx} }

type lookupKey struct{}

// Value implements context.Context.
func (l *lookup) Value(key any) any {
	if key == (lookupKey{}) {
		return l
	}
	return l.Context.Value(key)
}

// FailedIn reports whether the database has failed within the call of the
// context. It is false where that is not remembered.
func FailedIn(ctx context.Context) bool {
	l, _ := ctx.Value(lookupKey{}).(*lookup)
	return l != nil && l.failed
}

// NoteIn remembers that the database has failed, if that is what err says.
func NoteIn(ctx context.Context, err error) {
	if l, _ := ctx.Value(lookupKey{}).(*lookup); l != nil && errors.Is(err, storage.ErrUnavailable) {
		l.failed = true
	}
}

// Source reads the database behind by key: as its class allows, and not again
// within a call in which it has failed.
type Source struct {
	DB mirror.Database
	Do func(ctx context.Context, what string, f func(context.Context) error) error // of its class
}

// Interactives reads counts and states as of one moment.
func (s Source) Interactives(
	ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds,
) ([]storage.Interactive, error) {
	return ask(ctx, s.Do, "read interactives", func(ctx context.Context) ([]storage.Interactive, error) {
		return s.DB.Interactives(ctx, viewer, subjects, kinds)
	})
}

// States reads states.
func (s Source) States(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, error) {
	return ask(ctx, s.Do, "read states", func(ctx context.Context) ([]storage.States, error) {
		return s.DB.States(ctx, keys, kinds)
	})
}

// Windows reads windows of at most limit states each.
func (s Source) Windows(ctx context.Context, keys []mirror.WindowKey, limit int) ([]mirror.Window, error) {
	return ask(ctx, s.Do, "read windows", func(ctx context.Context) ([]mirror.Window, error) {
		return s.DB.Windows(ctx, keys, limit)
	})
}

func ask[T any](
	ctx context.Context, do func(context.Context, string, func(context.Context) error) error, what string, f func(context.Context) (T, error),
) (out T, err error) {
	if FailedIn(ctx) {
		return out, fmt.Errorf("%s: %w", what, errFailedBefore)
	}
	err = do(ctx, what, func(ctx context.Context) (err error) {
		out, err = f(ctx)
		return err
	})
	NoteIn(ctx, err)
	return out, err
}
