// Package pending keeps writes that the queue has confirmed to this process but that
// could not be written to Redis. They are overlaid on entries from Redis and the database
// (Writes.Overlay) until they are in Redis or a worker has persisted them.
//
// # Invariants (tests of package redis)
//
//   - Acknowledged writes that are not in Redis are part of this process's replies:
//     TestPendingWritesAreOverlaid, TestClearsAreConditionalWithoutRedis.
//   - Other nodes show pending writes once a worker has persisted them. Callers wait for
//     the worker, but not for long: TestCutOffNodeWaitsForTheWorker,
//     TestCutOffNodeDoesNotWaitInVain.
//   - Pending writes are applied to Redis later, but only if necessary:
//     TestActionsAppliedWithoutALeaseAreAppliedAgain,
//     TestActionsAppliedWithoutALeaseStayInTheSameEpoch, TestCutOffNodeWaitsForTheWorker.
//   - No entry is kept forever: TestRevertedActionIsNotOverlaid. Memory is bounded.
package pending
