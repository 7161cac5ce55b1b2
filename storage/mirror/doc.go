// Package mirror is the contract between a cache of the write path (the mirror,
// package storage/redis) and the database behind it: what a database does for a
// mirror beyond the roles of package storage.
//
// A mirror may be believed only while every transaction tells it what it
// changes. The database therefore counts epochs. A transaction that commits in
// an open epoch marks its changes in the mirror first (storage.Mark); when the
// mirror is unavailable or has lost data, its processes close the epoch or begin
// the next one, and what the mirror holds of an earlier epoch is ignored. A
// barrier tells when everything that was queued at some moment is persisted.
//
// # Invariants
//
// Every Database keeps these; the names are those of the cases of
// storagetest.RunDatabase.
//
//   - The number of the epoch only rises: EpochsRise.
//   - No transaction straddles a change of epoch: NoTransactionStraddlesEpochs,
//     EpochChangeWaitsForTransactions. For EpochGrace after an epoch has ended
//     nothing is committed: EndedEpochRefusesThenGoesOn.
//   - A barrier is passed once every partition has passed it, and its number is
//     never used twice: BarrierIsPassedByEveryPartition,
//     RestoredDatabaseUsesNoBarrierTwice.
//   - A window is complete or says that it is not:
//     WindowsHoldAllOrSayThatTheyDoNot.
//   - A transaction whose mark took longer than MarkTime is rolled back:
//     TestMarkThatTakesTooLongIsNotCommitted.
//
// This package imports package storage and the standard library.
package mirror
