// Package load sends HTTP requests to a server and measures the latency of each, either
// as fast as the server answers (Closed) or at times that are independent of the server
// (Open). A Subscription is one GraphQL subscription over a WebSocket.
//
// A load uses little CPU time and memory, because it shares its machine with the measured
// server: a connection is a socket and a buffer, requests are prepared in advance as
// bytes, and replies are read without copying.
//
// # Invariants
//
//   - Open measures from the time at which a request was due, not from when it was sent,
//     so that time spent waiting for a stalled server is included (no coordinated
//     omission): TestOpenMeasuresFromTheDueTime.
//   - Open sends at the given rate: TestOpenKeepsTheRate.
//   - Each connection belongs to one client, and calls of that client's Next and Done
//     alternate: TestRequestsOfAClientAlternateWithReplies.
//   - Wrong replies and failed connections are counted and reported:
//     TestFaultsAreCounted.
//   - A Subscription receives every response, answers pings, and reports why it ended:
//     TestSubscriptionReceivesResponses, TestRefusedSubscriptionsAreErrors.
//   - No goroutine or connection outlives a call: every test checks for leaks.
//
// This package imports the standard library and hdrhistogram, and no other package of
// this module.
package load
