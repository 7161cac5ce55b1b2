// Package answers serves reads of counts and the viewer's states. It reads from Redis or,
// if entries are missing or Redis is unavailable, from the database.
//
// Counts may be slightly stale. States are read after the counts, and never come from a
// cache of this process. The counts are then adjusted to the viewer's states: the states
// that the counts include are subtracted, and the latest ones are added (package window).
// If it is unknown which states the counts include, counts and states are read again,
// without the caches. If this is still unknown, they are read from the database in one
// snapshot. Pending writes of this process are overlaid on every reply (package pending).
//
// # Invariants (tests of package redis)
//
//   - I4: TestInterleavings, TestInterleavingsWithLosses, TestRoundTrips (I7).
//   - I6: unknown values are marked as such in the reply:
//     TestWithoutRedisTheDatabaseAnswers, TestCachedEntriesAreServedWithoutTheDatabase,
//     TestGetKnowsNothingAfterALoss, TestAnswersAreStaleUntilTheBarrierIsPassed.
//   - A call waits for a failing database only once:
//     TestACallWaitsOnceForADatabaseThatHangs.
package answers
