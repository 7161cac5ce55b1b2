// Package codes declares the error codes. A code appears as extensions.code in replies to
// GraphQL requests and to uploads (package media). In the log and the metrics, it appears
// as code. Requests to package douyin have a code there, too.
//
// This package imports no other package of this module.
package codes

import (
	"fmt"

	"github.com/vektah/gqlparser/v2/gqlerror"
)

// The codes that schema.graphqls and README list.
const (
	// Unauthenticated means that a token is missing, invalid or expired, or lacks a scope,
	// or that the name or the password of a login is wrong.
	Unauthenticated = "UNAUTHENTICATED"
	// NotFound means that something does not exist or is not visible to the viewer.
	NotFound = "NOT_FOUND"
	// BadUserInput means that the request is malformed, or that a value in it is invalid
	// or already taken.
	BadUserInput = "BAD_USER_INPUT"
	// RateLimited means that the client has exceeded a rate limit or another limit per
	// client, or that the server is busy. The same request can succeed later; in GraphQL,
	// after extensions.retryAfter seconds.
	RateLimited = "RATE_LIMITED"
	// Unavailable means that the server, or a service that it depends on, could not
	// execute the request at this time. A mutation may or may not have been applied; it
	// can be repeated.
	Unavailable = "UNAVAILABLE"
	// LimitExceeded means that the request is too large, too costly or too slow, or that
	// it would exceed what a user or a connection may have.
	LimitExceeded = "LIMIT_EXCEEDED"
	// UntrustedDocument means that the server executes trusted documents only, and that
	// the request has another one.
	UntrustedDocument = "UNTRUSTED_DOCUMENT"
	// Internal means that the request failed for a reason that is logged but not shown to
	// clients.
	Internal = "INTERNAL"
)

// PersistedQueryNotFound means that the hash in a request is unknown to the server. It is
// a step of Apollo's protocol: the client then repeats the request with the text.
const PersistedQueryNotFound = "PERSISTED_QUERY_NOT_FOUND"

// Errorf returns an error with a code and a message for the client.
func Errorf(code, format string, args ...any) *gqlerror.Error {
	return &gqlerror.Error{Message: fmt.Sprintf(format, args...), Extensions: map[string]any{"code": code}}
}
