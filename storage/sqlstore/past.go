package sqlstore

import (
	"cmp"
	"slices"

	"ovation/storage"
)

const (
	// firstAdded is 2026-01-01, in microseconds since 1970. No release added comments
	// before that time.
	firstAdded = 1_767_225_600_000_000
	// maxIDAge is the maximum time, in microseconds, from the assignment of an id to a
	// new comment until the end of the transaction.
	maxIDAge = 60_000_000
)

// idOf returns the lowest id for a comment that was written at the given time, in
// microseconds since 1970. A later time never gives a lower id. From 2026 on, the result
// is the lowest id that a new comment could have had at that time. Earlier times are
// mapped to the range below those ids, which is otherwise unused. Each id in that range
// stands for an interval of 4 µs, counted from 1970.
func idOf(at int64) int64 {
	if at < firstAdded {
		return 1 + at/4
	}
	return (at/1000 - IDEpoch) << IDShift
}

// NewPastBatch returns a batch of comments that were written in the past, sorted by
// tenant and time. The comments must be valid. A store handles the batch like any other,
// but excludes concurrent batches of past comments and calls AssignPastIDs before Decide.
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

// AssignPastIDs returns one id for each past comment, in the order of the batch. The
// elements of now are the ids that new comments would get. A comment that is younger than
// maxIDAge gets its id from these. Any other comment gets a free id that is not below the
// result of idOf for the comment's time.
//
// The function taken reports which keys are in use. Its result maps the index of each
// such key to the highest id that the key's tenant uses in a range of ids. The range
// begins with the key's id and has the length span.
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
	// The span doubles in every round, so that a million comments with the same time take
	// only a few rounds.
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
