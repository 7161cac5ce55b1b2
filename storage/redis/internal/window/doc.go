// Package window encodes, decodes and merges a user's states: the entries of a window as
// stored in Redis. It calls neither Redis nor the database.
//
// An Entry is what is known of one state (the reaction, the collection or the follow of
// one user on one subject): its value, its version, whether it is queued or about to be
// committed (marked), and a history of what the counts included of it. Entries are all
// that is known of one user's states on one subject. They are stored in one field of a
// window (lua/entry.lua of package scripts has the format).
//
// # Own action, exact count
//
// A viewer sees
//
//	count + own state − own state in the history at the newest version not above the count's
//
// ApplyTo computes it. It returns false if the history does not reach back to the version
// of the counts; newer counts, or counts and states in one snapshot of the database
// (MergeSnapshot), are needed then.
//
// # Invariants
//
//   - In whatever order actions and states of the database are merged into an entry
//     (Apply, MergeStates, MergeSnapshot), the result is that of storage.Register:
//     TestReactionsMergeInAnyOrder of package redis.
//   - A malformed text is an error, never another entry:
//     TestMalformedValueIsReplacedFromTheDatabase of package redis.
//   - Entries that are older than the database's are replaced, with a history that begins
//     at the version of the database's counts.
//
// This package imports package storage alone.
package window
