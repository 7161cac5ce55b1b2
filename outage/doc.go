// Package outage summarises repeated failures in the log. Of an outage, it logs the first
// failure, then the number of failures from time to time, and the end.
//
// # Invariants
//
//   - The first failure is logged at once. Later failures are logged at most every ten
//     seconds, with their number since the previous line and the latest error:
//     TestFirstFailureIsLoggedAndThenCounts.
//   - The end is logged once, with the number of all failures, when a call succeeds and
//     no call has failed for five seconds. Alternating failures and successes are one
//     outage: TestEndIsLoggedOnce, TestFlappingIsOneOutage.
//
// This package imports the standard library only.
package outage
