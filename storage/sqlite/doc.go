// Package sqlite implements storage.Store for the embedded mode. The store is one SQLite
// file, written by one connection at a time and read by several.
//
// A write transaction begins by taking the write lock, so the rows that it reads cannot
// change before it commits. A read uses one snapshot. Many rows are passed to SQLite as
// one JSON array per statement, so a batch of any size takes the same few statements.
// Every commit is synced to disk (synchronous = FULL), so acknowledged data survives a
// power failure; batches keep the cost small. Functions that the store calls within a
// transaction (the argument mark of Persist and the argument report of Verify) must not
// write to the same store, because they would deadlock.
//
// # Invariants
//
// The package has the invariants of package storage, proven by the suite in
// storage/storagetest. In addition:
//
//   - Every list uses its index and neither sorts nor scans:
//     TestListsUseTheirIndex.
//   - Lists have their own connections and a timeout, so reads by key do not wait for
//     them: TestSlowListsLeaveReadsTheirConnections.
//   - A survey, which reads whole tables, has its own connection and a
//     timeout: TestSurveysLeaveReadsAndListsTheirConnections.
//   - A failed call writes nothing and leaves its connection usable:
//     TestFailedCallsLeaveNothing, TestKilledProcessLosesNothing.
//   - Counts and states in one reply are from the same moment:
//     TestCountsAndStatesAreOfOneMoment.
//
// No mirror stands in front of this store, so it has no epochs. This package imports
// storage and storage/sqlstore.
package sqlite
