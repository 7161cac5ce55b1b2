// Package load sends HTTP requests to a server and measures how long each takes, either
// as fast as the server answers (Closed) or at times that do not depend on the server
// (Open). A Watch is a subscription over a WebSocket, of which a process can have many.
//
// It is made to cost little, since it shares its machine with what it measures: a
// connection is a socket and a buffer, requests are bytes prepared in advance, and a
// reply is read without copying it.
//
// # Invariants
//
//   - Open measures from when a request was due, not from when it was sent: time spent
//     waiting for a stalled server is included (no coordinated omission):
//     TestOpenCountsWaitingFromWhenARequestWasDue.
//   - Open sends at the given rate: TestOpenKeepsTheRate.
//   - Each connection belongs to one client, and calls of that client's Next and Done
//     alternate: TestEachClientTakesTurns.
//   - Wrong replies and failed connections are counted and reported:
//     TestFaultsAreCounted.
//   - A Watch receives every response, answers pings, and reports how it ended:
//     TestWatchReceivesResponses, TestAWatchThatIsRefused.
//   - Nothing outlives a call: every test checks for leaks.
//
// It imports the standard library, a histogram, and nothing of this module.
package load
