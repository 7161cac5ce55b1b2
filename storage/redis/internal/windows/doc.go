// Package windows reads and writes windows, which hold the states of users in Redis, and
// reads missing entries from the database.
//
// Entries are never cached, and are read after the counts. A Reader reads them with
// HMGET. If some are missing or must be kept alive, it uses a script, which grants a
// lease. Entries that Redis lacks are read from the database, and fill the window if the
// lease is still valid. The entry that a single action needs is usually in Redis: reads
// of such entries share pipelines (GetBatched). A Group collects the calls of a script,
// one for each window.
//
// # Invariants (tests of package redis)
//
//   - A fill never restores outdated entries: TestStaleFillIsDropped,
//     TestFillDuringATransactionIsDropped, TestGetKeepsAlive. The lease is granted before
//     the database is read, and every write to the window revokes it. A mark of an absent
//     entry also blocks fills for a while.
//   - Queued entries survive a reload: TestQueuedEntriesOutliveAReload.
//   - I7: a constant number of round trips: TestRoundTrips. Windows are bounded:
//     TestWindowsAreBounded, TestFieldWithoutFollowIsNotLonger.
//   - A malformed entry is treated as missing, and affects no other entry:
//     TestMalformedEntryHidesNoOther, TestMalformedValueFailsNoOther.
package windows
