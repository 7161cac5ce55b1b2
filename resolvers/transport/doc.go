// Package transport serves GraphQL over connections, between net/http and the
// executor. HTTP is the transport for POST and GET, with a single response or, as
// Server-Sent Events, a stream of them; WebSocket is the transport for
// graphql-transport-ws. Streams bounds the open connections and closes them at
// shutdown. Handler wraps the GraphQL server and handles cross-origin requests,
// authentication, the log and the metrics.
//
// # Invariants
//
//   - Every response is a GraphQL response, regardless of what the client sent. If
//     nothing was executed, it has errors and no data. Each error has a code of
//     api/codes: TestRequestsThatAreRefused, TestHandshakesThatAreRefused.
//   - Requests that a web page of another origin can send without a preflight execute
//     only queries: no form, no text body, no mutation by GET, no WebSocket:
//     TestRequestsThatAreRefused, TestHandshakesThatAreRefused.
//   - In development, pages of this machine may call the API; they authenticate by
//     tokens, unless their origin is allowed by name. A rejected page receives the
//     reason, and no part of its request is executed: TestPagesInDevelopment,
//     TestSocketsOfPagesInDevelopment. The log names each rejected origin once:
//     TestRefusedOriginsAreLogged.
//   - A batch has the bounds of one request, and is refused as a whole if its operations
//     exceed them together, before one of them is executed: TestBatchesAreBoundedAsAWhole
//     in package resolvers.
//   - Bounded: bodies by MaxBodyBytes, the nesting of JSON by maxJSONDepth, and the
//     operation names in the metrics by maxOperations: TestRequestsThatAreRefused,
//     TestOperationNamesAreBounded.
//   - Streams are bounded in total, per user, and before authentication; clients that
//     never authenticate do not block others: TestStreamsAreBounded,
//     TestSocketsThatNeverInitialise. A share is reserved for signed-in users, and
//     anonymous users of one address have a separate bound:
//     TestAnonymousSocketsLeaveRoomForUsers, TestOneAddressTakesNoShare.
//   - A client that sends invalid messages or none at all, that stops reading, or whose
//     token expires is disconnected, if possible with a close code of the protocol,
//     without affecting other clients: TestCloseCodes, TestInvalidFramesAreRejected,
//     TestHugeMessagesAreNotKept, TestAReaderThatStopsReading,
//     TestATokenThatExpiresEndsItsStreams, TestAKeyThatIsRemovedEndsItsStreams. Messages
//     may be fragmented: TestFramesInPieces.
//   - A subscriber is cheap: a WebSocket takes one goroutine, and an idle subscription
//     none: TestSubscriptionsAtRestHaveNoGoroutine in package resolvers,
//     TestSubscribersAreCheap in cmd/ovation.
//   - At shutdown every client is notified, and requests in progress are answered:
//     TestStoppingServerClosesAllStreams.
//   - After a panic, the client receives an id, with which the stack trace can be found
//     in the log: TestAPanicShowsNothingButAnID, TestAPanicEndsOneOperation.
//
// This package imports api/codes, api/viewer, api/quota, api/rate,
// resolvers/rows, resolvers/persisted and storage.
package transport

// codeOK is the code that the log and the metrics show for a response without errors.
const codeOK = "OK"
