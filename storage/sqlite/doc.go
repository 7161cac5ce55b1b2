// Package sqlite is the storage.Store of the embedded way to run: one SQLite
// file, written by one connection at a time and read by several.
//
// A transaction that writes begins by taking the write lock, so what it reads
// cannot change before it commits. A call that reads sees one snapshot. Many
// rows go to SQLite as one JSON array per statement, so a batch costs the same
// few statements whatever its size. Every commit is synced to the disk
// (synchronous = FULL): with batches the price is small, and what was
// acknowledged survives a power cut. What is called within a transaction, the
// mark of Persist and the report of Verify, must not write to the same store:
// it would wait for itself.
//
// The package keeps the invariants of package storage, proven by the suite in
// storage/storagetest. Its own:
//
//   - Every list reads its index and neither sorts nor scans:
//     TestListsUseTheirIndex.
//   - Lists have their own connections, and a time-out: reads by key do not wait
//     for them: TestSlowListsLeaveReadsTheirConnections.
//   - A failed call leaves nothing half-written and the connection fit for
//     the next: TestFailedCallsLeaveNothing, TestKilledProcessLosesNothing.
//   - Counts and states of one answer are of one moment:
//     TestCountsAndStatesAreOfOneMoment.
//
// It imports package storage and nothing else of this module.
package sqlite
