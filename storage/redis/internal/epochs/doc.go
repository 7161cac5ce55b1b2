// Package epochs decides whether the mirror can be trusted.
//
// An epoch is a period in which every transaction marks its changes in Redis (package
// mirror describes the contract with the database). A Keeper polls the database and Redis
// twice a second. An epoch is active while Redis has the sentinel of the epoch, runs on
// servers that the sentinel names and, if it is a cluster, serves every slot. A
// successful poll grants a lease on the epoch. After the end of an epoch, nothing is
// committed until every lease on it has expired. If marks fail, the Keeper closes the
// epoch. If Redis has lost data or is available again, the Keeper begins the next epoch,
// provided that this process belongs to the mirror of the database.
//
// An epoch may lack actions that were queued when it began. Until every partition of the
// queue has passed a barrier, replies may therefore lack writes.
//
// The code is divided as follows:
//
//	keeper.go    the Keeper and its options
//	epoch.go     polls and leases
//	claim.go     which mirror belongs to the database
//	sentinel.go  the proof that Redis holds an epoch
//	servers.go   the state of the masters
//	marks.go     whether marks succeed
//	clock.go     the database's time
//
// # Invariants
//
//   - No entry that may lack a committed change is trusted:
//     TestFailoverToALaggingReplicaIsNeverLive,
//     TestNodesSeeConfirmedWritesBeforeNoticingARewind, TestInterleavingsWithLosses.
//   - A cluster with a slot that no master serves is not trusted:
//     TestGapsOfAClusterAreFound.
//   - A mirror that may lack a queued action is reported as such:
//     TestOnlyUnsafeEvictionMakesRepliesStale, TestEvictionsAreLoggedOnceEachTimeTheyBegin,
//     TestAnswersAreStaleUntilTheBarrierIsPassed,
//     TestLongBarriersPastTheQueueAreCaught.
//   - A database has only one mirror: TestForeignProcessWaitsUntilTheMirrorIsFree,
//     TestPassiveStoreTakesNoPartInEpochs, TestMirrorIsRebuiltAfterTotalLoss.
//   - The Keeper's time is that of the database: TestClockFollowsTheMostExactReading,
//     TestStoreHasTheTimeOfItsDatabase.
//
// Tests that need servers are in package redis.
package epochs
