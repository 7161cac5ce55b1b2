// Package amqp is the queue in RabbitMQ, which many nodes publish to and many
// workers consume.
//
// Each partition is a durable quorum queue with one active consumer at a time.
// Publish returns storage.Queued when the broker has confirmed the message;
// the broker keeps it until a worker has acknowledged it. What cannot be
// persisted or read is put aside in one more queue with its reason, where Dead
// lists, shows, replays and drops it.
//
// A connection lives once: when it is lost another one is made, and what was
// delivered over the old one can no longer be settled. One connection
// publishes and another consumes and measures, so that an alarm, during which
// the broker stops reading from publishers, does not keep workers from
// acknowledging.
//
// Workers spread the partitions among themselves without knowing each other:
// each sees how many they are and passes on what is more than its share. On
// RabbitMQ 3.10 the broker heeds no priority of consumers of such queues (the
// one that asked first is served next), and tells a consumer neither that it is
// served nor how many wait.
//
// RabbitMQ 4 changes nothing here. Where nothing is said it puts a message
// aside after 20 deliveries, or drops it, and takes no message above 16 MiB;
// the queues say their own limit, and maxBody is that bound.
//
// The number of partitions belongs to the queues. ChangePartitions changes it while
// they are used.
//
// # Invariants
//
//   - The queue keeps the contract of package worker: TestQueueContract.
//   - I1 Acknowledged is durable: what was confirmed is delivered whatever
//     becomes of connections and the broker's process:
//     TestNothingConfirmedIsLostWhileConnectionsAreKilled,
//     TestBrokerInTrouble, also where it dies as soon as the queues are made. A
//     message that no queue has taken is not confirmed:
//     TestMessageWithoutAQueueIsNotConfirmed. Queues that are gone are made
//     again: TestConsumerWithoutAQueueDeclaresItAgain.
//   - The number of partitions changes without the loss of anything that was
//     confirmed, and at no moment do two processes use different ones (gate.go):
//     TestProcessesThatBeginAtOnceAgreeOnTheQueues,
//     TestChangeOfPartitionsLosesNothingThatWasConfirmed,
//     TestChangeOfPartitionsIsRefusedWhileAPublisherStays,
//     TestChangeOfPartitionsThatWasKilledIsCompleted,
//     TestChangeOfPartitionsThatFailsLeavesTheOldNumber,
//     TestChangeOfPartitionsFindsWhatLiesInUnusedQueues. Dead letters stay:
//     TestChangeOfPartitionsKeepsDeadLetters.
//   - A delivery of a lost connection settles nothing, in particular no other
//     delivery: TestStaleDeliverySettlesNothing.
//   - I6 Degrade, and say so: no call hangs on a broker that is away, silent or
//     takes no messages: TestStalledConnectionHoldsUpNobodyAndIsReplaced,
//     TestCloseEndsOverAStalledConnection, TestBrokerInTrouble,
//     TestOpenHonoursItsContext, TestDeadLettersHonourTheContext. What is wrong
//     with the options or the broker is said: TestOpenSaysWhatIsWrong,
//     TestAnotherTypeOfQueueIsRefused, TestOldBrokerIsRefused.
//   - No message is thrown away, whatever is in it:
//     TestUnreadableMessageIsPutAsideWithItsReason,
//     TestMessageThatIsNeverSettledIsPutAsideByTheBroker,
//     TestWorkersThatDieWithMessagesPutNoneAside,
//     TestRejectWithoutRoomForACopyLosesNothing.
//   - A message that cannot be persisted holds up no other:
//     TestPoisonIsPutAsideAndHoldsUpNothing.
//   - Each partition is served by one worker, and each worker is served its
//     share: TestPartitionsAreSpreadOverTheWorkers,
//     TestPartitionIsPassedOnWhenNoMessageOfItIsInHand.
//   - What one release has written every later one reads: TestFormOfVersion1.
//   - I7 Bounded: the window bounds what is published, the prefetch what is
//     delivered: ConsumerIsGivenABoundedNumber of the contract.
//
// This package imports worker and storage and nothing else of this module.
package amqp
