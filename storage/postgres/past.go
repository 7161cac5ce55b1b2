package postgres

import (
	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// lockPastIDs excludes other transactions in the same schema that assign ids to past
// comments. A free id therefore stays free until the end of the transaction, since the
// ids of new comments are higher.
const lockPastIDs = `SELECT pg_advisory_xact_lock('comment'::regclass::oid::bigint)`

const selectTakenIDs = `
SELECT k.ord, last.comment_id
FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS k (tenant, comment_id, ord)
CROSS JOIN LATERAL (SELECT FROM comment c WHERE c.tenant = k.tenant AND c.comment_id = k.comment_id LIMIT 1) same
CROSS JOIN LATERAL (SELECT comment_id FROM comment c
    WHERE c.tenant = k.tenant AND c.comment_id >= k.comment_id AND c.comment_id < k.comment_id + $3
    ORDER BY c.comment_id DESC LIMIT 1) last`

// addPast adds comments that were written in the past, and returns the number of added
// comments per user, for the totals. It locks the ids of past comments and then comment
// counts. Its caller has already taken the locks on states, and takes those on the table
// interactive afterwards.
func (t *tx) addPast(comments []storage.PastComment) (writers map[storage.User]int64, err error) {
	if len(comments) == 0 {
		return writers, nil
	}
	of := sqlstore.NewPastBatch(comments)
	b := t.batch()
	b.Queue(lockPastIDs)
	if err := t.send(b); err != nil {
		return nil, err
	}
	ids, err := t.lookUpComments(of)
	if err != nil {
		return nil, err
	}
	if ids, err = of.AssignPastIDs(ids, t.takenIDs); err != nil {
		return nil, err
	}
	of.Decide(ids)
	t.events.Comments(storage.EventCommented, of.Added, 0)
	b = t.batch()
	queueComments(b, of)
	return of.CommentsByUser, t.send(b)
}

func (t *tx) takenIDs(keys []storage.CommentKey, span int64) (map[int]int64, error) {
	last := map[int]int64{}
	b := t.batch()
	b.Queue(selectTakenIDs, commentKeys(keys).args(span)...).Query(eachRow(func(row pgx.Rows) error {
		var i int
		var id int64
		err := row.Scan(&i, &id)
		last[i-1] = id
		return err
	}))
	return last, t.send(b)
}
