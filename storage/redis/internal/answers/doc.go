// Package answers serves reads of counts and the viewer's states, from Redis or, if
// entries are missing or Redis is unavailable, from the database.
//
// Counts may be slightly stale; states never come from a cache of this process, and are
// read after the counts. The viewer's own states are subtracted from the counts as far as
// the counts include them, and are added as they are now (package window). If it is
// unknown what the counts include, the counts are read again, bypassing the client-side
// cache. If that does not suffice, counts and states are read from the database in one
// snapshot. Pending writes of this process are overlaid on every reply (package pending).
//
// # Invariants (tests of package redis)
//
//   - I4: TestInterleavings, TestInterleavingsWithLosses, TestRoundTrips (I7).
//   - I6: a reply says what is unknown: TestWithoutRedisTheDatabaseAnswers,
//     TestCachedEntriesAreServedWithoutTheDatabase, TestGetKnowsNothingAfterALoss,
//     TestAnswersAreStaleUntilTheBarrierIsPassed.
//   - A call waits for a failing database only once:
//     TestACallWaitsOnceForADatabaseThatHangs.
package answers
