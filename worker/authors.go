package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/google/uuid"

	"ovation/internal/breaker"
	"ovation/storage"
)

// Authors declares the authors of subjects, and is safe for concurrent use. Declarations
// are written directly to the database.
type Authors struct {
	persister storage.Persister
	breaker   *breaker.Breaker
	calls     inFlight
}

// NewAuthors returns an Authors that writes through the given persister, which must
// update the mirror itself. The logger, slog.Default() if nil, logs when the breaker
// opens and when it closes. Call Close when the Authors is no longer needed.
func NewAuthors(persister storage.Persister, logger *slog.Logger) *Authors {
	options := FallbackOptions{Logger: cmp.Or(logger, slog.Default())}
	return &Authors{persister: persister, breaker: options.breaker("authors", groupTimeout, 0)}
}

// Declare persists actions of storage.KindAuthor, all of them or none. It returns the
// counts of the subjects whose authors have changed, as of its transaction. Errors:
// storage.ErrInvalid; *storage.DeletedError; storage.ErrUnavailable, in which case the actions may or may not be
// persisted and the call may be repeated; ErrClosed; context.Canceled.
func (a *Authors) Declare(ctx context.Context, declared []storage.Action) ([]storage.SubjectCounts, error) {
	if len(declared) == 0 {
		return nil, nil
	}
	done, err := a.calls.begin()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", declareAuthors, err)
	}
	defer done()
	messages := []storage.Message{{ID: uuid.Must(uuid.NewV7()).String(), Actions: declared, RefuseDeleted: true}}
	outcome, err := callWithBreaker(ctx, a.breaker, &a.calls.running, func(ctx context.Context) (storage.Outcome, error) {
		out, err := a.persister.Persist(ctx, messages, nil)
		if errors.Is(err, storage.ErrUnavailable) && ctx.Err() == nil { // a single stall of the mirror makes a try fail
			out, err = a.persister.Persist(ctx, messages, nil)
		}
		return out, err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", declareAuthors, err)
	}
	return outcome.Counts, nil
}

const declareAuthors = "declare authors"

// Close rejects new declarations with ErrClosed and waits until every accepted
// declaration is finished. It returns an error if the context ends first. It may be
// called twice.
func (a *Authors) Close(ctx context.Context) error { return a.calls.close(ctx, declareAuthors) }
