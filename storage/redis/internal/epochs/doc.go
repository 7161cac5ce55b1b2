// Package epochs decides whether the mirror can be trusted.
//
// An epoch is a period in which every transaction marks its changes in Redis (package
// mirror has the contract with the database). A Keeper polls the database and Redis twice
// a second. An epoch is active while Redis has the sentinel, runs on servers that the
// sentinel names and, if it is a cluster, serves every slot. A successful poll grants a
// lease on the epoch. The lease is shorter than the time for which nothing is committed
// after the end of an epoch. If marks fail, the Keeper closes the epoch. If Redis has
// lost data or is available again, the Keeper begins the next one, provided that this
// process belongs to the mirror of the database.
//
// Actions that are queued when an epoch begins may be missing from it: replies may miss
// writes until every partition of the queue has passed a barrier.
//
// The code is divided as follows: epoch.go polls, claim.go determines which mirror
// belongs to the database, sentinel.go proves an epoch, servers.go reads the state of the
// masters, and clock.go follows the database's clock.
//
// # Invariants
//
//   - No entry that may lack a committed change is trusted:
//     TestFailoverToALaggingReplicaIsNeverLive,
//     TestNodesSeeConfirmedWritesBeforeNoticingARewind, TestInterleavingsWithLosses.
//   - A cluster with a missing slot is incomplete: TestGapsOfAClusterAreFound.
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
