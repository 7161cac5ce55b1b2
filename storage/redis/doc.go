// Package redis keeps a copy of counts and of users' states in Redis or Redis
// Cluster, in front of any database. A Store is two things:
//
//   - a storage.Store that answers from the copy what it can, and from the
//     database behind it what it must;
//   - the mirror of the write path (worker.Mirror): Look, Show, Forget, Mark
//     and Publish.
//
// # What lies in Redis
//
//	PREFIX:EPOCH:c:{TENANT:BIZ:BIZID}   counts of a subject: version and four counts in one field, and a fence
//	PREFIX:EPOCH:w:{TENANT:u:USER}:BIZ  a window: a user's states on subjects of one biz
//	PREFIX:EPOCH:alive:FORM             the sentinel: the runs of the servers that hold the epoch
//	PREFIX:q:{TENANT}                   documents of persisted queries, by hash (lua/document.lua)
//
// What braces enclose decides in which slot of a cluster a key lies. An id with
// braces of its own is escaped there (tagged):
// TestBracesInIDsDoNotCutTheHashTag.
//
// What an earlier epoch holds is not read, and ends by itself.
//
// Counts are read through the client's own cache, which Redis invalidates, and
// cached decoded for as long as that keeps them (internal/counts).
// They are written by Publish and by fills, never over a version as new.
//
// A window holds an entry for each state of a reaction or a collection, those of
// one subject in one field: the latest word, its version, and a history of what the counts included of it.
// A window that holds all the user's states is marked so: what is absent from
// it is known to be none, without asking the database. A user with more than a
// thousand states in one biz has a window of those that were asked for lately.
// What a user has read comes from the database.
//
// Every script is a file in lua, touches one key and may be repeated. Where one
// server holds all keys, up to fifty calls of one script are one command
// (lua/each.lua). Every key has a maximum age, spread so that keys made together do not end
// together. No key grows with how many like a subject.
//
// # Own action, exact count
//
// What a viewer sees is
//
//	count + own state − own state in the history at the newest version not above the count's
//
// Counts may be a moment old; entries are always read fresh and after the
// counts. Where the history does not reach back to the count's version, counts
// are read past the client's cache, and in the end from the database, together
// with the states there. The order of the write path (marks under the row
// locks before the commit) is what makes this exact.
//
// A fill takes a lease before it reads the database. Every write to the window
// takes the lease away, and a fill without its lease is dropped. A mark of
// something absent also keeps everyone from filling for a while: the
// transaction that marks has not committed yet.
//
// Where something is not known, counts and states come from the database as of
// one moment: after Forget, which says what may have been rolled back, or is
// changed by somebody who does not mark.
//
// # Live counts
//
// The client's cache of a node forgets what changes, since Redis tells it. That
// is also how the node's live counts learn of it (OnChange): reading the counts
// again has Redis tell again.
//
// # When something is down
//
// Calls of the database have a limit and a time-out for each class, reads by key
// and lists, so that one does not use up what the other needs:
// TestHangingListsLeaveReadsTheirSlots, TestListsHaveATimeoutOfTheirOwn. A call
// waits once for a database that fails: TestACallWaitsOnceForADatabaseThatHangs.
//
// Without Redis the database answers, and is storage.Stale: it
// lacks what is queued, but for what this process could not show itself. Where
// only this process is without Redis, it waits for a worker to tell the others.
// Without the database Redis answers with what it has; counts that it has not
// are zeros and storage.Unavailable. Marks that fail for two seconds close the
// epoch: workers go on without Redis once nobody believes it any more, and until
// then what is confirmed is still shown in it. A Redis that
// answers again begins the next epoch, as one that has lost data does. What is
// queued then may not be shown in it: until every partition of the queue has
// passed a barrier that was published after that (Barrier), a viewer's answers are
// stale, and Look says that it does not know the latest word, so that every action
// is published. Breakers keep a part that is down from costing every call its
// time-out.
//
// docs/decisions/0009 tells why.
//
// # Invariants
//
//   - The package passes the suite of package storage, over SQLite, Postgres
//     and a cluster: TestStore, TestStoreOverPostgres, TestCluster.
//   - I2: what Redis holds is what the database holds, also after Redis lost
//     everything: TestInterleavingsWithLosses, or a shard failed over to a replica
//     that lags: TestFailoverToALaggingReplicaIsNeverLive. Compare proves it:
//     TestCompareFindsAndDropsWhatIsStale.
//   - I4: TestInterleavings, and tests that break a rule and are found out:
//     TestLongMarksAfterTheCommitAreCaught, TestLongDirectWritersWhoForgetNothingAreCaught,
//     TestLongWorkersWhoForgetNothingAreCaught, TestCutOffNodeWaitsForTheWorker,
//     TestNodesThatHaveNotPolledSeeWhatOthersConfirm,
//     TestCommitThatOutlastsTheGuard, TestDroppedIsTakenBack,
//     TestDroppedIsLaidOverNothing. Reads follow: TestReadIsSeenOnceItIsPersisted.
//   - I4a: scripts, overlay and database merge reactions in the same way:
//     TestReactionsMergeInAnyOrder, TestClearsAreConditionalWithoutRedis,
//     TestClearOfWhatTheWindowLacks, TestDroppedClearIsTakenBack,
//     TestInterleavingsWithLosses.
//   - I5: TestCountsNeverGoBack. What is cached is what the client's cache
//     would answer: TestWhatIsCachedIsWhatWasReadUnlessItHasChangedSince,
//     TestWhatIsCachedGoesWithTheClientsCache, and TestInterleavings.
//   - A fill never brings back the past: TestStaleFillIsDropped,
//     TestFillDuringATransactionIsDropped, TestLookKeepsAlive. What is shown and not committed
//     outlives a reload: TestShownOutlivesAReload. What was rolled back leaves
//     nothing: TestFailedPersistLeavesNothing, TestForgetKeepsWhatIsQueued. What
//     nobody told of ends by itself: TestDirectWriterMayDieAfterItsCommit.
//   - I6: TestWithoutRedisTheDatabaseAnswers,
//     TestWithoutTheDatabaseWhatIsWarmIsServed,
//     TestWorkersGoOnWithoutRedis, TestUnshownIsLaidOver,
//     TestLookKnowsNothingAfterALoss, TestEvictionsMakeDoubtful,
//     TestAnswersAreStaleUntilTheBarrierIsPassed, TestLongBarriersPastTheQueueAreCaught,
//     TestWhatIsShownInAnEpochThatIsNotSureIsShownAgain, TestPersistedIsNotRemembered,
//     TestWhatWasShownNeedsNoSecondShowInTheSameEpoch,
//     TestHangingPartsCostLittle, TestHangingDatabaseIsLeftAlone,
//     TestCutOffNodeDoesNotWaitInVain, TestOneStallOpensNoBreaker,
//     TestCallerWhoGoesAwayBlamesNobody, TestWorkersThatPublishGoOnWithoutRedis,
//     TestFullRedisCommitsNothingUnmarked.
//   - One mirror belongs to a database: TestStrangerWaitsUntilTheMirrorIsFree,
//     TestPassiveStoreTakesNoPartInEpochs, TestMirrorIsTakenUpWhereEverythingWasLost.
//   - Versions come from one clock, that of the database:
//     TestClockFollowsTheMostExactReading, TestStoreHasTheTimeOfItsDatabase.
//   - Whoever watches counts is told of every change, also of what changed while
//     Redis was away: TestLiveCounts, TestLiveCountsOverPostgres,
//     TestLiveCountsOverACluster, TestWatchersOutliveRedis,
//     TestNothingIsLostWithAConnection.
//   - I7: TestRoundTrips, TestMissesAtOnceAskOnce.
//     Memory is bounded: TestWindowsAreBounded,
//     TestWhatIsCachedIsBounded, TestEveryKeyHasAnAge.
//   - A malformed value affects its own key alone and is replaced from the
//     database: TestMalformedValueIsReplacedFromTheDatabase. Scripts that Redis
//     has lost are sent again: TestLostScriptsAreSentAgain. It needs few
//     privileges: TestLeastPrivileges.
//
// It needs Redis 6 or newer, and imports packages storage and outage and nothing
// else of this module.
package redis
