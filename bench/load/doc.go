// Package load sends HTTP requests to a server and measures their latency. Requests are
// sent either as fast as the server answers (Closed), or at times that are independent of
// the server (Open). A Subscription is one GraphQL subscription over a WebSocket.
//
// A load shares its machine with the measured server, and therefore uses little CPU time
// and memory. A connection is a socket and a buffer, requests are prepared in advance as
// bytes, and replies are read without copying.
//
// # Invariants
//
//   - Open measures latency from the time at which a request was due, not from the time
//     at which it was sent. Time spent waiting for a stalled server is therefore included
//     (no coordinated omission): TestOpenMeasuresFromTheDueTime.
//   - Open sends at the given rate: TestOpenKeepsTheRate.
//   - Each connection belongs to one client. A client's methods Next and Done are called
//     alternately: TestRequestsOfAClientAlternateWithReplies.
//   - Wrong replies and failed connections are counted and reported:
//     TestFaultsAreCounted.
//   - A Subscription receives every response, answers pings, and reports the reason for
//     its end: TestSubscriptionReceivesResponses, TestRefusedSubscriptionsAreErrors.
//   - No goroutine or connection outlives a call: every test checks for leaks.
//
// This package imports the standard library and hdrhistogram, and no other package of
// this module.
package load
