// Package redis mirrors counts and users' states in Redis or Redis Cluster, in front of a
// database that implements the contract of package mirror. A Store is two things:
//
//   - a storage.Store that answers from Redis if possible, and otherwise from the
//     database behind it;
//   - the mirror of the write path (worker.Mirror): Get, Apply, Mark, Invalidate, Revert
//     and Publish.
//
// The package connects the packages below internal, each of which has its own invariants:
//
//	keyspace    key names                  scripts     Lua scripts
//	counts      cached, versioned counts   window(s)   a user's states in one biz
//	answers     reads                      pending     writes not yet in Redis
//	epochs      whether to trust Redis     dependency  breakers and limits
//	database    the database behind it     compare     consistency check
//	changebus   notifies nodes of changed comments and messages
//
// Every commit is recorded in Redis in one of two ways. Within the transaction, a worker
// marks which states the new counts include. After the commit, it publishes the counts
// (Mark, Publish). A direct writer invalidates the entries that it changes, fences the
// counts, commits and publishes (Persist, EmptyFolder, ClearReads, PublishVideo, DeleteVideo). Both
// ways are exact, because marks and invalidations are made before the commit, under the
// row locks. Verify updates Redis after its repairs. Actions become visible before their
// commit: Apply writes them as soon as the queue has confirmed them. Apply also returns
// the subject of each action as the action's user sees it: the script returns the
// entries, and the counts are read in the same pipeline, right before the script. A
// single server executes a pipeline in order. A cluster does not guarantee that order, so
// Apply returns no subject there.
//
// Without Redis, the database answers reads, and the results are storage.Stale. If marks
// fail for two seconds, the epoch is closed and workers continue without Redis. When
// Redis is available again, or has lost data, the next epoch begins. See
// docs/decisions/0009 for the rationale.
//
// # Invariants
//
//   - The Store passes the cases of package storagetest about states and counts, which it
//     implements itself: in a cluster over Postgres (TestStore), and on one server over
//     SQLite (TestLongStore, which has the cases of the methods that are passed on, too).
//   - I2: Redis agrees with the database, even after Redis has lost everything:
//     TestInterleavingsWithLosses.
//   - I4: TestInterleavings. The following tests break rules on purpose, and show that
//     the violations are detected: TestLongMarksAfterTheCommitAreCaught,
//     TestLongDirectWritersThatInvalidateNothingAreCaught,
//     TestLongWorkersThatInvalidateNothingAreCaught. Single cases:
//     TestCommitThatOutlastsTheGuard, TestNodesSeeConfirmedWritesBeforeTheirPoll,
//     TestRevertedActionIsRemoved. Actions of storage.KindRead are visible once they
//     are persisted: TestReadIsSeenOnceItIsPersisted. Follows are visible at once:
//     TestFollowsAreShownAndCountedOnce.
//   - I4a: scripts, overlay and database merge reactions in the same way:
//     TestReactionsMergeInAnyOrder, TestClearOfAnEntryMissingFromTheWindow,
//     TestRevertedClearIsRemoved.
//   - A rolled-back transaction leaves nothing behind: TestFailedPersistLeavesNothing,
//     TestInvalidateKeepsQueuedEntries. Anything that a crashed process leaves in Redis
//     expires: TestDirectWriterMayDieAfterItsCommit, TestEveryKeyHasAnAge.
//   - I6: TestWorkersContinueWithoutRedis, TestPublishingWorkersContinueWithoutRedis,
//     TestFullRedisCommitsNothingUnmarked.
//   - A subscriber to counts is notified of every change, including changes made while
//     Redis was unavailable, since re-reading counts re-arms their invalidation:
//     TestLiveCounts, TestLiveCountsOverPostgres, TestLiveCountsOverACluster,
//     TestWatchersContinueWithoutRedis, TestNothingIsLostWithAConnection.
//   - The Store needs Redis 6 or newer. The privileges in docs/operations.md are
//     sufficient: TestLeastPrivileges.
//
// This package imports storage, storage/mirror and the packages below internal.
package redis
