// Package archive writes everything that a tenant or a user has to a file, and merges such
// a file into a store: to move a site from one way to run it to the other, to keep a copy
// that any release reads, or to give users their data.
//
// # Format
//
// A file is NDJSON: one JSON object a line. The first line, the header, names the format,
// its version, the tenant, the user if only that user's data is exported, and the time.
// Every other line but the last has a type (see typeNames). The last line, the trailer, has
// the number of lines of each type and the SHA-256 of all lines before it. Lines are in an
// order in which they can be merged: comments before their replies, for example.
//
// # Invariants
//
//   - An import of an export holds the same: TestFilesRestoreWhatWasExported, and with real
//     databases TestMovesBetweenTheWaysToRun of cmd/ovation.
//   - Nothing is imported from a file that is truncated, changed, of a newer version or
//     otherwise invalid: TestBadFilesImportNothing.
//   - Importing a file again changes nothing, and files are merged by their times
//     (storage.Archives): TestFilesRestoreWhatWasExported.
//   - Memory is bounded for any file: lines are at most maxLine long, and an Archive is
//     restored before the next one is complete.
//   - Hashes of passwords are exported only on request: TestPasswordsAreLeftOut.
//
// This package imports storage and no other package of this module.
package archive
