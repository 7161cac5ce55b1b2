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
// them.
//
// The queue is a contract (Publisher, Consumer) with one conformance suite,
// worker/queuetest; worker/local is the one that lives in this process. The
// Mirror is what all nodes see of states and counts besides the database.
// With a queue that lives in this process there is nothing to mirror, and
// local.Mirror does nothing.
//
// # Invariants
//
//   - I1 Acknowledged is durable: Recorder.Record returns nil only after the
//     queue has confirmed; a Worker acknowledges only after the commit.
//   - I3 Once: a redelivered message changes nothing (the inbox of
//     storage.Persister), and an action that changes nothing is not published.
//   - I4 Read your writes: what is confirmed is shown before the reply, and
//     marks are made before the commit.
//
// This package imports storage and nothing else of this module.
package worker
