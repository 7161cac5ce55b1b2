package trends

import (
	"time"

	"ovation/storage"
	"ovation/storage/policy"
)

// score returns what an event adds to the score of its subject. What takes something back
// subtracts what that added.
func score(w *[policy.Interactions]int, e *storage.Event) int64 {
	of := func(i policy.Interaction) int64 { return int64(w[i]) }
	reaction := func(value string) int64 {
		switch value {
		case "LIKE":
			return of(policy.Like)
		case "DISLIKE":
			return of(policy.Dislike)
		}
		return 0
	}
	switch e.Type { //nolint:exhaustive // other events are no interactions
	case storage.EventLiked, storage.EventUnliked, storage.EventDisliked, storage.EventUndisliked:
		return reaction(e.After) - reaction(e.Before)
	case storage.EventCollected:
		return of(policy.Collect)
	case storage.EventUncollected:
		return -of(policy.Collect)
	case storage.EventFollowed:
		return of(policy.Follow)
	case storage.EventUnfollowed:
		return -of(policy.Follow)
	case storage.EventRead:
		return of(policy.Read) * e.Times
	case storage.EventCommented:
		return of(policy.Comment)
	case storage.EventCommentDeleted:
		return -of(policy.Comment)
	}
	return 0
}

// removes returns the subject that an event deletes, if it deletes one.
func removes(e *storage.Event) (storage.Subject, bool) {
	switch e.Type { //nolint:exhaustive // other events delete nothing
	case storage.EventVideoDeleted:
		return e.Subject, true
	case storage.EventCommentDeleted:
		return storage.Subject{Tenant: e.Subject.Tenant, Biz: storage.BizComment, BizID: e.Object}, true
	}
	return storage.Subject{}, false
}

// sums collects what a page of events changes.
type sums struct {
	deltas  map[storage.TrendDelta]int64 // by deltas without a score
	removed map[storage.Subject]bool
}

// fold returns what events change at the given time. Events of the future count now, and
// those before the window not at all.
func fold(events []storage.Event, settings func(tenant, biz string) *policy.Trending, now time.Time) (out storage.TrendFold) {
	s := sums{map[storage.TrendDelta]int64{}, map[storage.Subject]bool{}}
	for i := range events {
		e := &events[i]
		s.add(e, settings(e.Subject.Tenant, e.Subject.Biz), now)
		if subject, is := removes(e); is {
			s.remove(subject)
		}
	}
	for subject := range s.removed {
		out.Removed = append(out.Removed, subject)
	}
	for d, score := range s.deltas {
		if d.Score = score; score != 0 {
			out.Deltas = append(out.Deltas, d)
		}
	}
	return out
}

func (s *sums) add(e *storage.Event, settings *policy.Trending, now time.Time) {
	added := score(&settings.Weights, e)
	if added == 0 {
		return
	}
	at := storage.Time(min(e.At, storage.Micros(now)))
	for _, w := range storage.TrendWindows {
		if bucket := w.Bucket(at); settings.Windows.Has(w) && bucket >= w.Oldest(now) {
			s.deltas[storage.TrendDelta{Subject: e.Subject, Window: w, Bucket: bucket}] += added
		}
	}
}

// remove forgets what a subject had before its deletion.
func (s *sums) remove(subject storage.Subject) {
	s.removed[subject] = true
	for d := range s.deltas {
		if d.Subject == subject {
			delete(s.deltas, d)
		}
	}
}
