// Package transport is GraphQL over HTTP: what stands between a connection
// and the executor. HTTP is the transport for POST and GET; Handler goes
// around the whole GraphQL server and answers for cross-origin requests, the
// viewer, the request log and the metrics.
//
// # Invariants
//
//   - Every answer is a GraphQL response, whatever was sent: errors without
//     data where nothing was executed, each with one of the codes below.
//     TestRequestsThatAreRefused.
//   - Nothing of a request is executed that a web page of another origin can
//     send unasked, but queries: no form, no text body, no mutation by GET.
//     TestRequestsThatAreRefused.
//   - Bounded: a body of MaxBodyBytes, JSON of maxJSONDepth levels, metrics
//     of maxOperations operation names. TestRequestsThatAreRefused,
//     TestOperationNamesAreBounded.
//   - A panic shows the client an id and the log its stack:
//     TestAPanicShowsNothingButAnID.
//
// This package knows resolvers/viewer and storage's words.
package transport

// The codes in extensions.code that requests can meet before they are
// executed.
const (
	codeUnauthenticated = "UNAUTHENTICATED"
	codeBadUserInput    = "BAD_USER_INPUT"
	codeUnavailable     = "UNAVAILABLE"
	codeLimitExceeded   = "LIMIT_EXCEEDED"
	codeRateLimited     = "RATE_LIMITED"
	codeInternal        = "INTERNAL"
)

// codeOK stands in the log and the metrics for an answer without errors.
const codeOK = "OK"
