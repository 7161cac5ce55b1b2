package redis

import (
	"context"
	"errors"
	"time"

	"ovation/storage"
	"ovation/storage/redis/internal/behind"
	"ovation/storage/redis/internal/counts"
	"ovation/storage/redis/internal/epochs"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/window"
)

var (
	errViewersTenant = &storage.InvalidError{Field: "tenant", Reason: "must be the viewer's for every subject"}
	errKeysTenant    = &storage.InvalidError{Field: "tenant", Reason: "must be the same for user and subject"}
)

// Interactives looks up counts and the viewer's states. The viewer's own
// actions are in both, once they are acknowledged, while Redis is up.
//
// It does not fail because a part is down: counts that cannot be known are
// zeros and storage.Unavailable. They are storage.Stale where Redis is down
// and the database has answered, since it lacks what is still queued; where the
// database is down and Redis has answered; and where the viewer's states could
// not be known.
func (s *Store) Interactives(
	ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds,
) ([]storage.Interactive, error) {
	for i := range subjects {
		if subjects[i].Tenant != viewer.Tenant {
			return nil, errViewersTenant
		}
	}
	if err := s.ready(ctx); err != nil || len(subjects) == 0 {
		return []storage.Interactive{}, err
	}
	ctx = behind.NewLookup(ctx)
	if at := s.epochs.Present(); at != nil {
		doubted := !viewer.Anonymous() && s.epochs.InDoubt(at)
		out, err := s.fromRedis(ctx, at, viewer, subjects, kinds)
		if err == nil && (doubted || !s.epochs.Sure(at)) {
			age(out)
		}
		if err == nil || !errors.Is(err, storage.ErrUnavailable) {
			return out, err
		}
	}
	return s.fromDatabase(ctx, viewer, subjects, kinds)
}

// age makes an answer of Redis storage.Stale: the epoch may be over, or the
// answer may lack something that the viewer did and that is queued. The latter is
// asked before Redis is, the former after.
func age(out []storage.Interactive) {
	for i := range out {
		if out[i].Freshness == storage.Live {
			out[i].Freshness = storage.Stale
		}
	}
}

// ready returns an error where the caller has gone or the store is closed.
func (s *Store) ready(ctx context.Context) error {
	if s.closed.Load() {
		return errClosed
	}
	return ctx.Err()
}

// fromDatabase answers without Redis.
func (s *Store) fromDatabase(
	ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds,
) ([]storage.Interactive, error) {
	var own []storage.StateKey
	if !viewer.Anonymous() {
		own = keysOf(viewer, subjects)
	}
	overlay, asked := s.unshown.over(own), kinds
	if overlay != nil {
		asked |= window.KindSet
	}
	out, err := s.source.Interactives(ctx, viewer, subjects, asked)
	freshness := storage.Stale
	if err != nil {
		if !errors.Is(err, storage.ErrUnavailable) || ctx.Err() != nil {
			return nil, err
		}
		freshness = storage.Unavailable
		out = make([]storage.Interactive, len(subjects))
	}
	for i := range out {
		out[i].Subject, out[i].Freshness = subjects[i], freshness
		if overlay != nil {
			var is window.Entries
			is.Since(&out[i])
			overlay.lay(own[i], &is)
			is.Show(&out[i], own[i], kinds)
		}
	}
	return out, nil
}

// fromRedis answers from Redis and asks the database for what is missing. The
// counts are read before the states. Errors: storage.ErrUnavailable, where
// Redis is; the context's.
func (s *Store) fromRedis(
	ctx context.Context, at *epochs.Epoch, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds,
) ([]storage.Interactive, error) {
	counts, fills, err := s.counts.Read(ctx, at.Keys, subjects, true)
	if err != nil {
		return nil, err
	}
	out := make([]storage.Interactive, len(subjects))
	freshness := storage.Live
	if !s.database.Healthy() {
		freshness = storage.Stale
	}
	for i := range out {
		out[i] = storage.Interactive{Subject: subjects[i], Counts: counts[i].Counts, Freshness: freshness}
		if !counts[i].Known {
			out[i].Freshness = storage.Unavailable
		}
	}
	if viewer.Anonymous() {
		s.scripts.Fill(ctx, fills)
		return out, nil
	}
	return out, s.addOwn(ctx, at, viewer, out, kinds, fills)
}

// addOwn adds the viewer's states, and the viewer's part of the counts.
func (s *Store) addOwn(
	ctx context.Context, at *epochs.Epoch, viewer storage.User, out []storage.Interactive, kinds storage.Kinds, fills []scripts.Call,
) error {
	keys := make([]storage.StateKey, len(out))
	for i := range out {
		keys[i] = storage.StateKey{User: viewer, Subject: out[i].Subject}
	}
	own, err := s.entries(ctx, at, keys, false, fills)
	if err != nil {
		return err
	}
	var older []int // than what is remembered
	for i := range out {
		if !own[i].Show(&out[i], keys[i], kinds) {
			older = append(older, i)
		}
	}
	if len(older) > 0 {
		if err := s.readAgain(ctx, at, viewer, older, out, kinds); err != nil {
			return err
		}
	}
	if kinds.Has(storage.KindRead) {
		return s.addReads(ctx, keys, out)
	}
	return nil
}

// addReads adds what the viewer has read, as the database has it.
func (s *Store) addReads(ctx context.Context, keys []storage.StateKey, out []storage.Interactive) error {
	stored, err := s.source.States(ctx, keys, storage.KindsOf(storage.KindRead))
	switch {
	case err == nil:
		for i := range out {
			out[i].Read = stored[i].Read
		}
	case !errors.Is(err, storage.ErrUnavailable) || ctx.Err() != nil:
		return err
	default:
		age(out)
	}
	return nil
}

// readAgain reads the given ones past the client's cache, and from the
// database where that is not enough.
func (s *Store) readAgain(
	ctx context.Context, at *epochs.Epoch, viewer storage.User, older []int, out []storage.Interactive, kinds storage.Kinds,
) error {
	subjects := make([]storage.Subject, len(older))
	keys := make([]storage.StateKey, len(older))
	for i, n := range older {
		subjects[i] = out[n].Subject
		keys[i] = storage.StateKey{User: viewer, Subject: subjects[i]}
	}
	counts, fills, err := s.counts.Read(ctx, at.Keys, subjects, false)
	if err != nil {
		return err
	}
	again, err := s.entries(ctx, at, keys, false, fills)
	if err != nil {
		return err
	}
	var own []window.Entries
	var still []int
	for i, n := range older {
		out[n].Counts, out[n].Freshness = counts[i].Counts, storage.Live
		if !counts[i].Known {
			out[n].Freshness = storage.Unavailable
		}
		if !again[i].Show(&out[n], keys[i], kinds) {
			own, still = append(own, again[i]), append(still, n)
		}
	}
	if len(still) == 0 {
		return nil
	}
	return s.ofOneMoment(ctx, at, viewer, still, out, own, kinds)
}

// ofOneMoment takes counts and states of one moment from the database, which
// tell what the counts include, and lays over them what the database lacks. own
// are the entries of those that are asked for. The counts go into Redis, which may
// be behind for longer than what was seen is remembered; they are storage.Stale where they
// cannot, or took too long to be read.
func (s *Store) ofOneMoment(
	ctx context.Context, at *epochs.Epoch, viewer storage.User, which []int, out []storage.Interactive, own []window.Entries, kinds storage.Kinds,
) error {
	subjects := make([]storage.Subject, len(which))
	for i, n := range which {
		subjects[i] = out[n].Subject
	}
	asked := time.Now()
	found, err := s.source.Interactives(ctx, viewer, subjects, window.KindSet)
	if err != nil && (!errors.Is(err, storage.ErrUnavailable) || ctx.Err() != nil) {
		return err
	}
	if err != nil { // the counts may lack what the viewer did
		for _, n := range which {
			if out[n].Freshness == storage.Live {
				out[n].Freshness = storage.Stale
			}
		}
		return nil
	}
	freshness := storage.Live
	fills := make([]scripts.Call, len(found))
	for i := range found {
		fills[i] = s.counts.Write(at.Keys, subjects[i], found[i].Counts)
	}
	if time.Since(asked) > counts.FreshTime || s.scripts.RunAll(ctx, "fill", fills, nil) != nil {
		freshness = storage.Stale
	}
	keys := keysOf(viewer, subjects)
	for i, n := range which {
		to := &out[n]
		own[i].Since(&found[i])
		to.Counts, to.Freshness = found[i].Counts, freshness
		s.counts.Cache.Seen(subjects[i], to.Counts)
		own[i].Show(to, keys[i], kinds)
	}
	return nil
}

func keysOf(viewer storage.User, subjects []storage.Subject) []storage.StateKey {
	keys := make([]storage.StateKey, len(subjects))
	for i := range subjects {
		keys[i] = storage.StateKey{User: viewer, Subject: subjects[i]}
	}
	return keys
}

// States looks up states as of the latest acknowledged action while Redis is
// up, and as the database has them otherwise.
func (s *Store) States(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, error) {
	out, _, err := s.look(ctx, keys, kinds, false)
	return out, err
}

// look looks up states. It also tells where they are, as Look does.
func (s *Store) look(
	ctx context.Context, keys []storage.StateKey, kinds storage.Kinds, renew bool,
) (out []storage.States, where storage.Durability, err error) {
	var named []int // keys of users who are not anonymous
	for i := range keys {
		if keys[i].User.Tenant != keys[i].Subject.Tenant {
			return nil, "", errKeysTenant
		}
		if !keys[i].User.Anonymous() {
			named = append(named, i)
		}
	}
	if err := s.ready(ctx); err != nil {
		return nil, "", err
	}
	out, where = make([]storage.States, len(keys)), storage.Persisted
	if len(named) > 0 && kinds&window.KindSet != 0 {
		if where, err = s.lookAt(ctx, keys, named, out, kinds, renew); err != nil {
			return nil, "", err
		}
	}
	if len(named) > 0 && kinds.Has(storage.KindRead) {
		asked := pick(keys, named)
		stored, err := s.source.States(ctx, asked, storage.KindsOf(storage.KindRead))
		if err != nil {
			return nil, "", err
		}
		for i, n := range named {
			out[n].Read = stored[i].Read
		}
	}
	return out, where, nil
}

// lookAt looks up reactions and collections.
func (s *Store) lookAt(
	ctx context.Context, keys []storage.StateKey, named []int, out []storage.States, kinds storage.Kinds, renew bool,
) (storage.Durability, error) {
	asked := pick(keys, named)
	if at := s.epochs.Present(); at != nil {
		doubted := s.epochs.InDoubt(at)
		own, err := s.latest(ctx, at, asked, kinds, renew)
		if err == nil {
			where, err := lookedAt(own, asked, named, out, kinds)
			if doubted || !s.epochs.Sure(at) {
				where = ""
			}
			return where, err
		}
		if !errors.Is(err, storage.ErrUnavailable) {
			return "", err
		}
	}
	overlay := s.unshown.over(asked)
	states, err := s.source.States(ctx, asked, kinds&window.KindSet)
	if err != nil {
		return "", err
	}
	for i, n := range named {
		out[n] = states[i]
		if overlay != nil {
			var is window.Entries
			is.Learn(&states[i], true)
			overlay.lay(asked[i], &is)
			out[n] = is.States(asked[i], kinds)
		}
	}
	return "", nil
}

// latest reads what is known of states, always afresh. What an action needs is
// usually there to be read without a script.
func (s *Store) latest(ctx context.Context, at *epochs.Epoch, keys []storage.StateKey, kinds storage.Kinds, renew bool) ([]window.Entries, error) {
	for i, kind := range window.Kinds {
		if !renew || len(keys) != 1 || kinds != storage.KindsOf(kind) || s.unshown.over(keys) != nil {
			continue
		}
		var own [1]window.Entries
		var found bool
		var err error
		if own[0][i], found, err = s.windows.Glance(ctx, at.Keys, keys[0], i); found || err != nil {
			return own[:], err
		}
	}
	own, err := s.entries(ctx, at, keys, renew, nil)
	return own, err
}

// lookedAt answers with what Redis and the database know.
func lookedAt(
	own []window.Entries, asked []storage.StateKey, named []int, out []storage.States, kinds storage.Kinds,
) (storage.Durability, error) {
	where := storage.Persisted
	for i, n := range named {
		for k, kind := range window.Kinds {
			e := &own[i][k]
			switch {
			case !kinds.Has(kind):
			case !e.Known:
				return "", storage.ErrUnavailable
			case e.Shown, e.Marked:
				where = storage.Queued
			}
		}
		out[n] = own[i].States(asked[i], kinds)
	}
	return where, nil
}

// pick returns the elements at the indices.
func pick[E any](list []E, at []int) []E {
	out := make([]E, len(at))
	for i, n := range at {
		out[i] = list[n]
	}
	return out
}

// entries reads what is known of states, always afresh, with what this process
// could not show laid over it.
func (s *Store) entries(
	ctx context.Context, at *epochs.Epoch, keys []storage.StateKey, renew bool, fills []scripts.Call,
) ([]window.Entries, error) {
	overlay := s.unshown.over(keys) // before Redis is asked
	out, err := s.windows.Entries(ctx, at.Keys, keys, renew, fills)
	if err != nil {
		return nil, err
	}
	if overlay != nil {
		for i := range out {
			overlay.lay(keys[i], &out[i])
		}
	}
	return out, nil
}
