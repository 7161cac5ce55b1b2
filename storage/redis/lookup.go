package redis

import (
	"context"
	"errors"
	"fmt"

	"ovation/storage"
)

// lookup is the context of one call that looks several things up. It remembers
// that the database has failed, so that the call does not wait for it again.
type lookup struct {
	context.Context //nolint:containedctx // it is one

	failed bool
}

var errFailedBefore = fmt.Errorf("%w: it has failed within this call", storage.ErrUnavailable)

func newLookup(ctx context.Context) context.Context { return &lookup{Context: ctx} }

type lookupKey struct{}

// Value implements context.Context.
func (l *lookup) Value(key any) any {
	if key == (lookupKey{}) {
		return l
	}
	return l.Context.Value(key)
}

// failedIn reports whether the database has failed within the call of the
// context. It is false where that is not remembered.
func failedIn(ctx context.Context) bool {
	l, _ := ctx.Value(lookupKey{}).(*lookup)
	return l != nil && l.failed
}

// noteIn remembers that the database has failed, if that is what err says.
func noteIn(ctx context.Context, err error) {
	if l, _ := ctx.Value(lookupKey{}).(*lookup); l != nil && errors.Is(err, storage.ErrUnavailable) {
		l.failed = true
	}
}

// ask looks something up by key in the database behind, unless that has failed
// within the same call.
func ask[T any](ctx context.Context, s *Store, what string, f func(context.Context) (T, error)) (out T, err error) {
	if failedIn(ctx) {
		return out, fmt.Errorf("%s: %w", what, errFailedBefore)
	}
	out, err = askAs(ctx, s.reads, what, f)
	noteIn(ctx, err)
	return out, err
}
