package answers

import (
	"context"
	"errors"
	"time"

	"ovation/storage"
	"ovation/storage/redis/internal/counts"
	"ovation/storage/redis/internal/database"
	"ovation/storage/redis/internal/dependency"
	"ovation/storage/redis/internal/epochs"
	"ovation/storage/redis/internal/pending"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/window"
	"ovation/storage/redis/internal/windows"
)

var (
	errViewersTenant = &storage.InvalidError{Field: "tenant", Reason: "must be the viewer's for every subject"}
	errKeysTenant    = &storage.InvalidError{Field: "tenant", Reason: "must be the same for user and subject"}
)

// Reader serves reads from Redis, and from the database if Redis is unavailable or lacks
// entries.
type Reader struct {
	Epochs          *epochs.Keeper
	Counts          *counts.Reader
	Windows         *windows.Reader
	Pending         *pending.Writes
	Scripts         *scripts.Runner
	Source          database.Source
	DatabaseBackend *dependency.Backend
}

// query is a viewer's request for subjects in an epoch, with its result.
type query struct {
	at       *epochs.Epoch
	viewer   storage.User
	kinds    storage.Kinds
	subjects []storage.Subject
	keys     []storage.StateKey // nil for an anonymous viewer
	out      []storage.Interactive
}

// subset returns a query for some of the subjects of q, with their results so far. The
// parameter at holds the indices of these subjects.
func (q *query) subset(at []int) *query {
	return &query{q.at, q.viewer, q.kinds, pick(q.subjects, at), pick(q.keys, at), pick(q.out, at)}
}

// Interactives returns counts and the viewer's states. Both include the viewer's own
// acknowledged actions while Redis is available.
//
// Interactives does not fail if a dependency is unavailable. Unknown counts are zero, and
// their freshness is storage.Unavailable. A result is storage.Stale in these cases:
//   - The database, which lacks queued actions, has answered instead of Redis.
//   - Redis has answered while the database is unavailable.
//   - Redis may lack the viewer's actions or other changes.
//   - The viewer's states are unknown.
func (r *Reader) Interactives(
	ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds,
) ([]storage.Interactive, error) {
	q := &query{viewer: viewer, kinds: kinds, subjects: subjects}
	if !viewer.Anonymous() {
		q.keys = make([]storage.StateKey, len(subjects))
	}
	for i, subject := range subjects {
		if subject.Tenant != viewer.Tenant {
			return nil, errViewersTenant
		}
		if q.keys != nil {
			q.keys[i] = storage.StateKey{User: viewer, Subject: subject}
		}
	}
	if len(subjects) == 0 {
		return []storage.Interactive{}, nil
	}
	ctx = database.WithFailFast(ctx)
	if q.at = r.Epochs.Active(); q.at == nil {
		return r.fromDatabase(ctx, q)
	}
	// Checked before the read: writes that Redis lacks now may be missing from its reply.
	doubted := q.keys != nil && r.Epochs.MayMissWrites(q.at)
	err := r.fromRedis(ctx, q)
	switch {
	case err == nil && (doubted || !r.Epochs.LeaseValid(q.at)): // checked after the read: the epoch may be over
		markStale(q.out)
	case errors.Is(err, storage.ErrUnavailable):
		return r.fromDatabase(ctx, q)
	}
	return q.out, err
}

// markStale changes the freshness of live results to storage.Stale.
func markStale(out []storage.Interactive) {
	for i := range out {
		if out[i].Freshness == storage.Live {
			out[i].Freshness = storage.Stale
		}
	}
}

// databaseDown reports whether err means that the database is unavailable, and not that
// the caller has cancelled.
func databaseDown(ctx context.Context, err error) bool {
	return errors.Is(err, storage.ErrUnavailable) && ctx.Err() == nil
}

// fromDatabase answers without Redis.
func (r *Reader) fromDatabase(ctx context.Context, q *query) ([]storage.Interactive, error) {
	overlay, asked := r.Pending.Overlay(q.keys), q.kinds
	if overlay != nil {
		asked |= window.KindSet
	}
	out, err := r.Source.Interactives(ctx, q.viewer, q.subjects, asked)
	freshness := storage.Stale
	if err != nil {
		if !databaseDown(ctx, err) {
			return nil, err
		}
		freshness = storage.Unavailable
		out = make([]storage.Interactive, len(q.subjects))
	}
	for i := range out {
		out[i].Subject, out[i].Freshness = q.subjects[i], freshness
		if overlay != nil {
			var is window.Entries
			is.MergeSnapshot(&out[i])
			overlay.ApplyTo(q.keys[i], &is)
			is.ApplyTo(&out[i], q.keys[i], q.kinds)
		}
	}
	return out, nil
}

// fromRedis answers from Redis, and from the database for missing entries. Errors:
// storage.ErrUnavailable if Redis is unavailable; the context's error.
func (r *Reader) fromRedis(ctx context.Context, q *query) error {
	if err := r.read(ctx, q, true); err != nil {
		return err
	}
	if q.keys == nil || !q.kinds.Has(storage.KindRead) {
		return nil
	}
	return r.addReads(ctx, q)
}

// read reads the counts, through the caches if cached is true, and then the viewer's
// states. If the counts of a subject are older than the history of its states, both are
// read again, without the caches. If the counts are still too old, both are read from the
// database (readSnapshot).
func (r *Reader) read(ctx context.Context, q *query, cached bool) error {
	found, fills, err := r.Counts.Read(ctx, q.at.Keys, q.subjects, cached)
	if err != nil {
		return err
	}
	q.out = make([]storage.Interactive, len(q.subjects))
	freshness := storage.Live
	if !r.DatabaseBackend.Healthy() {
		freshness = storage.Stale
	}
	for i := range q.out {
		q.out[i] = storage.Interactive{Subject: q.subjects[i], Counts: found[i].Counts, Freshness: freshness}
		if !found[i].Known {
			q.out[i].Freshness = storage.Unavailable
		}
	}
	if q.keys == nil {
		r.Scripts.RunBestEffort(ctx, fills)
		return nil
	}
	own, err := r.entries(ctx, q.at, q.keys, false, fills)
	if err != nil {
		return err
	}
	var older []int
	for i := range q.out {
		if !own[i].ApplyTo(&q.out[i], q.keys[i], q.kinds) {
			older = append(older, i)
		}
	}
	if older == nil {
		r.Windows.Recycle(own)
		return nil
	}
	again := q.subset(older)
	if cached {
		err = r.read(ctx, again, false)
	} else {
		err = r.readSnapshot(ctx, again, pick(own, older))
	}
	if err != nil {
		return err
	}
	for i, n := range older {
		q.out[n] = again.out[i]
	}
	return nil
}

// addReads sets how often the viewer has read each subject, according to the database. If
// the database is unavailable, the results become storage.Stale.
func (r *Reader) addReads(ctx context.Context, q *query) error {
	stored, err := r.Source.States(ctx, q.keys, storage.KindsOf(storage.KindRead))
	if databaseDown(ctx, err) {
		markStale(q.out)
		return nil
	}
	for i := range stored {
		q.out[i].Read = stored[i].Read
	}
	return err
}

// readSnapshot reads counts and states from the database in one snapshot, so that it is
// known which states the counts include. The parameter own holds the viewer's entry for
// each kind on each subject. If an entry includes actions that the database lacks,
// readSnapshot overlays these actions on the results. It also writes the counts to Redis,
// where they might otherwise remain older than the histories of the entries. The results
// are storage.Stale if the database is unavailable, if the write fails or if the read
// takes longer than counts.MaxWriteDelay.
func (r *Reader) readSnapshot(ctx context.Context, q *query, own []window.Entries) error {
	asked := time.Now()
	found, err := r.Source.Interactives(ctx, q.viewer, q.subjects, window.KindSet)
	if databaseDown(ctx, err) { // the counts may lack the viewer's actions
		markStale(q.out)
		return nil
	}
	if err != nil {
		return err
	}
	freshness := storage.Live
	fills := make([]scripts.Call, len(found))
	for i := range found {
		fills[i] = r.Counts.Write(q.at.Keys, q.subjects[i], found[i].Counts)
	}
	if time.Since(asked) > counts.MaxWriteDelay || r.Scripts.RunAll(ctx, "fill", fills, nil) != nil {
		freshness = storage.Stale
	}
	for i := range q.out {
		to := &q.out[i]
		own[i].MergeSnapshot(&found[i])
		to.Counts, to.Freshness = found[i].Counts, freshness
		r.Counts.Cache.Observe(q.at.Keys, q.subjects[i], to.Counts)
		own[i].ApplyTo(to, q.keys[i], q.kinds)
	}
	return nil
}

// entries reads the viewer's entries, never from a cache. It overlays this process's
// pending writes on the entries.
func (r *Reader) entries(
	ctx context.Context, at *epochs.Epoch, keys []storage.StateKey, renew bool, fills []scripts.Call,
) ([]window.Entries, error) {
	overlay := r.Pending.Overlay(keys) // taken before Redis is read
	out, err := r.Windows.Entries(ctx, at.Keys, keys, renew, fills)
	if err != nil {
		return nil, err
	}
	if overlay != nil {
		for i := range out {
			overlay.ApplyTo(keys[i], &out[i])
		}
	}
	return out, nil
}

// pick returns some elements of list. The parameter at holds their indices.
func pick[E any](list []E, at []int) []E {
	out := make([]E, len(at))
	for i, n := range at {
		out[i] = list[n]
	}
	return out
}
