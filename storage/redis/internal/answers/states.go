package answers

import (
	"context"
	"errors"

	"ovation/storage"
	"ovation/storage/redis/internal/epochs"
	"ovation/storage/redis/internal/window"
)

// States returns states as of the latest acknowledged action while Redis is available,
// and otherwise as the database has them. It also returns where they are stored:
// storage.Persisted, storage.Queued if some of them may not be in the database yet, or ""
// if that is unknown. If renew is true, the life of the entries is extended.
func (r *Reader) States(
	ctx context.Context, keys []storage.StateKey, kinds storage.Kinds, renew bool,
) (out []storage.States, where storage.Durability, err error) {
	named := make([]int, 0, len(keys)) // indices of the keys of users who are not anonymous
	for i := range keys {
		if keys[i].User.Tenant != keys[i].Subject.Tenant {
			return nil, "", errKeysTenant
		}
		if !keys[i].User.Anonymous() {
			named = append(named, i)
		}
	}
	switch len(named) {
	case 0:
		return make([]storage.States, len(keys)), storage.Persisted, nil
	case len(keys):
		return r.statesOf(ctx, keys, kinds, renew)
	}
	found, where, err := r.statesOf(ctx, pick(keys, named), kinds, renew)
	out = make([]storage.States, len(keys))
	for i := range found {
		out[named[i]] = found[i]
	}
	return out, where, err
}

// statesOf returns states of users who are not anonymous.
func (r *Reader) statesOf(
	ctx context.Context, keys []storage.StateKey, kinds storage.Kinds, renew bool,
) (out []storage.States, where storage.Durability, err error) {
	out, where = make([]storage.States, len(keys)), storage.Persisted
	if kinds&window.KindSet != 0 {
		if where, err = r.latest(ctx, keys, out, kinds, renew); err != nil {
			return nil, "", err
		}
	}
	if kinds.Has(storage.KindRead) {
		stored, err := r.Source.States(ctx, keys, storage.KindsOf(storage.KindRead))
		if err != nil {
			return nil, "", err
		}
		for i := range stored {
			out[i].Read = stored[i].Read
		}
	}
	return out, where, nil
}

// latest reads reactions, collections and follows into out, and returns where they are
// stored.
func (r *Reader) latest(
	ctx context.Context, keys []storage.StateKey, out []storage.States, kinds storage.Kinds, renew bool,
) (storage.Durability, error) {
	at := r.Epochs.Active()
	if at == nil {
		return "", r.stored(ctx, keys, out, kinds)
	}
	doubted := r.Epochs.MayMissWrites(at) // checked before Redis is read
	own, err := r.current(ctx, at, keys, kinds, renew)
	switch {
	case errors.Is(err, storage.ErrUnavailable):
		return "", r.stored(ctx, keys, out, kinds)
	case err != nil:
		return "", err
	}
	where, err := statesFrom(own, keys, out, kinds)
	if doubted || !r.Epochs.LeaseValid(at) {
		where = ""
	}
	return where, err
}

// stored reads states from the database into out. It overlays this process's pending
// writes on the states.
func (r *Reader) stored(ctx context.Context, keys []storage.StateKey, out []storage.States, kinds storage.Kinds) error {
	overlay := r.Pending.Overlay(keys)
	states, err := r.Source.States(ctx, keys, kinds&window.KindSet)
	for i := range states {
		out[i] = states[i]
		if overlay != nil {
			var is window.Entries
			is.MergeStates(&states[i], true)
			overlay.ApplyTo(keys[i], &is)
			out[i] = is.States(keys[i], kinds)
		}
	}
	return err
}

// current reads entries, never from a cache. If an action needs only one entry, the entry
// is read without a script if possible.
func (r *Reader) current(
	ctx context.Context, at *epochs.Epoch, keys []storage.StateKey, kinds storage.Kinds, renew bool,
) ([]window.Entries, error) {
	for i, kind := range window.Kinds {
		if !renew || len(keys) != 1 || kinds != storage.KindsOf(kind) || r.Pending.Overlay(keys) != nil {
			continue
		}
		var own [1]window.Entries
		var found bool
		var err error
		if own[0][i], found, err = r.Windows.GetBatched(ctx, at.Keys, keys[0], i); found || err != nil {
			return own[:], err
		}
	}
	return r.entries(ctx, at, keys, renew, nil)
}

// statesFrom copies the states of the entries in own to out. It returns storage.Queued if
// the database may lack some of these states, and otherwise storage.Persisted. Errors:
// storage.ErrUnavailable if an entry is unknown.
func statesFrom(own []window.Entries, keys []storage.StateKey, out []storage.States, kinds storage.Kinds) (storage.Durability, error) {
	where := storage.Persisted
	for i := range own {
		for k, kind := range window.Kinds {
			e := &own[i][k]
			switch {
			case !kinds.Has(kind):
			case !e.Known:
				return "", storage.ErrUnavailable
			case e.Queued, e.Marked:
				where = storage.Queued
			}
		}
		out[i] = own[i].States(keys[i], kinds)
	}
	return where, nil
}
