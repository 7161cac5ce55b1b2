// Package load sends HTTP requests at a server and measures how long each
// takes: as many as the server answers (Closed), or at times that do not depend
// on it (Open). A Watch is a subscription over a WebSocket, of which a process
// can have many.
//
// It is made to cost little, since it shares its machine with what it
// measures: a connection is a socket and a buffer, requests are bytes that were
// made before, and a reply is read without a copy.
//
// # Invariants
//
//   - Open measures from when a request was due, not from when it was sent:
//     what waits because the server stands still is counted (no coordinated
//     omission): TestOpenCountsWaitingFromWhenARequestWasDue.
//   - Open sends as many as the rate says: TestOpenKeepsTheRate.
//   - Each connection is one client's, whose Next and Done take turns:
//     TestEachClientTakesTurns.
//   - A reply that is wrong and a connection that fails are counted and told:
//     TestFaultsAreCounted.
//   - A Watch hears every response, answers pings, and tells how it ended:
//     TestAWatchHearsResponses, TestAWatchThatIsRefused.
//   - Nothing outlives a call: every test checks for leaks.
//
// It imports the standard library, a histogram, and nothing of this module.
package load
