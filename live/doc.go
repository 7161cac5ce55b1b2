// Package live tells whoever watches a subject of every change of its counts.
//
// A Hub, one per process, holds the watchers and the newest counts of what
// they watch. It is told that subjects may have changed (Changed, ChangedAll),
// reads all of them together, once, whatever the number of watchers, and hands
// the same Event to each watcher. What tells it is the client-side cache of
// Redis, whose invalidations are the signal, or in a single process the store
// itself (Telling).
//
// A watcher is no goroutine: it is looked at by whoever serves the subscriber,
// in Watcher.Next. Between two looks it keeps the newest event of each of its
// subjects and nothing else.
//
// This package imports package storage, the metrics library and the standard
// library.
package live
