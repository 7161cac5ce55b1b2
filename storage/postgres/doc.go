// Package postgres is the storage.Store of the distributed way to run: a
// PostgreSQL database that many nodes and workers share.
//
// Many rows go to Postgres as one array per column and come out of unnest, so
// that a batch costs the same few statements and round trips whatever its
// size. What a call reads is of one moment, since it is one statement. What it
// writes is one transaction of READ COMMITTED, in which the order of the locks
// stands for isolation.
//
// # Locks
//
// Every transaction takes its row locks in this order, and rows of one table
// in the order of their keys. So none ever waits for one that waits for it.
//
//  1. inbox
//  2. the default folders of all whose collections or folders it touches; they
//     are made where they are missing
//  3. user_reaction, user_collection, user_read
//  4. interactive
//
// A default folder guards its owner: whoever holds it is alone with the
// owner's folders and with what lies in them, and needs no order among those.
//
// # Plans
//
// Each statement is planned once a connection, for keys of any value, and by
// its indexes alone: it looks up one key after the other (LATERAL … LIMIT 1,
// which Postgres never turns into another kind of join), and sequential scans
// are off except where everything is recounted. A plan made while a table was
// empty is therefore right when it has grown, and a test can ask for the plan
// that runs.
//
// The package keeps the invariants of package storage, proven by the suite in
// storage/storagetest. Its own:
//
//   - No deadlock and no serialization failure, whoever writes what at the
//     same time: TestWritersNeverDeadlock.
//   - Every list reads its index and neither sorts nor scans, and every key is
//     found by an index: TestListsUseTheirIndex, TestBatchesSearchByKey.
//   - A failed call leaves nothing half-written, and what a later call may
//     cure is storage.ErrUnavailable: TestFailedCallsLeaveNothing.
//   - Counts and states of one answer are of one moment:
//     TestCountsAndStatesAreOfOneMoment.
//   - Repair is exact while others write: TestRepairIsExactUnderWriters.
//   - New counts of a subject touch no index: TestCountsStayHeapOnly.
//   - No message holds the password of the URL: TestOpenSaysWhatIsWrong,
//     TestServerThatRefusesSaysWhy.
//   - A full disk loses nothing that was acknowledged:
//     TestFullDiskIsUnavailableUntilThereIsRoom.
//
// It imports package storage and nothing else of this module.
package postgres
