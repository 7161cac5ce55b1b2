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

	"ovation/accounts"
	"ovation/api/codes"
	"ovation/api/rate"
	"ovation/internal/outage"
	"ovation/storage"
	"ovation/worker"
)

// problem is an error whose message is written for the client.
type problem struct {
	code    string
	message string
}

func (p *problem) Error() string { return p.message }

func badInput(format string, args ...any) error {
	return &problem{codes.BadUserInput, fmt.Sprintf(format, args...)}
}

func notFound(what string) error {
	return &problem{codes.NotFound, what + " was not found, or is not visible to you"}
}

var errUnauthenticated = &problem{
	codes.Unauthenticated,
	"this needs a signed-in user: send a token as `Authorization: Bearer …`",
}

func errNoScope(scope string) error {
	return &problem{codes.Unauthenticated, "this needs a token whose scope holds " + scope}
}

// nameTaken returns the error for a folder name that the owner already uses. Names are
// compared case-insensitively.
func nameTaken(name string) error {
	message := fmt.Sprintf("You already have a folder named %q", name)
	if storage.FolderNameKey(name) == storage.FolderNameKey(storage.DefaultFolderName) {
		message += ", the default folder, which is there even before it holds anything"
	}
	return &problem{codes.BadUserInput, message}
}

// atPath takes an error about a value, and prepends a path, such as "subjects[3].", to
// the field name in it. It returns other errors unchanged.
func atPath(place string, err error) error {
	if invalid, ok := errors.AsType[*storage.InvalidError](err); ok {
		return &storage.InvalidError{Field: place + invalid.Field, Reason: invalid.Reason}
	}
	return err
}

// inArgument takes an error about a value, and replaces the field name in it with the
// name of the GraphQL argument that holds the value. It returns other errors unchanged.
func inArgument(argument string, err error) error {
	if invalid, ok := errors.AsType[*storage.InvalidError](err); ok {
		return &storage.InvalidError{Field: argument, Reason: invalid.Reason}
	}
	return err
}

// codeOf returns the code for an error, and a message for the client. The message is the
// error's own if that is safe to expose.
func codeOf(err error) (code, message string) {
	if p, ok := errors.AsType[*problem](err); ok {
		return p.code, p.message
	}
	if limited, ok := errors.AsType[*accounts.LimitedError](err); ok {
		return codes.RateLimited, fmt.Sprintf("too many attempts; try again in %d s", rate.Extensions(limited.Wait)["retryAfter"])
	}
	switch {
	case errors.Is(err, storage.ErrInvalid):
		if invalid, ok := errors.AsType[*storage.InvalidError](err); ok {
			return codes.BadUserInput, invalid.Error()
		}
		return codes.BadUserInput, "a value is out of bounds"
	case errors.Is(err, storage.ErrNotFound):
		return codes.NotFound, "this was not found, or is not visible to you"
	case errors.Is(err, storage.ErrNameTaken):
		return codes.BadUserInput, "You already have a folder of that name"
	case errors.Is(err, storage.ErrAccountNameTaken):
		return codes.BadUserInput, "input.name is taken"
	case errors.Is(err, accounts.ErrWrongPassword):
		return codes.BadUserInput, "input.currentPassword is wrong"
	case errors.Is(err, accounts.ErrWrongCredentials):
		return codes.Unauthenticated, "the name or the password is wrong"
	case errors.Is(err, accounts.ErrSessionOver):
		return codes.Unauthenticated, "the session has ended: log in again"
	case errors.Is(err, accounts.ErrNoAccount):
		return codes.NotFound, "this token does not belong to an account of this site"
	case errors.Is(err, accounts.ErrBusy):
		return codes.RateLimited, "the server is busy with other logins; try again"
	case errors.Is(err, storage.ErrDefaultFolder):
		return codes.BadUserInput, "the default folder cannot be deleted; it can be renamed"
	case errors.Is(err, storage.ErrTooManyFolders):
		return codes.LimitExceeded, fmt.Sprintf("you have %d folders, the most a user may have; delete one first", storage.MaxFolders)
	case errors.Is(err, storage.ErrFolderNotEmpty):
		return codes.Unavailable, "items were added to the folder while it was being deleted; try again"
	case errors.Is(err, worker.ErrBusy):
		return codes.RateLimited, "there are too many anonymous reads at the moment, and this one was not recorded; try again"
	case errors.Is(err, storage.ErrUnavailable), errors.Is(err, worker.ErrClosed),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return codes.Unavailable, "the service is temporarily unavailable, and a mutation may or may not have been applied; try again"
	}
	return codes.Internal, ""
}

// presenter returns a function that converts an error for the client. The function logs
// errors that are not the client's fault; nothing else logs them. It logs each internal
// error with an id, and unavailability once per outage.
func presenter(log *slog.Logger, unavailable *outage.Log) graphql.ErrorPresenterFunc {
	return func(ctx context.Context, err error) *gqlerror.Error {
		presented := graphql.DefaultErrorPresenter(ctx, err)
		if presented.Extensions["code"] != nil {
			return presented // a lower layer has already presented the error, with its code
		}
		cause := presented.Unwrap()
		if cause == nil {
			cause = err
		}
		code, message := codeOf(cause)
		presented.Message = message
		switch code {
		case codes.Internal:
			id := uuid.NewString()
			presented.Message = "internal error; the server's log has it under " + id
			log.ErrorContext(ctx, "internal error", "id", id, "path", presented.Path.String(), "error", cause)
		case codes.Unavailable:
			unavailable.Failed("path", presented.Path.String(), "error", cause)
		}
		// Assign a new map, because the fields of a batch may share the error's map.
		presented.Extensions = map[string]any{"code": code}
		if code == codes.RateLimited {
			wait := time.Second
			if limited, ok := errors.AsType[*accounts.LimitedError](cause); ok {
				wait = limited.Wait
			}
			presented.Extensions = rate.Extensions(wait)
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

// recovered turns a panic in a resolver into an error, which clients receive as INTERNAL.
func recovered(_ context.Context, value any) error {
	if before, again := value.(*panicError); again {
		return before
	}
	return &panicError{value, debug.Stack()}
}
