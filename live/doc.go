// Package live notifies subscribers when the counts of their subjects change.
//
// A Hub, one per process, holds the watchers and the newest counts of the watched
// subjects. It receives signals that subjects may have changed (Changed, ChangedAll,
// Rewound). It reads these subjects in one call per tenant, whatever the number of
// watchers, and passes the same Event to every watcher of a subject. The signals come
// from the invalidations of Redis's client-side cache or, in a single process, from the
// store itself (Notifying).
//
// A Watcher has no goroutine. A stream takes the available events (Take), sends them, and
// releases its goroutine until the watcher calls back (Await). Next is the blocking form,
// for a caller with a goroutine of its own, such as a test. Between two calls, the
// watcher keeps only the newest event for each of its subjects.
//
// # How a change is delivered
//
//	Changed ─▶ changes ─▶ one loop: gather ─▶ one read ─▶ publish ─▶ watchers
//	           a set,               dirty, new and        an Event, the same
//	           never blocks         swept subjects        for all of them
//
// After each event, the subject's next event is delayed, so that no watcher receives more
// than 20 events for a subject per second. A periodic sweep also reads the watched
// subjects without waiting for a signal. The sweep polls the database while Redis is
// unavailable, detects what other processes have written to an embedded database, and
// reports counts that have become less fresh.
//
// # Invariants
//
// Package livetest tests the invariants for a single process, for Redis, for Redis
// Cluster and for Postgres behind Redis: TestLiveCountsOfASingleProcess here,
// TestLiveCounts, TestLiveCountsOverACluster and TestLiveCountsOverPostgres in package
// storage/redis.
//
//   - The first events are a snapshot of every subject, read after Watch was called:
//     SnapshotIsEverySubjectOnce, SnapshotIsNotOlderThanAQuery,
//     TestSnapshotIsReadAfterWatch.
//   - No change is lost: a signal during a read causes another read, and the last value
//     is always delivered: NoChangeIsLostAndVersionsNeverDecrease,
//     TestChangeDuringAReadIsReadAgain. This includes changes while Redis was
//     unavailable: TestWatchersContinueWithoutRedis and TestNothingIsLostWithAConnection
//     of storage/redis, TestSweepDeliversChangesWithoutASignal.
//   - I5 Never backwards. The version of a subject's events never decreases, and unknown
//     counts do not replace known ones: NoChangeIsLostAndVersionsNeverDecrease,
//     TestNextEventIsNewerOrFresher. After a failover that lost commits, watchers receive
//     the counts that survived it: TestWatchersReceiveLowerVersionsAfterARewind.
//   - I6 Say so. An event is as fresh as the reply to a query; known counts that cannot
//     be read again are STALE: TestFailedReadsAreReportedAndRetried,
//     TestWatchersContinueWithoutRedis.
//   - I7 Bounded. Simultaneous changes are read in one call per tenant, of at most 1,000
//     subjects, whatever the number of watchers: TestSimultaneousChangesAreReadOnce,
//     TestReadsAreBounded, TestTooManyChangesAreAll. A subject has at most 20 events per
//     second, and the first is not delayed: AtMostTwentyASecond,
//     TestFirstChangeIsDeliveredAtOnceAndLaterOnesThrottled.
//   - An event is encoded once for all watchers, and keeps at most 2 KiB of encoded
//     payloads: TestPayloadIsEncodedOnceForEachKey, TestLargePayloadsAreNotKept.
//   - A slow watcher receives only the latest event and delays no other watcher:
//     LatestWins, SlowWatcherDelaysNoOther. A closed watcher leaves nothing behind:
//     ClosedWatchersLeaveNothing.
//   - I8 Walls. Subjects of two tenants are separate: TenantsAreWalledOff.
//
// A Hub over CommentVersions or MessageVersions notifies subscribers of changed comments
// or messages in the same way.
//
// This package imports storage and outage.
package live
