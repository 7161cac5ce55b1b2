package redis

import (
	"context"

	"github.com/redis/rueidis"

	"ovation/storage"
	"ovation/storage/redis/internal/counts"
	"ovation/storage/redis/internal/epochs"
	"ovation/storage/redis/internal/scripts"
)

// readBack holds the subject of an action as the action's user sees it once the action is
// applied. The script that applies the action returns the states. The counts are read in
// the same round trip, right before the script.
type readBack struct {
	dest   *storage.Interactive // filled by deliver
	key    storage.StateKey
	counts counts.Result
	found  storage.Interactive // the result; it is known if its freshness is storage.Live
}

// readBacks returns a readBack for each action. It returns nil if none is needed, or if
// Redis alone cannot provide them. An element of the result is nil if the action's
// element of seen is nil, or if the action is a read. On a cluster, readBacks always
// returns nil, since a cluster does not execute the commands of a pipeline in order.
func (s *Store) readBacks(at *epochs.Epoch, actions []storage.Action, seen []*storage.Interactive) []*readBack {
	if seen == nil || !s.scripts.Ordered || s.epochs.MayMissWrites(at) || !s.database.Healthy() {
		return nil
	}
	out := make([]*readBack, len(actions))
	keys := make([]storage.StateKey, 0, len(actions))
	for i := range actions {
		if a := &actions[i]; seen[i] != nil && !a.Kind.AddsUp() {
			out[i] = &readBack{dest: seen[i], key: storage.StateKey{User: a.User, Subject: a.Subject}}
			keys = append(keys, out[i].key)
		}
	}
	if len(keys) == 0 || s.pending.Overlay(keys) != nil {
		return nil
	}
	return out
}

// applyAndRead applies actions by running the calls in the parameter shows. For each i,
// of[i] is the readBack of the call shows[i], or nil. Before these calls, applyAndRead
// reads the counts that the readBacks need.
func (s *Store) applyAndRead(ctx context.Context, at *epochs.Epoch, shows []scripts.Call, of []*readBack) error {
	calls := make([]scripts.Call, 0, len(shows)+len(of))
	var asked []*readBack
	for _, one := range of {
		if one != nil {
			asked = append(asked, one)
			calls = append(calls, s.counts.Command(at.Keys, one.key.Subject))
		}
	}
	return s.scripts.RunAll(ctx, "apply actions", append(calls, shows...), func(i int, reply *rueidis.RedisMessage) (err error) {
		if i < len(asked) {
			asked[i].counts, err = s.counts.Decode(at.Keys, asked[i].key.Subject, reply)
			return err
		}
		if one := of[i-len(asked)]; one != nil && one.counts.Known {
			one.found = storage.Interactive{Subject: one.key.Subject, Counts: one.counts.Counts, Freshness: storage.Live}
			own, known := s.windows.DecodeApplied(reply, one.key)
			if !known || !own.ApplyTo(&one.found, one.key, storage.AllKinds) {
				one.found.Freshness = storage.Unavailable
			}
		}
		return nil
	})
}

// deliver copies each known result to its destination.
func deliver(all []*readBack) {
	for _, one := range all {
		if one != nil && one.found.Freshness == storage.Live {
			*one.dest = one.found
		}
	}
}
