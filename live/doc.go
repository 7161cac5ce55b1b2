// Package live tells whoever watches a subject of every change of its counts.
//
// A Hub, one per process, holds the watchers and the newest counts of what
// they watch. It is told that subjects may have changed (Changed, ChangedAll),
// reads all of them together, once, whatever the number of watchers, and hands
// the same Event to each watcher. What tells it is the client-side cache of
// Redis, whose invalidations are the signal, or in a single process the store
// itself (Telling).
//
// A Watcher has no goroutine: it is looked at by whoever serves the subscriber,
// in Next. Between two looks it keeps the newest event of each of its subjects
// and nothing else.
//
// # How a change is told
//
//	Changed ─▶ changes ─▶ one loop: gather ─▶ one read ─▶ settle ─▶ watchers
//	           a set,               dirty, new and        an Event, the same
//	           never blocks         swept subjects        for all of them
//
// A subject that was told of cools for a while before it is read and told of
// again, so that nobody is told more often than 20 times a second, whatever
// happens to it. Everything watched is also swept slowly, told or not: that is
// what polls the database while Redis is away, finds out what other processes
// have written to an embedded database, and tells when counts are less fresh.
//
// # Invariants
//
// Those of the suite in package livetest hold for a single process, for Redis,
// for Redis Cluster and for Postgres behind it: TestLiveCountsOfASingleProcess
// here, TestLiveCounts, TestLiveCountsOverACluster and TestLiveCountsOverPostgres
// in package storage/redis.
//
//   - The first events are every subject once, as it was read after Watch was
//     called: SnapshotIsEverySubjectOnce, SnapshotIsNotOlderThanAQuery,
//     TestSnapshotIsReadAfterWatch.
//   - No change is lost: whatever is told while a subject is being read has it
//     read again, and the last value always comes: NoChangeIsLostAndNoneGoesBack,
//     TestChangeDuringAReadIsReadAgain. Nor is what changed while Redis was away:
//     TestWatchersOutliveRedis and TestNothingIsLostWithAConnection of
//     storage/redis, TestSweepTellsWhatNobodyTold.
//   - I5 Never backwards. The version of a subject's events never falls, and
//     counts that are not known do not take the place of known ones:
//     NoChangeIsLostAndNoneGoesBack, TestWhatFollowsAnEvent.
//   - I6 Say so. An event is as fresh as a query's answer; what was known and
//     cannot be read is STALE: TestFailedReadsAreToldAndTriedAgain,
//     TestWatchersOutliveRedis.
//   - I7 Bounded. What changes together is read by one call, of 1,000 subjects
//     at most, however many watch: TestWhatChangesTogetherIsReadOnceForAll,
//     TestReadsAreBounded, TestTooManyChangesAreAll. At most 20 events of a
//     subject a second, the first at once: AtMostTwentyASecond,
//     TestFirstChangeIsToldAtOnceAndTheOthersSpaced.
//   - What is told to many is encoded once, and of one event 2 KiB are kept at
//     most: TestPayloadIsEncodedOnceForEachKey, TestLargePayloadsAreNotKept.
//   - A watcher that does not look has the latest event and nothing before it,
//     and keeps nobody waiting: LatestWins, SlowWatcherHarmsNobody. One that was
//     closed leaves nothing: ClosedWatchersLeaveNothing.
//   - I8 Walls. Subjects of two tenants have nothing in common:
//     TenantsAreWalledOff.
//
// This package imports packages storage and outage, the metrics library and the
// standard library.
package live
