// Package importer imports actions from another platform: it reads a CSV or NDJSON file
// and writes to a storage.Persister. Open opens the file, plain or packed; a Mapping
// states the meaning of its columns and event names; and Import streams the file in
// bounded memory: one goroutine reads while others write, in at most two transactions at
// a time.
//
// # Invariants
//
//   - I3 Once. Importing the same file again changes nothing, an import that
//     was killed resumes where it stopped, and a file that has grown adds only
//     its new rows: TestImportsOnceDespiteInterruptions,
//     TestBlockThatWasBegunIsCompleted,
//     TestGrownFileImportsOnlyItsNewRows, TestIDsAfterAGapAreNotLookedUp.
//   - Of two actions on one state with the same time, the later one in
//     the file wins: TestImportsOnceDespiteInterruptions.
//   - Nothing of a packed file that is truncated or damaged is imported:
//     TestUnreadableFilesSayWhereAndWhy. Of a stream, the rows before the damage are
//     imported, and the error states its position:
//     TestDamagedStreamIsReportedWithItsPosition.
//   - Random keys are written in order, a block at a time:
//     TestABlockIsWrittenInTheOrderOfItsKeys.
//   - Memory is bounded for any file: TestEndlessRowsAreRefused.
//   - Comments have the time of their row and are listed by that time:
//     TestCommentsAreImported. Importing them later, from a file whose other rows were
//     imported before, imports nothing else: TestCommentsAreMappedLater.
//
// # How actions are imported only once
//
// Every action of the file has a prefix id: a SHA-256 hash chained over the tenant, user,
// subject, kind, value and time of all actions from the first one to this one. An id
// therefore stands for "everything up to here", under this mapping. The packing of the
// file, the order of its columns, and skipped or invalid rows do not matter. Comments are
// a separate stream with its own chain, which includes their texts, and with smaller
// blocks.
//
// Actions are read in blocks of blockActions, counted from the start of the file, and a
// block is written in the order of its keys, in groups: keys are random, so in the order
// of the file nearly every row would touch another page of every table and index. The
// last group of a block is stored with the prefix id of the block's last action, and each
// other group with an id that says how far its part of the block was written (see part).
// All these ids are kept forever.
//
// Before a block is written, the store is asked which of the block's prefix ids it has
// seen. The last one it has seen says how many of the block's actions are stored already.
// One more id says whether the rest of the block was begun, and further ones how far it
// was written. Only the remaining actions are written. Groups are committed one after the
// other, and blocks in the order of the file, so nothing after a missing group has been
// written, and the store is not asked about later blocks. The rows of a group are written
// while the group before it is marked and committed, provided that the group before needs
// no more locks and is not retried: TestAGroupIsCommittedAfterTheOneBefore.
//
// A file in which a row was changed or removed counts as another file from that row on:
// its reads would count again. Corrections belong in a separate file.
//
// This package imports storage and no other package of this module.
package importer
