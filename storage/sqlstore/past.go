package sqlstore

import (
	"cmp"
	"slices"

	"ovation/storage"
)

const (
	// firstAdded is earlier than the first comment added by any release: 2026-01-01, in
	// microseconds since 1970.
	firstAdded = 1_767_225_600_000_000
	// maxIDAge is the maximum age of the id of a new comment when its transaction ends, in
	// microseconds.
	maxIDAge = 60_000_000
)

// idOf returns the lowest id for a comment of a time in microseconds. It increases with
// the time. From 2026 on, it is the first id that a new comment could have got at that
// time. For earlier times there are the ids below, which are free: they suffice for the
// years since 1970 at one id per 4 µs.
func idOf(at int64) int64 {
	if at < firstAdded {
		return 1 + at/4
	}
	return (at/1000 - IDEpoch) << IDShift
}

// NewPastBatch returns a batch of valid comments that were written in the past, in the
// order of tenants and times. A store excludes concurrent batches of this kind, treats it
// like any other batch and, before it calls Decide, assigns ids with AssignPastIDs.
func NewPastBatch(comments []storage.PastComment) *CommentBatch {
	comments = slices.Clone(comments)
	slices.SortStableFunc(comments, func(x, y storage.PastComment) int {
		return cmp.Or(cmp.Compare(x.Subject.Tenant, y.Subject.Tenant), cmp.Compare(x.At, y.At))
	})
	asked, times := make([]storage.NewComment, len(comments)), make([]int64, len(comments))
	for i, c := range comments {
		asked[i], times[i] = storage.NewComment{Subject: c.Subject, User: c.User, Text: c.Text}, c.At
	}
	b := NewCommentBatch(asked)
	b.times = times
	return b
}

// AssignPastIDs returns ids in the order of the times of past comments. now has the ids
// for comments written now, which the latest comments keep. The others get the first free
// ids from idOf on. taken returns for each key that exists, by the index of the key, the
// highest id of the tenant in the span that begins at the key.
func (b *CommentBatch) AssignPastIDs(now []NewID, taken func(keys []storage.CommentKey, span int64) (map[int]int64, error)) ([]NewID, error) {
	ids := slices.Clone(now)
	var keys []storage.CommentKey
	var at []int // for each key, its index in ids
	for i := range ids {
		ids[i].At = b.times[i]
		if b.times[i] < now[i].At-maxIDAge {
			keys = append(keys, storage.CommentKey{Tenant: b.comments[i].Subject.Tenant, CommentID: idOf(b.times[i])})
			at = append(at, i)
		}
	}
	// The span grows, so that a million comments of one time take a few rounds.
	for span := int64(1) << IDShift; len(keys) > 0; span *= 2 {
		for i := 1; i < len(keys); i++ {
			if before := keys[i-1]; before.Tenant == keys[i].Tenant {
				keys[i].CommentID = max(keys[i].CommentID, before.CommentID+1)
			}
		}
		last, err := taken(keys, span)
		if err != nil {
			return nil, err
		}
		if len(last) == 0 {
			break
		}
		for i, id := range last {
			keys[i].CommentID = id + 1
		}
	}
	for i, key := range keys {
		ids[at[i]].ID = key.CommentID
	}
	return ids, nil
}
