// Package database calls the database behind the mirror, within the limits of package
// dependency. A call that needs several results from a failing database waits for the
// database only once: TestACallWaitsOnceForADatabaseThatHangs of package redis.
package database

import (
	"context"
	"errors"
	"fmt"

	"ovation/storage"
	"ovation/storage/mirror"
)

// failFast is the context of one call. It records that the database has failed, so that
// the call does not wait for the database again.
type failFast struct {
	context.Context //nolint:containedctx // it implements one

	failed bool
}

var errFailedBefore = fmt.Errorf("%w: it has failed earlier in this call", storage.ErrUnavailable)

// WithFailFast returns a context for one call. The context records whether the database
// has failed.
func WithFailFast(ctx context.Context) context.Context { return &failFast{Context: ctx} }

type failFastKey struct{}

// Value implements context.Context.
func (l *failFast) Value(key any) any {
	if key == (failFastKey{}) {
		return l
	}
	return l.Context.Value(key)
}

// Failed reports whether the database has failed during the call that ctx belongs to. It
// returns false for a context that is not derived from a result of WithFailFast.
func Failed(ctx context.Context) bool {
	l, _ := ctx.Value(failFastKey{}).(*failFast)
	return l != nil && l.failed
}

// NoteFailure records in ctx that the database has failed, if err is
// storage.ErrUnavailable.
func NoteFailure(ctx context.Context, err error) {
	if l, _ := ctx.Value(failFastKey{}).(*failFast); l != nil && errors.Is(err, storage.ErrUnavailable) {
		l.failed = true
	}
}

// Source reads the database by key, within the limits of a class. Once the database has
// failed during a call to the store, Source does not read it again in that call.
type Source struct {
	DB mirror.Database
	Do func(ctx context.Context, what string, f func(context.Context) error) error // the method Do of a dependency.Class
}

// Interactives reads counts and states in one snapshot.
func (s Source) Interactives(
	ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds,
) ([]storage.Interactive, error) {
	return fetch(ctx, s.Do, "read interactives", func(ctx context.Context) ([]storage.Interactive, error) {
		return s.DB.Interactives(ctx, viewer, subjects, kinds)
	})
}

// States reads states.
func (s Source) States(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, error) {
	return fetch(ctx, s.Do, "read states", func(ctx context.Context) ([]storage.States, error) {
		return s.DB.States(ctx, keys, kinds)
	})
}

// Windows reads windows. A window with more than limit states is returned without its
// states.
func (s Source) Windows(ctx context.Context, keys []mirror.WindowKey, limit int) ([]mirror.Window, error) {
	return fetch(ctx, s.Do, "read windows", func(ctx context.Context) ([]mirror.Window, error) {
		return s.DB.Windows(ctx, keys, limit)
	})
}

func fetch[T any](
	ctx context.Context, do func(context.Context, string, func(context.Context) error) error, what string, f func(context.Context) (T, error),
) (out T, err error) {
	if Failed(ctx) {
		return out, fmt.Errorf("%s: %w", what, errFailedBefore)
	}
	err = do(ctx, what, func(ctx context.Context) (err error) {
		out, err = f(ctx)
		return err
	})
	NoteFailure(ctx, err)
	return out, err
}
