// Package window encodes, decodes and merges a user's states: the entries of a window as
// stored in Redis. It calls neither Redis nor the database.
//
// An Entry describes what is known of one state: the reaction, the collection or the
// follow of one user on one subject. It holds the value, the version, whether the state
// is queued or marked, and a history. The history lists what the state contributes to
// successive versions of the counts. Entries holds the three entries of one user on one
// subject. They are stored in one field of a window, in the format that lua/entry.lua of
// package scripts describes.
//
// # Own action, exact count
//
// A viewer sees
//
//	count + latest state − state included in the count
//
// The states are the viewer's own. The included state is the newest one in the history
// whose version is not above the version of the count. ApplyTo computes the result. It
// returns false if the history does not reach back to the version of the counts. The
// caller then needs newer counts, or counts and states from one snapshot of the database
// (MergeSnapshot).
//
// # Invariants
//
//   - Actions and states from the database may be merged into an entry in any order
//     (Apply, MergeStates, MergeSnapshot). The result is that of storage.Register:
//     TestReactionsMergeInAnyOrder of package redis.
//   - Decoding a malformed text yields an error, never an entry:
//     TestMalformedValueIsReplacedFromTheDatabase of package redis.
//   - An entry that is older than the state in the database is replaced. The history of
//     the new entry begins at the version of the database's counts.
//
// This package imports only package storage.
package window
