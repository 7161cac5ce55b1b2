// Package local is the queue and the mirror of a single process, in memory.
//
// Publish returns only when a worker has settled the message. An acknowledged action
// is therefore in the database, where it outlives the process (I1) and is visible to
// readers, so that the mirror has nothing to store.
//
// # Invariants
//
//   - The queue keeps the contract of package worker: TestQueueContract. Publish
//     succeeds only after an Ack: RejectedMessageIsDeadLettered and
//     CloseEndsConsumersAndPublishers of the contract.
//   - A message that is cancelled before delivery leaves nothing behind:
//     TestAbandonedMessageLeavesTheQueue.
//   - The mirror reads states from the store: TestMirrorReadsTheStore.
//
// This package imports storage and worker.
package local
