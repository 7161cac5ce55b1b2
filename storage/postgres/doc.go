// Package postgres implements storage.Store for the distributed mode. The store is a
// PostgreSQL database that many nodes and workers share.
//
// Many rows are passed to Postgres as one array per column (unnest), so that a batch
// costs the same few statements and round trips at any size. A read is a single
// statement and therefore one snapshot. A write is one READ COMMITTED transaction, in
// which the order of locks provides isolation.
//
// # Locks
//
// Every transaction takes its row locks in this order, and those of one table in the
// order of their keys. This excludes deadlocks.
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
// The lock of a default folder is the lock of its owner: the transaction that holds it
// has exclusive access to the owner's folders and their items, which are therefore locked
// in any order.
//
// Messages and accounts have tables of their own: AddMessages locks mailboxes, requests
// and conversations, and a change of an account locks the account and then its names.
//
// # Plans
//
// Each statement is planned once per connection, for keys of any value, and uses indexes
// only: it looks up one key after the other (LATERAL … LIMIT 1, which Postgres never
// turns into another kind of join), and sequential scans are off except where everything
// is recounted. A plan that was made while a table was empty is therefore still right
// when the table has grown, and a test can check the plan that runs.
//
// # Invariants
//
// The package has the invariants of package storage, proven by the suite in
// storage/storagetest. In addition:
//
//   - Concurrent writes cause neither deadlocks nor serialisation failures:
//     TestWritersNeverDeadlock.
//   - Every list reads its index and neither sorts nor scans, and every key is
//     found by an index: TestListsUseTheirIndex, TestBatchesSearchByKey.
//   - A failed call leaves nothing half-written, and an error that a retry may
//     resolve is storage.ErrUnavailable: TestFailedCallsLeaveNothing.
//   - Counts and states in one reply are from the same moment:
//     TestCountsAndStatesAreOfOneMoment.
//   - Repair is exact under concurrent writes: TestRepairIsExactUnderWriters.
//   - Writing new counts of a subject touches no index: TestCountsStayHeapOnly.
//   - No error contains the password of the URL: TestOpenErrorsNameTheCause,
//     TestServerThatRefusesSaysWhy.
//   - A full disk loses no acknowledged data:
//     TestFullDiskIsUnavailableUntilThereIsRoom.
//
// This package imports storage, storage/mirror, storage/sqlstore, its migrations and outage.
package postgres
