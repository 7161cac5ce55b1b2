// Package window is the codec and the merge of what one user did: entries of a
// window as Redis holds them, without any call of Redis or of the database.
//
// An Entry is what is known of one state (the reaction or the collection of one
// user on one subject): its value, its version, whether it is queued (shown) or
// about to be committed (marked), and a history of what the counts included of it.
// Entries are both of one subject; one field of a window holds them
// (lua/entry.lua of package scripts has the format).
//
// # Own action, exact count
//
// What a viewer sees is
//
//	count + own state − own state in the history at the newest version not above the count's
//
// Show applies it. It reports false where the history does not reach back to the
// version of the counts; newer counts, or counts and states of one moment from the
// database (Since), are needed then.
//
// # Invariants
//
//   - Whatever the order in which actions and the database's states are merged
//     into an entry (Lay, Learn, Since), it is what storage.Register makes of them:
//     TestReactionsMergeInAnyOrder of package redis.
//   - A text that is no entry is an error, never another entry:
//     TestMalformedValueIsReplacedFromTheDatabase of package redis.
//   - Entries of a subject that the database knew better are replaced, with a
//     history that begins at the version of its counts.
//
// It imports package storage alone.
package window
