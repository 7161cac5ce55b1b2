package trends

import (
	"time"

	"ovation/storage"
)

// Weights are what interactions with the subjects of a kind count.
type Weights struct {
	Read, Like, Dislike, Collect, Follow, Comment int64
	// Windows are the windows in which they count.
	Windows []storage.TrendWindow
}

// DefaultWeights are the weights of a site that configures none.
var DefaultWeights = Weights{Read: 1, Like: 5, Collect: 10, Follow: 10, Comment: 10, Windows: storage.TrendWindows[:]}

// Score returns what an event adds to the score of its subject. What takes something back
// subtracts what that added.
func (w *Weights) Score(e *storage.Event) int64 {
	switch e.Type { //nolint:exhaustive // other events are no interactions
	case storage.EventLiked, storage.EventUnliked, storage.EventDisliked, storage.EventUndisliked:
		return w.reaction(e.After) - w.reaction(e.Before)
	case storage.EventCollected:
		return w.Collect
	case storage.EventUncollected:
		return -w.Collect
	case storage.EventFollowed:
		return w.Follow
	case storage.EventUnfollowed:
		return -w.Follow
	case storage.EventRead:
		return w.Read * e.Times
	case storage.EventCommented:
		return w.Comment
	case storage.EventCommentDeleted:
		return -w.Comment
	}
	return 0
}

func (w *Weights) reaction(value string) int64 {
	switch value {
	case "LIKE":
		return w.Like
	case "DISLIKE":
		return w.Dislike
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
func fold(events []storage.Event, weights func(tenant, biz string) Weights, now time.Time) (out storage.TrendFold) {
	s := sums{map[storage.TrendDelta]int64{}, map[storage.Subject]bool{}}
	for i := range events {
		e := &events[i]
		s.add(e, weights(e.Subject.Tenant, e.Subject.Biz), now)
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

func (s *sums) add(e *storage.Event, weights Weights, now time.Time) {
	score := weights.Score(e)
	if score == 0 {
		return
	}
	at := storage.Time(min(e.At, storage.Micros(now)))
	for _, w := range weights.Windows {
		if bucket := w.Bucket(at); bucket >= w.Oldest(now) {
			s.deltas[storage.TrendDelta{Subject: e.Subject, Window: w, Bucket: bucket}] += score
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
