// Package outage summarises repeated failures in the log. It logs the first failure of an
// outage, then the number of failures from time to time, and finally the end of the
// outage.
//
// # Invariants
//
//   - The first failure is logged immediately. Later failures are logged at most every
//     ten seconds, with the number of failures since the previous line and the latest
//     error: TestFirstFailureIsLoggedAndThenCounts.
//   - The end is logged once, with the number of all failures, when a call succeeds and
//     no call has failed for five seconds. Alternating failures and successes are one
//     outage: TestEndIsLoggedOnce, TestFlappingIsOneOutage.
//
// This package imports the standard library only.
package outage
