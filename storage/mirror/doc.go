// Package mirror is the contract between a mirror (a cache of the write path, package
// storage/redis) and the database behind it. It defines what a database provides for a
// mirror in addition to the roles of package storage.
//
// A mirror can be trusted only while every transaction records its changes in it. The
// database therefore counts epochs. A transaction that commits in an open epoch first
// marks its changes in the mirror (storage.Mark). If the mirror is unavailable or has
// lost data, the processes that use it close the epoch or begin the next one; entries of
// an earlier epoch are ignored. A barrier shows when everything that was queued at a
// given moment has been persisted.
//
// # Invariants
//
// Every Database has these properties. The names are those of tests and of cases of
// storagetest.RunDatabase.
//
//   - The number of the epoch only increases: EpochsRise.
//   - No transaction spans two epochs: NoTransactionStraddlesEpochs,
//     EpochChangeWaitsForTransactions. Nothing is committed for EpochGrace after the end
//     of an epoch: EndedEpochRejectsUntilTheNextBegins.
//   - A barrier is passed once every partition has passed it, and its number is never
//     reused: BarrierIsPassedByEveryPartition, RestoredDatabaseUsesNoBarrierTwice.
//   - A window is either complete or marked as incomplete:
//     WindowsAreCompleteOrMarkedIncomplete.
//   - A transaction whose mark takes longer than MarkTime is rolled back:
//     TestMarkThatTakesTooLongIsNotCommitted.
//
// This package imports storage and no other package of this module.
package mirror
