package douyin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"ovation/accounts"
	"ovation/api/codes"
	"ovation/api/rate"
	"ovation/api/viewer"
	"ovation/media"
	"ovation/storage"
	"ovation/worker"
)

// problem is an error whose message is written for the client.
type problem struct{ code, message string }

func (p *problem) Error() string { return p.message }

var (
	errNoEndpoint  = &problem{codes.NotFound, "there is no such endpoint"}
	errNoTokens    = &problem{codes.Unauthenticated, "no token is accepted here"}
	errNotLoggedIn = &problem{codes.Unauthenticated, "token is missing: log in first"}
	errAccountsOff = &problem{codes.NotFound, "this site has no accounts of its own: --accounts (OVATION_ACCOUNTS) turns them on"}
	errVideosOff   = &problem{codes.NotFound, "this site has no videos of its own: --videos (OVATION_VIDEOS) turns them on"}
)

func notFound(parameter string) error {
	return &problem{codes.NotFound, parameter + " was not found"}
}

func limited(wait time.Duration) error {
	return &problem{codes.RateLimited, rate.Error(wait).Message}
}

// named puts the name of a parameter into an error about that parameter's value. It
// returns other errors unchanged, including those about the request id.
func named(parameter string, err error) error {
	if invalid, ok := errors.AsType[*storage.InvalidError](err); ok && invalid.Field != "requestId" {
		return &storage.InvalidError{Field: parameter, Reason: invalid.Reason}
	}
	return err
}

// parameters maps the field names in errors from other packages to the parameters of this
// API.
var parameters = map[string]string{"name": "username", "file": "data", "requestId": "request_id"}

// explain returns the code and message for an error. It logs errors that are not the
// client's fault; nothing else logs them.
func (a *api) explain(ctx context.Context, err error) (code, message string) {
	code, message = a.codeOf(err)
	switch code {
	case codes.Unavailable:
		a.outage.Failed("error", err)
	case codes.Internal:
		id := uuid.NewString()
		a.log.ErrorContext(ctx, "internal error", "id", id, "path", callOf(ctx).operation(), "error", err)
		message = "internal error; the server's log has it under " + id
	}
	return code, message
}

func (a *api) codeOf(err error) (code, message string) {
	if p, ok := errors.AsType[*problem](err); ok {
		return p.code, p.message
	}
	if invalid, ok := errors.AsType[*storage.InvalidError](err); ok {
		field := invalid.Field
		if name := parameters[field]; name != "" {
			field = name
		}
		return codes.BadUserInput, field + " " + invalid.Reason
	}
	if coded, ok := errors.AsType[*gqlerror.Error](err); ok {
		code, _ = coded.Extensions["code"].(string)
		return code, coded.Message
	}
	if refused, ok := errors.AsType[*viewer.Error](err); ok {
		return codes.Unauthenticated, refused.Error()
	}
	if tooMany, ok := errors.AsType[*accounts.LimitedError](err); ok {
		return codes.RateLimited, rate.Error(tooMany.Wait).Message
	}
	if tooMany, ok := errors.AsType[*media.LimitedError](err); ok {
		return codes.RateLimited, "too many videos published; " + rate.Error(tooMany.Wait).Message
	}
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return codes.NotFound, "this was not found"
	case errors.Is(err, storage.ErrAccountNameTaken):
		return codes.BadUserInput, "username is taken"
	case errors.Is(err, accounts.ErrWrongCredentials):
		return codes.Unauthenticated, "the username or the password is wrong"
	case errors.Is(err, accounts.ErrBusy), errors.Is(err, media.ErrBusy), errors.Is(err, worker.ErrBusy):
		return codes.RateLimited, "the server is busy at the moment; try again"
	case errors.Is(err, media.ErrTooLarge):
		return codes.LimitExceeded, fmt.Sprintf("the video is too large; at most %d MiB are allowed", a.Videos.MaxBytes>>20)
	case errors.Is(err, media.ErrSlow):
		return codes.LimitExceeded, "the upload is too slow"
	case errors.Is(err, storage.ErrUnavailable), errors.Is(err, worker.ErrClosed),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return codes.Unavailable, "the service is temporarily unavailable, and an action may or may not have been done; try again"
	}
	return codes.Internal, ""
}
