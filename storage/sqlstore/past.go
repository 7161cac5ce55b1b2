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
	// maxIDAge is the maximum age, in microseconds, of the id of a new comment at the end
	// of the transaction.
	maxIDAge = 60_000_000
)

// idOf returns the lowest id for a comment that was written at the given time, in
// microseconds since 1970. The id increases with the time. From 2026 on, it is the first
// id that a new comment could have got at that time. Earlier comments have ids below
// those, which are otherwise unused: there is one for every 4 µs since 1970.
func idOf(at int64) int64 {
	if at < firstAdded {
		return 1 + at/4
	}
	return (at/1000 - IDEpoch) << IDShift
}

// NewPastBatch returns a batch of valid comments that were written in the past, in the
// order of tenants and times. A store treats it like any other batch, except that the
// store excludes concurrent batches of past comments and calls AssignPastIDs before
// Decide.
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

// AssignPastIDs returns one id for each past comment, in the order of the batch. now has
// the ids that new comments would get; comments that are younger than maxIDAge keep them.
// All others get the first free ids, searched from idOf on. taken returns the highest id
// that the tenant of a key has in the span that begins at the key, by the index of the
// key, for each key that is itself taken.
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
