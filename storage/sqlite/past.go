package sqlite

import (
	"ovation/storage"
	"ovation/storage/sqlstore"
)

const selectTakenIDs = `
SELECT k.key, (SELECT max(c.comment_id) FROM comment c
    WHERE c.tenant = k.value ->> 0 AND c.comment_id >= k.value ->> 1 AND c.comment_id < (k.value ->> 1) + ?2)
FROM jsonb_each(?1) k CROSS JOIN comment same
WHERE same.tenant = k.value ->> 0 AND same.comment_id = k.value ->> 1`

// addPast adds comments that were written in the past, and returns the number of added
// comments per user, for the totals.
func (t tx) addPast(comments []storage.PastComment, now int64) (writers map[storage.User]int64, err error) {
	if len(comments) == 0 {
		return writers, nil
	}
	b := sqlstore.NewPastBatch(comments)
	if err := t.lookUpComments(b, now); err != nil {
		return nil, err
	}
	ids, err := t.commentIDs(b, now)
	if err != nil {
		return nil, err
	}
	if ids, err = b.AssignPastIDs(ids, t.takenIDs); err != nil {
		return nil, err
	}
	b.Decide(ids)
	t.events.Comments(storage.EventCommented, b.Added, 0)
	return b.CommentsByUser, t.writeComments(b, now)
}

func (t tx) takenIDs(keys []storage.CommentKey, span int64) (map[int]int64, error) {
	var rows tuples
	for _, key := range keys {
		rows.add([]string{key.Tenant}, key.CommentID)
	}
	last := map[int]int64{}
	return last, t.query(selectTakenIDs, []any{rows.json(), span}, func(scan func(...any) error) error {
		var i int
		var id int64
		err := scan(&i, &id)
		last[i] = id
		return err
	})
}
