package resolvers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/uuid"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"ovation/outage"
	"ovation/resolvers/rate"
	"ovation/storage"
	"ovation/worker"
)

// The codes in extensions.code. There are no others.
const (
	codeUnauthenticated = "UNAUTHENTICATED"
	codeNotFound        = "NOT_FOUND"
	codeBadUserInput    = "BAD_USER_INPUT"
	codeUnavailable     = "UNAVAILABLE"
	codeRateLimited     = "RATE_LIMITED"
	codeLimitExceeded   = "LIMIT_EXCEEDED"
	codeInternal        = "INTERNAL"
)

// problem is an error whose message is written for the client.
type problem struct {
	code    string
	message string
}

func (p *problem) Error() string { return p.message }

func badInput(format string, args ...any) error {
	return &problem{codeBadUserInput, fmt.Sprintf(format, args...)}
}

func notFound(what string) error {
	return &problem{codeNotFound, what + " is not known, or not visible to you"}
}

var errUnauthenticated = &problem{
	codeUnauthenticated,
	"this needs a viewer: send a token as `Authorization: Bearer …`",
}

// at puts the place of a value before an error about it, for example
// "subjects[3].". Errors about anything but a value stay as they are.
func at(place string, err error) error {
	if invalid, ok := errors.AsType[*storage.InvalidError](err); ok {
		return &storage.InvalidError{Field: place + invalid.Field, Reason: invalid.Reason}
	}
	return err
}

// codeOf tells what a client is told of an error, and whether its own message
// is fit for that; if not, the message returned is.
func codeOf(err error) (code, message string) {
	if p, ok := errors.AsType[*problem](err); ok {
		return p.code, p.message
	}
	switch {
	case errors.Is(err, storage.ErrInvalid):
		if invalid, ok := errors.AsType[*storage.InvalidError](err); ok {
			return codeBadUserInput, invalid.Error()
		}
		return codeBadUserInput, "a value is out of bounds"
	case errors.Is(err, storage.ErrNotFound):
		return codeNotFound, "this is not known, or not visible to you"
	case errors.Is(err, storage.ErrNameTaken):
		return codeBadUserInput, "input.name is taken: it is that of another of your folders (the default folder is one, even before it holds anything)"
	case errors.Is(err, storage.ErrDefaultFolder):
		return codeBadUserInput, "the default folder cannot be deleted; it can be renamed"
	case errors.Is(err, storage.ErrTooManyFolders):
		return codeLimitExceeded, fmt.Sprintf("you have %d folders, which is the most", storage.MaxFolders)
	case errors.Is(err, storage.ErrFolderNotEmpty):
		return codeUnavailable, "the folder is being filled while it is deleted; try again"
	case errors.Is(err, worker.ErrBusy):
		return codeRateLimited, "many anonymous visitors read at the moment, and this was not recorded; try again"
	case errors.Is(err, storage.ErrUnavailable), errors.Is(err, worker.ErrClosed),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return codeUnavailable, "the service cannot do this at the moment, or cannot tell whether it is done; try again"
	}
	return codeInternal, ""
}

// presenter makes the client's view of an error. What is not the client's
// fault is logged, here and nowhere else: each internal error, for its id, and
// what is unavailable as an outage.
func presenter(log *slog.Logger, unavailable *outage.Log) graphql.ErrorPresenterFunc {
	return func(ctx context.Context, err error) *gqlerror.Error {
		presented := graphql.DefaultErrorPresenter(ctx, err)
		if presented.Extensions["code"] != nil {
			return presented // made by the layers below, with its code
		}
		cause := presented.Unwrap()
		if cause == nil {
			cause = err
		}
		code, message := codeOf(cause)
		presented.Message = message
		switch code {
		case codeInternal:
			id := uuid.NewString()
			presented.Message = "something went wrong on our side; the log has it under " + id
			log.ErrorContext(ctx, "internal error", "id", id, "path", presented.Path.String(), "error", cause)
		case codeUnavailable:
			unavailable.Failed("path", presented.Path.String(), "error", cause)
		}
		// A new map: the error may be shared by the fields of a batch.
		presented.Extensions = map[string]any{"code": code}
		if code == codeRateLimited {
			presented.Extensions = rate.Extensions(time.Second)
		}
		return presented
	}
}

// panicError is a panic in a resolver.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

// recovered turns a panic in a resolver into an error, which is then INTERNAL.
func recovered(_ context.Context, value any) error {
	if before, again := value.(*panicError); again {
		return before
	}
	return &panicError{value, debug.Stack()}
}
