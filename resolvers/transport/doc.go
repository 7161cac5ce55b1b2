// Package transport is GraphQL over connections: what stands between them and
// the executor. HTTP is the transport for POST and GET, with one response or,
// as Server-Sent Events, with many; WebSocket is the one for graphql-transport-ws.
// Streams bound the connections that stay open and close them at the end.
// Handler goes around the whole GraphQL server and answers for cross-origin
// requests, the viewer, the log and the metrics.
//
// # Invariants
//
//   - Every answer is a GraphQL response, whatever was sent: errors without
//     data where nothing was executed, each with one of the codes below.
//     TestRequestsThatAreRefused, TestHandshakesThatAreRefused.
//   - Nothing of a request is executed that a web page of another origin can
//     send unasked, but queries: no form, no text body, no mutation by GET, no
//     WebSocket. TestRequestsThatAreRefused, TestHandshakesThatAreRefused.
//   - Bounded: a body of MaxBodyBytes, JSON of maxJSONDepth levels, metrics
//     of maxOperations operation names. TestRequestsThatAreRefused,
//     TestOperationNamesAreBounded.
//   - Streams are bounded, in all, for a user, and before they say whose they
//     are, and nobody is kept out by those who say nothing:
//     TestStreamsAreBounded, TestSocketsThatNeverInitialise. A share is reserved
//     for signed-in users, and anonymous ones of one address have a bound of
//     their own: TestAnonymousSocketsLeaveRoomForUsers, TestOneAddressTakesNoShare.
//   - Who sends what is no message, or nothing, or takes nothing, or whose
//     token expires, is closed with the protocol's code or cut off, and
//     disturbs nobody: TestCloseCodes, TestFramesThatAreNone,
//     TestHugeMessagesAreNotKept, TestAReaderThatStopsReading,
//     TestATokenThatExpiresEndsItsStreams, TestAKeyThatIsRemovedEndsItsStreams.
//     Messages may come in pieces: TestFramesInPieces.
//   - A subscriber costs little: a goroutine for each WebSocket, none for a
//     subscription with nothing to tell. TestSubscriptionsAtRestHaveNoGoroutine
//     in package resolvers, TestSubscribersAreCheap in cmd/ovation.
//   - When the server stops, every client is told, and what was under way is
//     answered: TestAServerThatStopsTellsAll.
//   - A panic shows the client an id and the log its stack:
//     TestAPanicShowsNothingButAnID, TestAPanicEndsOneOperation.
//
// This package knows resolvers/viewer, resolvers/rate, resolvers/persisted and storage's words.
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
