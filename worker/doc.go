// Package worker is the write path: what happens between a mutation and the
// database.
//
//	mutation → Recorder → batcher → Publisher ~~ queue ~~ Consumer → Worker → storage.Persister
//	               └────────── Look, Show ── Mirror ── Mark, Publish ───┘
//
// A Recorder looks whether an action changes anything, gives it a version and
// hands it to the batcher, which publishes what is in flight as one message
// per partition and replies when the queue has made it durable. A Worker takes
// messages, persists them many at a time and exactly once, and acknowledges
// them. Folders deletes folders, part by part. A Fallback is a Publisher that
// persists by itself while its queue is away.
//
// The queue is a contract (Publisher, Consumer) with one conformance suite,
// worker/queuetest; worker/local is the one that lives in this process. The
// Mirror is what all nodes see of states and counts besides the database.
// With a queue that lives in this process there is nothing to mirror, and
// local.Mirror does nothing.
//
// # Invariants
//
// I1 Acknowledged is durable:
//
//   - Record returns nil only after the queue has confirmed, and a Worker
//     acknowledges only after the commit: TestAcknowledgedActionIsInTheStore,
//     TestMarksComeBeforeTheCommitAndTheAckAfterIt.
//   - An action once accepted is published whatever its caller does, and
//     before Close returns: TestHangUpStillShowsAndPersists,
//     TestCloseSendsTheBacklog.
//   - A Worker that stops finishes what it has in hand and gives back the
//     rest: TestStopFinishesTheBatchInHand,
//     TestStopGivesUpABatchThatTakesTooLong, TestStopEndsTheTries.
//
// I2 and I3, exact and once:
//
//   - An action that changes nothing is not published:
//     TestNothingIsPublishedWhenNothingChanges.
//   - Actions on one state take turns, and each is newer than what was seen
//     before it: TestActionsOnOneStateTakeTurns,
//     TestVersionRisesAboveWhatWasSeen.
//   - An action that failed without anyone knowing its fate loses to the next
//     one on its state, even if it lands after all:
//     TestActionInDoubtDoesNotOutliveTheNext,
//     TestClearLeavesTheOtherReactionInDoubt.
//   - A redelivered message counts once: TestRedeliveredMessageCountsOnce. One
//     that comes again after its id was forgotten is rejected where that cannot
//     be told: TestRedeliveryAfterPruningCountsOnce.
//   - What a transaction may have marked that was rolled back is forgotten
//     before anything of it is persisted: TestAllThatIsRedeliveredIsForgottenFirst,
//     TestMarksOfAFailedTryAreForgottenBeforeTheNext. So are the marks of a
//     commit that hangs: TestMarksOfACommitThatHangsAreForgotten.
//   - All together, with failing stores and dying workers:
//     TestEveryUserEndsWithTheLastAcknowledgedAction.
//
// I4 Read your writes: what is confirmed is shown before the reply, nothing
// else is, and marks are made before the commit: TestReplyComesAfterTheShow,
// TestHangUpStillShowsAndPersists, TestNothingIsShownThatIsNotConfirmed,
// TestMarksComeBeforeTheCommitAndTheAckAfterIt.
//
// I4a A clear is conditional, whatever is known of the state before it, also
// past the queue: TestClearsAreConditional, TestClearPastTheQueueIsConditional.
//
// A barrier (Barriers) is passed only once everything that was confirmed before it
// in its partition is persisted or rejected: TestBarrierIsPassedWithWhatIsBeforeIt,
// TestBarrierIsNotPassedBehindWhatWasGivenBack, TestRedeliveredBarrierIsNotPassed.
// It is published until it is passed, and is no dead letter:
// TestBarriersArePublishedUntilTheyArePassed, TestBarriersWaitForTheQueue,
// TestBarrierThatFailsIsNotRejected.
//
// I6 Degrade, and say so:
//
//   - A state that cannot be looked at does not keep an action from the queue,
//     nor does one that cannot be shown fail it: TestWhatCannotBeKnownIsPublished,
//     TestFailedShowFailsNobody.
//   - A queue that is unavailable is bypassed, and for a while not asked:
//     TestQueueThatIsAwayIsBypassed, TestQueueThatIsAwayIsLeftAlone,
//     TestNobodyWaitsForAQueueThatIsAway,
//     TestTrialsAreShort, TestQueueThatComesBackIsUsed.
//   - What cannot be made durable in time is storage.ErrUnavailable:
//     TestPublishThatTakesTooLongIsUnavailable.
//   - A Worker waits for a store or a mirror that is unavailable, and a message
//     that fails for itself holds up no other: TestUnavailableIsTriedAgain,
//     TestPoisonIsIsolated. Nor does a batch fail for ever for its size:
//     TestBatchThatTakesTooLongIsHalved. One whose commit hangs is not:
//     TestBatchWhoseCommitHangsIsNotHalved.
//   - Partitions are worked on side by side, each in order:
//     TestPartitionsAreWorkedOnSideBySide.
//   - Counts that a Worker could not publish are published by whoever has the
//     message next: TestCountsThatWereNotToldAreToldByTheNext.
//
// I7 Bounded: a lone action leaves at once, those in flight share messages, and
// a full backlog makes callers wait no longer than they want:
// TestLoneActionLeavesAtOnce, TestActionsInFlightShareAMessage,
// TestPartitionsTakeTurns, TestPartitionsLinger, TestFullBacklogHonoursTheContext.
// Anonymous users have a smaller backlog of their own:
// TestAnonymousReadsLeaveRoomForSignedInLikes.
// A Worker begins batches at its pace, what comes after a rest at once, and
// plenty before its time: TestBatchesKeepThePace, TestPlentyIsAheadOfThePace.
//
// This package imports storage and outage and nothing else of this module.
package worker
