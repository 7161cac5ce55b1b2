// Package local is the write path of a single process: a queue in memory and
// a mirror for it.
//
// Publish returns only when a worker has settled the message. What a caller
// was told is durable is therefore in the database, nothing that is
// acknowledged is lost with the process (I1), and the database itself shows
// the latest acknowledged action: the mirror has nothing to hold.
//
// # Invariants
//
//   - The queue keeps the contract of package worker: TestQueueContract.
//   - Publish succeeds only after an Ack: TestPublishWaitsForTheWorker.
//   - What a publisher gave up before a worker had it leaves nothing behind:
//     TestAbandonedMessageLeavesTheQueue.
//   - A store's state is looked at as it is: TestMirrorLooksIntoTheStore.
//
// This package imports worker and storage and nothing else of this module.
package local
