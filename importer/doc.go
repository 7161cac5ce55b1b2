// Package importer imports actions from another platform: it reads a CSV or NDJSON file
// and writes to a Store. Open opens the file, plain or packed. A Mapping states the meaning
// of its columns and event names. Import streams the file in bounded memory: one goroutine
// reads while others write, in at most two transactions at a time.
//
// # Invariants
//
//   - I3 Once. Importing the same file again with the same mapping changes nothing, an import that
//     was killed resumes where it stopped, and a file that has grown adds only
//     its new rows: TestImportsOnceDespiteInterruptions,
//     TestBlockThatWasBegunIsCompleted,
//     TestGrownFileImportsOnlyItsNewRows, TestIDsAfterAGapAreNotLookedUp.
//   - Of two actions on one state with the same time, the later action in the file wins
//     (within a distance, see tieBreaker): TestImportsOnceDespiteInterruptions. In a file
//     without times, it wins at any distance: TestRowsOfOneTimeKeepTheirOrder.
//   - No row of a packed file that is truncated or damaged is imported:
//     TestUnreadableFilesSayWhereAndWhy. From a stream, the rows before the damage are
//     imported, and the error states the position of the damage:
//     TestDamagedStreamIsReportedWithItsPosition.
//   - The rows of a block are written in the order of their keys:
//     TestABlockIsWrittenInTheOrderOfItsKeys.
//   - Items of collections go to the folder of their row, which is created once:
//     TestItemsKeepTheirFolders, TestFoldersAreMadeOnceDespiteInterruptions. No user gets more than
//     storage.MaxFolders: TestUsersGetNoMoreFoldersThanTheyMayHave.
//   - Memory is bounded for any file: TestEndlessRowsAreRefused.
//   - Comments have the time of their row and are listed by that time:
//     TestCommentsAreImported. Importing comments later, from a file whose other rows
//     were imported before, imports nothing else: TestCommentsAreMappedLater. Texts from
//     which earlier versions removed code points are not imported twice:
//     TestCommentsOfAnEarlierRuleAreNotRepeated.
//
// # How actions are imported only once
//
// Every action of the file has a prefix id: a SHA-256 hash chained over the tenant, user,
// subject, kind, value and time of all actions up to and including it. The prefix id of
// an action therefore identifies all actions up to it, under one mapping. The packing of
// the file, the order of its columns, and skipped or invalid rows do not matter. Comments
// are a separate stream, with smaller blocks and a chain of its own. That chain includes
// their texts.
//
// Actions are read in blocks of blockActions, counted from the start of the file. A block
// is written in groups, in the order of its keys. In a file, the keys are in random
// order. If rows were written in that order, nearly every row would touch a different
// page of every table and index. The last group of a block is stored with the prefix id
// of the block's last action. Every other group is stored with an id that states how much
// of its part of the block is written (see part). All these ids are kept forever.
//
// Before a block is written, its prefix ids are looked up in the store. The last prefix
// id found shows how many of the block's actions are stored already. Another id shows
// whether the rest of the block was begun, and further ids show how much of the rest was
// written. Only the remaining actions are written. Groups are committed one after
// another, and blocks in the order of the file. Nothing after a missing group has
// therefore been written, and later blocks are not looked up. The rows of a group are
// written while the transaction of the preceding group ends, provided that the preceding
// transaction needs no more locks and is not retried:
// TestAGroupIsCommittedAfterTheOneBefore.
//
// If a row is changed or removed in a file that was imported before, all rows from that
// row on are taken for new rows, and their reads are counted again. Put corrections in a
// separate file.
//
// This package imports storage and no other package of this module.
package importer
