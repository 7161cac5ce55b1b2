// Package epochs answers whether the mirror may be believed.
//
// An epoch is a time in which every transaction marks in Redis what it changes
// (package mirror has the contract with the database). A Keeper polls database and
// Redis twice a second. An epoch is present while the sentinel, the servers it names
// and every slot of a cluster are found in Redis; it is sure for a moment after such
// a poll, shorter than the time for which nothing is committed after it has ended.
// When marks fail, the Keeper closes the epoch; when Redis has lost data or comes
// back, it begins the next one, if this process is of the mirror that the database
// belongs to.
//
// What is queued when an epoch begins may not be shown in it: answers are in doubt
// until every partition of the queue has passed a barrier.
//
// The files: epoch.go has what a poll does, claim.go which mirror belongs to the
// database, sentinel.go what proves an epoch, servers.go what masters say of
// themselves, clock.go the time of the database.
//
// # Invariants
//
//   - Nothing is believed that may lack a committed change: TestFailoverToALaggingReplicaIsNeverLive,
//     TestNodesThatHaveNotNoticedARewindSeeWhatOthersConfirm, TestInterleavingsWithLosses.
//   - A cluster of which a part is missing is not whole: TestGapsOfAClusterAreFound.
//   - What may lack something queued is in doubt: TestEvictionsMakeDoubtful,
//     TestAnswersAreStaleUntilTheBarrierIsPassed.
//   - One mirror belongs to a database: TestStrangerWaitsUntilTheMirrorIsFree,
//     TestPassiveStoreTakesNoPartInEpochs, TestMirrorIsTakenUpWhereEverythingWasLost.
//   - Time is that of the database: TestClockFollowsTheMostExactReading,
//     TestStoreHasTheTimeOfItsDatabase.
//
// Tests that need servers are those of package redis.
package epochs
