// Package importer reads what users did on another platform from a CSV or
// NDJSON file and writes it into a storage.Persister: a Source opens the file,
// plain or packed, a Mapping tells what its columns and event names mean, and
// Import streams it with bounded memory: one goroutine reads while others write
// the two transactions that are under way at most.
//
// # Invariants
//
//   - I3 Once. The same file changes nothing the second time, an import that
//     was killed goes on where it stopped, and of a file that has grown only
//     the new rows are imported: TestImportsOnceWhateverHappens,
//     TestBlockThatWasBegunIsCompleted,
//     TestGrownFileImportsOnlyItsNewRows, TestWhatLiesBehindAGapIsNotAskedFor.
//   - Of two actions on one state with the same time, the one further down in
//     the file wins: TestLaterRowWinsATie.
//   - Of a packed file that is cut off or damaged nothing is imported:
//     TestUnreadableFilesSayWhereAndWhy. Of a stream, what came before is, and
//     the error says so: TestDamageOfAStreamIsToldWhereItIsMet.
//   - Random keys are written in order, a block at a time:
//     TestABlockIsWrittenInTheOrderOfItsKeys.
//   - Memory is bounded whatever the file holds: TestEndlessRowsAreRefused.
//
// # How once is kept
//
// Every action of the file has a prefix id: a SHA-256 chained over the tenant,
// user, subject, kind, value and time of all actions from the first one to it.
// So an id stands for "everything up to here", as this mapping sees it. How
// the file is packed, the order of its columns, and rows that are skipped or
// bad do not enter.
//
// Actions are read in blocks of blockActions, counted from the start of the file, and
// a block is written in the order of its keys, in groups: rows with random keys would
// else touch a page of every table and index for nearly each row. The last group of a
// block carries the prefix id of its last action, and each other one an id that says
// how far it went (see part). All are remembered forever.
//
// Before a block is written, the store is asked which of the block's prefix
// ids it has seen. The last seen one tells how many of the block's actions are
// there already; whether those behind it were begun is asked by one more id, and
// how far they were written by further ones. Only the others are
// written. Groups are committed one after the other, and blocks in the order of the
// file, so that nothing behind them is there either, and the store is not asked
// again. A group's rows are
// written while the one before is marked and committed, when that one needs no
// more locks and is not tried again: TestAGroupIsCommittedAfterTheOneBefore.
//
// A file of which a row was changed or taken away is another file from that
// row on: its reads would count again. Corrections belong into a file of their
// own.
//
// This package imports storage and nothing else of this module.
package importer
