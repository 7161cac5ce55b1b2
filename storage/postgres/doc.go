// Package postgres implements storage.Store for the distributed mode. The store is a
// PostgreSQL database that many nodes and workers share.
//
// Many rows are passed to Postgres as one array per column (unnest), so that a batch of
// any size takes the same few statements and round trips. A read is a single statement
// and therefore one snapshot; only Friends takes several statements. A write is a READ
// COMMITTED transaction, in which the order of locks provides isolation.
//
// # Locks
//
// Every transaction locks rows in the following order, and the rows of one table in the
// order of their keys. This rules out deadlocks.
//
//  1. inbox
//  2. the default folder of every user whose collections or folders the transaction
//     touches; a missing one is created
//  3. user_reaction, user_collection, user_read, user_follow
//  4. the ids of imported comments (lockPastIDs), comment_count and request
//  5. interactive
//  6. comment
//  7. user_totals and user_comments
//
// The lock on a default folder serves as the lock on its owner. A transaction that holds
// it has exclusive access to the owner's folders and items, and may lock these in any
// order.
//
// A transaction that persists reads of users also holds a lock on cleared_read that
// conflicts with no other: BeginClear waits for those that held it when a clear was
// committed. A transaction that may add data of users likewise holds a lock on mirror or
// erased_user, for BeginErase. ClearReads locks the rows of the anonymous users before those of its user.
//
// Messages and accounts have their own lock orders. AddMessages locks mailboxes, then
// requests, then conversations. EraseNext locks mailboxes, then messages and conversations,
// in a transaction of its own. A change to an account locks the account and then its
// names.
//
// # Plans
//
// Each statement is planned once per connection, for keys of any value. It uses indexes
// only: it looks up one key after another, by LATERAL … LIMIT 1, which Postgres never
// turns into another kind of join. Sequential scans are off, except in recounts. A plan
// that was made while a table was empty therefore remains suitable when the table grows,
// and tests can check the plan that is used.
//
// # Invariants
//
// The package has the invariants of package storage, proven by the suite in
// storage/storagetest. In addition:
//
//   - Concurrent writes cause neither deadlocks nor serialisation failures:
//     TestWritersNeverDeadlock.
//   - Every list uses its index and neither sorts nor scans, and every key is
//     found by an index: TestListsUseTheirIndex, TestBatchesSearchByKey.
//   - A failed call writes nothing, and an error that a retry may resolve is
//     storage.ErrUnavailable: TestFailedCallsLeaveNothing.
//   - Counts and states in one reply are from the same moment:
//     TestCountsAndStatesAreOfOneMoment.
//   - Repair is exact under concurrent writes: TestRepairIsExactUnderWriters.
//   - At least 80 % of the updates to counts touch no index: TestCountsStayHeapOnly.
//   - No error contains the password of the URL: TestOpenErrorsNameTheCause,
//     TestServerThatRefusesSaysWhy.
//   - A full disk loses no acknowledged data:
//     TestFullDiskIsUnavailableUntilThereIsRoom.
//
// This package imports storage, storage/mirror, storage/sqlstore, its migrations and
// outage.
package postgres
