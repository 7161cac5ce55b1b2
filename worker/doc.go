// Package worker is the write path: everything between a mutation and the
// database.
//
//	mutation → Recorder → batcher → Publisher ~~ queue ~~ Consumer → Worker → storage.Persister
//	               └────────── Get, Apply ── Mirror ── Mark, Publish ───┘
//
// A Recorder checks whether an action changes anything, assigns it a version and passes
// it to the batcher. The batcher publishes all pending actions of a partition as one
// message and replies when the queue has made the message durable. A Worker takes
// messages, persists each of them exactly once, in batches, and acknowledges them.
// Folders deletes folders in parts. A Fallback is a Publisher that persists directly
// while its queue is unavailable.
//
// The queue is a contract (Publisher, Consumer) with a conformance suite,
// worker/queuetest; worker/local is the implementation within a process. The Mirror is
// the view of states and counts that all nodes share in addition to the database. A queue
// within the process needs no such view: local.Mirror reads the database and stores
// nothing.
//
// # Invariants
//
// I1 Acknowledged is durable:
//
//   - Record returns nil only after the queue has confirmed the message, and a Worker
//     acknowledges only after the commit: TestAcknowledgedActionIsInTheStore,
//     TestMarksComeBeforeTheCommitAndTheAckAfterIt.
//   - An accepted action is published even if its caller cancels, and before Close
//     returns: TestCancelledActionIsStillAppliedAndPersisted, TestCloseSendsTheBacklog.
//   - When a Worker stops, it finishes its current batch and requeues the rest:
//     TestStopFinishesTheRunningBatch, TestStopAbandonsASlowBatch,
//     TestStopEndsTheTries.
//
// I2 and I3, exact and once:
//
//   - An action that changes nothing is not published:
//     TestNothingIsPublishedWhenNothingChanges.
//   - Actions on one state are serialised, and each action gets a version above that of
//     the state that was read: TestActionsOnOneStateTakeTurns,
//     TestVersionRisesAboveTheSeenOne.
//   - An action of unknown outcome loses to the next action on its state, even if it is
//     persisted later: TestNextActionResolvesTheOneInDoubt,
//     TestClearLeavesTheOtherReactionInDoubt.
//   - A redelivered message counts once: TestRedeliveredMessageCountsOnce. If its id has
//     been pruned and its reads might count again, the message is rejected:
//     TestRedeliveryAfterPruningCountsOnce.
//   - Marks of a transaction that may have been rolled back are invalidated before any
//     of its messages is persisted: TestAllThatIsRedeliveredIsInvalidatedFirst,
//     TestMarksOfAFailedTryAreInvalidatedBeforeTheNext. The same holds for marks of a
//     commit that hangs: TestMarksOfACommitThatHangsAreInvalidated.
//   - All of this holds while stores fail and workers die:
//     TestEveryUserEndsWithTheLastAcknowledgedAction.
//
// I4 Read your writes: confirmed actions are applied before the reply, no other actions
// are applied, and marks are made before the commit: TestReplyComesAfterApply,
// TestCancelledActionIsStillAppliedAndPersisted, TestOnlyConfirmedActionsAreApplied,
// TestMarksComeBeforeTheCommitAndTheAckAfterIt.
//
// I4a A clear is conditional, no matter what is known about the previous state, even when
// it bypasses the queue: TestClearsAreConditional, TestClearPastTheQueueIsConditional.
//
// A barrier (Barriers) passes only when everything that was confirmed before it in its
// partition is persisted or rejected: TestBarrierIsPassedWithTheMessagesBeforeIt,
// TestBarrierWaitsForRequeuedMessages, TestRedeliveredBarrierIsNotPassed. It is published
// repeatedly until it passes, and is never dead-lettered:
// TestBarriersArePublishedUntilTheyArePassed, TestBarriersWaitForTheQueue,
// TestBarrierThatFailsIsNotRejected.
//
// I6 Degrade, and say so:
//
//   - An action is published even if its state cannot be read, and succeeds even if it
//     cannot be shown: TestClearsAreConditional, TestFailedApplyFailsNoAction.
//   - A queue that is unavailable is bypassed, and is not called for a while:
//     TestUnavailableQueueIsBypassed, TestUnavailableQueueIsNotCalled,
//     TestCallsDoNotWaitForAnUnavailableQueue,
//     TestTrialsAreShort, TestRecoveredQueueIsUsed.
//   - An action that cannot be made durable in time fails with storage.ErrUnavailable:
//     TestPublishThatTakesTooLongIsUnavailable.
//   - A Worker waits for a store or a mirror that is unavailable, and a message
//     that fails by itself delays no other message: TestUnavailableIsRetried,
//     TestPoisonIsIsolated. A batch cannot fail forever because of its size:
//     TestBatchThatTakesTooLongIsHalved. A batch whose commit hangs is not halved:
//     TestBatchWhoseCommitHangsIsNotHalved.
//   - Partitions are processed concurrently, each in order:
//     TestPartitionsAreWorkedOnSideBySide.
//   - Counts that a Worker could not publish are published by the next Worker that
//     processes the message: TestUnpublishedCountsArePublishedByTheNextWorker.
//
// I7 Bounded: a lone action is sent immediately, concurrent actions share messages, and
// callers wait for room in the backlog only until their context ends:
// TestLoneActionIsPublishedAtOnce, TestActionsInFlightShareAMessage,
// TestPartitionsTakeTurns, TestPartitionsLinger, TestFullBacklogHonoursTheContext.
// Anonymous users have a smaller backlog of their own:
// TestAnonymousReadsLeaveRoomForSignedInLikes. A Worker begins batches at its pace,
// without delay after an idle period, and early if the batch is full:
// TestBatchesKeepThePace, TestFullBatchesIgnoreThePace.
//
// Comments bypass the queue: they go straight to the database, and concurrent comments
// share a transaction (group commit, docs/decisions/0022). A comment that cannot be
// stored fails alone, as do comments on a locked subject. While the database is
// unavailable, callers fail fast: TestCommentsThatWaitShareATransaction,
// TestCommentThatCannotBeStoredFailsAlone, TestCommentsOnALockedSubjectFailAlone,
// TestManyLockedSubjectsDelayOthersForABoundedTime,
// TestCommentsAreUnavailableWhileTheDatabaseIs, TestCommentWhoseCallerLeavesIsCommitted.
// Messages work in the same way (docs/decisions/0025):
// TestMessagesThatWaitShareATransaction, TestMessagesAreUnavailableWhileTheDatabaseIs.
// Concurrent edits and deletions of comments use at most two connections:
// TestChangesOfCommentsUseFewConnections.
//
// Batches of actions (ActionBatches, docs/decisions/0029) go straight to the database, each
// in a transaction of its own, and to the queue while that takes too long. A batch counts
// once either way: TestBatchOfActionsIsRecordedOnce,
// TestBatchOfActionsIsQueuedWhileTheDatabaseIsUnavailable,
// TestBatchesOfActionsTakeTurns, TestBatchOfActionsIsUnavailable.
//
// Declarations of authors go straight to the database, too. A stalled declaration is
// retried under the same message id: TestDeclarationsAreRetriedOnce. A hanging commit
// does not block the caller, and does not block Close for longer than the context of
// Close: TestDeclarationTimesOutWhileItsCommitHangs.
//
// This package imports storage, outage and breaker and no other package of this module.
package worker
