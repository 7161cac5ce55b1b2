// Package epochs decides whether the mirror can be trusted.
//
// An epoch is a period in which every transaction marks its changes in Redis (package
// mirror has the contract with the database). A Keeper polls the database and Redis twice
// a second. An epoch is active while Redis has the sentinel, runs on servers that the
// sentinel names and, if it is a cluster, serves every slot. A successful poll grants a
// lease on the epoch, which is shorter than the time for which nothing is committed after
// the end of an epoch. If marks fail, the Keeper closes the epoch. If Redis has lost data
// or is available again, it begins the next one, provided that this process belongs to
// the mirror of the database.
//
// Actions that are queued when an epoch begins may be missing in it: replies may miss
// writes until every partition of the queue has passed a barrier.
//
// The files: epoch.go has the polls, claim.go determines which mirror belongs to the
// database, sentinel.go proves an epoch, servers.go reads the state of the masters,
// clock.go follows the database's clock.
//
// # Invariants
//
//   - No entry is trusted that may lack a committed change:
//     TestFailoverToALaggingReplicaIsNeverLive,
//     TestNodesSeeConfirmedWritesBeforeNoticingARewind,
//     TestInterleavingsWithLosses.
//   - A cluster with a missing slot is incomplete: TestGapsOfAClusterAreFound.
//   - A mirror that may lack a queued action is reported as such:
//     TestOnlyUnsafeEvictionMakesRepliesStale, TestEvictionsAreLoggedOnceEachTimeTheyBegin,
//     TestAnswersAreStaleUntilTheBarrierIsPassed,
//     TestLongBarriersPastTheQueueAreCaught.
//   - One mirror belongs to a database: TestForeignProcessWaitsUntilTheMirrorIsFree,
//     TestPassiveStoreTakesNoPartInEpochs, TestMirrorIsRebuiltAfterTotalLoss.
//   - Time is that of the database: TestClockFollowsTheMostExactReading,
//     TestStoreHasTheTimeOfItsDatabase.
//
// Tests that need servers are in package redis.
package epochs
