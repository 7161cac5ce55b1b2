// Package windows reads and writes windows: what users did, in Redis and, where that
// lacks something, in the database.
//
// Entries are always read afresh, after the counts. A Reader reads them by HMGET; by
// a script where some are missing or are to be kept alive, which gives it a lease;
// and from the database, with which it fills the window while it has the lease. What
// a single action needs is usually in Redis: such reads share pipelines (Glance).
// A Group gathers the arguments of a script by window.
//
// # Invariants (tests of package redis)
//
//   - A fill never brings back the past: TestStaleFillIsDropped,
//     TestFillDuringATransactionIsDropped, TestLookKeepsAlive.
//   - What is shown and not committed outlives a reload: TestShownOutlivesAReload.
//   - I7: a constant number of round trips: TestRoundTrips. Windows are bounded:
//     TestWindowsAreBounded.
//   - A malformed entry is taken as missing and affects no other:
//     TestMalformedEntryHidesNoOther, TestMalformedValueFailsNoOther.
package windows
