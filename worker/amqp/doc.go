// Package amqp is the queue in RabbitMQ, shared by many nodes that publish and many
// workers that consume.
//
// Each partition is a durable quorum queue with one active consumer at a time. Publish
// returns storage.Queued when the broker has confirmed the message; the broker keeps it
// until a worker has acknowledged it. Messages that cannot be decoded or persisted are
// dead-lettered with their reason into another queue; DeadLetters lists, shows, replays
// and drops them.
//
// A lost connection is replaced, and its deliveries can no longer be settled. One
// connection publishes and another consumes and measures, so that an alarm, during which
// the broker stops reading from publishers, does not prevent workers from acknowledging.
//
// Workers distribute the partitions among themselves without coordination: each worker
// counts the workers and hands over partitions in excess of its share. RabbitMQ 3.10
// ignores the priority of consumers of these queues (the first to subscribe is served
// next). The broker does not tell a consumer whether that consumer is active, or how many
// others wait.
//
// RabbitMQ 4 needs no different treatment. By default it dead-letters or drops a message
// after 20 deliveries, and refuses messages above 16 MiB; the queues declare a delivery
// limit of their own, and maxBody bounds the size of a message.
//
// The number of partitions is stored with the queues. ChangePartitions changes it while
// the queues are in use.
//
// # Invariants
//
//   - The queue implements the contract of package worker: TestQueueContract.
//   - I1 Acknowledged is durable: confirmed messages are delivered in spite of lost
//     connections and broker crashes, even a crash right after the queues are declared:
//     TestNothingConfirmedIsLostWhileConnectionsAreKilled, TestBrokerInTrouble. A message
//     that no queue has accepted is not confirmed:
//     TestMessageWithoutAQueueIsNotConfirmed. Deleted queues are declared again:
//     TestConsumerWithoutAQueueDeclaresItAgain.
//   - The number of partitions changes without loss of confirmed messages, and two
//     processes never use different numbers at the same time (gate.go):
//     TestProcessesThatBeginAtOnceAgreeOnTheQueues,
//     TestChangeOfPartitionsLosesNothingThatWasConfirmed,
//     TestChangeOfPartitionsIsRefusedWhileAPublisherStays,
//     TestChangeOfPartitionsThatWasKilledIsCompleted,
//     TestChangeOfPartitionsThatFailsLeavesTheOldNumber,
//     TestChangeOfPartitionsEmptiesUnusedQueues. Dead letters are kept:
//     TestChangeOfPartitionsKeepsDeadLetters.
//   - A delivery of a lost connection settles nothing, in particular no other
//     delivery: TestStaleDeliverySettlesNothing.
//   - I6 Degrade, and say so: no call hangs on a broker that is unavailable, is silent or
//     accepts no messages: TestStalledConnectionDelaysNoCallAndIsReplaced,
//     TestCloseEndsOverAStalledConnection, TestBrokerInTrouble,
//     TestOpenHonoursItsContext, TestDeadLettersHonourTheContext. Errors state what is
//     wrong with the options or the broker: TestOpenErrorsNameTheCause,
//     TestAnotherTypeOfQueueIsRefused, TestOldBrokerIsRefused.
//   - No message is discarded, regardless of its content:
//     TestUnreadableMessageIsDeadLetteredWithItsReason,
//     TestMessageDeliveredTooOftenIsDeadLettered, TestKilledWorkersDeadLetterNothing,
//     TestRejectWithoutRoomForACopyLosesNothing.
//   - Each partition has one active worker, and each worker gets its share of
//     partitions: TestPartitionsAreSpreadOverTheWorkers,
//     TestPartitionIsHandedOverOnceItsMessagesAreSettled.
//   - Every release can read the messages of all earlier releases: TestFormOfEachVersion.
//   - I7 Bounded: the window bounds unconfirmed messages, the prefetch bounds
//     deliveries: ConsumerHoldsABoundedNumber of the contract.
//   - Events are published in their order, and confirmed or repeated; a missing or another
//     exchange does not affect the queue: TestEventsArePublishedToTheTopicExchange,
//     TestAnotherExchangeIsRefused, TestEventsArePublishedAfterAnOutage.
//
// This package imports storage, worker and worker/events.
package amqp
