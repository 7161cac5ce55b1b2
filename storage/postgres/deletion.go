package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/sqlstore"
)

const (
	insertDeletedSubjects = `
INSERT INTO deleted_subject (tenant, biz, biz_id, at)
SELECT k.tenant, k.biz, k.biz_id, $4::bigint FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, biz, biz_id, ord)
ORDER BY k.ord
ON CONFLICT (tenant, biz_id, biz) DO NOTHING`

	removeDeletedSubjects = `
DELETE FROM deleted_subject d USING unnest($1::text[], $2::text[], $3::text[]) AS k (tenant, biz, biz_id)
WHERE d.tenant = k.tenant AND d.biz = k.biz AND d.biz_id = k.biz_id`

	moveDeletedSubjects = `
UPDATE deleted_subject d SET at = $4 FROM unnest($1::text[], $2::text[], $3::text[]) AS k (tenant, biz, biz_id)
WHERE d.tenant = k.tenant AND d.biz = k.biz AND d.biz_id = k.biz_id`

	countDeletedSubjects = `SELECT count(*) FROM (SELECT FROM deleted_subject LIMIT $1) d`

	// takeDeletedSubjects skips subjects that another process is sweeping. The marks are
	// read in the snapshot of this statement, so they were committed earlier.
	takeDeletedSubjects = `
SELECT d.tenant, d.biz, d.biz_id, coalesce(i.deleted > 0 AND i.author = '', FALSE)
FROM (SELECT at, tenant, biz, biz_id FROM deleted_subject ORDER BY at, tenant, biz_id, biz LIMIT $1 FOR UPDATE SKIP LOCKED) d
LEFT JOIN LATERAL (SELECT deleted, author FROM interactive i
    WHERE i.tenant = d.tenant AND i.biz = d.biz AND i.biz_id = d.biz_id LIMIT 1) i ON TRUE
ORDER BY d.at, d.tenant, d.biz_id, d.biz`

	selectLikesOn = `
SELECT k.ord, s.user_id FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, biz, biz_id, ord)
CROSS JOIN LATERAL (SELECT user_id FROM user_reaction s
    WHERE s.tenant = k.tenant AND s.biz = k.biz AND s.biz_id = k.biz_id AND s.state = 1 LIMIT $4) s ORDER BY k.ord LIMIT $5`

	selectDislikesOn = `
SELECT k.ord, s.user_id FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, biz, biz_id, ord)
CROSS JOIN LATERAL (SELECT user_id FROM user_reaction s
    WHERE s.tenant = k.tenant AND s.biz = k.biz AND s.biz_id = k.biz_id AND s.state = 2 LIMIT $4) s ORDER BY k.ord LIMIT $5`

	selectCollectionsOf = `
SELECT k.ord, s.user_id FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, biz, biz_id, ord)
CROSS JOIN LATERAL (SELECT user_id FROM user_collection s
    WHERE s.tenant = k.tenant AND s.biz = k.biz AND s.biz_id = k.biz_id AND s.state <> '' LIMIT $4) s ORDER BY k.ord LIMIT $5`

	selectFollowsOf = `
SELECT k.ord, s.user_id FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, biz, biz_id, ord)
CROSS JOIN LATERAL (SELECT user_id FROM user_follow s
    WHERE s.tenant = k.tenant AND s.biz = k.biz AND s.biz_id = k.biz_id AND s.state = 1 LIMIT $4) s ORDER BY k.ord LIMIT $5`

	selectCommentsOn = `
SELECT k.ord, c.* FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (tenant, biz, biz_id, ord)
CROSS JOIN LATERAL (SELECT ` + commentColumns + ` FROM comment c
    WHERE c.tenant = k.tenant AND c.biz = k.biz AND c.biz_id = k.biz_id AND c.listed AND c.deleted = 0
    ORDER BY c.reply_to DESC, c.comment_id DESC LIMIT $4) c
ORDER BY k.ord, c.reply_to DESC, c.comment_id DESC LIMIT $5`

	// The clears insert nothing, because all the states exist. Unlike an UPDATE, they
	// always find each state by its key.
	clearReactions = `
INSERT INTO user_reaction AS s (tenant, user_id, biz, biz_id, state, prev_state, version)
SELECT k.tenant, k.user_id, k.biz, k.biz_id, 0, 0, 0
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS k (tenant, user_id, biz, biz_id, ord)
ORDER BY k.ord
ON CONFLICT (tenant, user_id, biz, biz_id) DO UPDATE SET prev_state = s.state, state = 0, version = s.version + 1,
    clears = CASE WHEN greatest(s.clears[1], s.clears[2]) > s.version + 1 THEN s.clears END
WHERE s.state <> 0
RETURNING tenant, user_id, biz, biz_id, prev_state, version, clears`

	clearCollections = `
INSERT INTO user_collection AS s (tenant, user_id, biz, biz_id, state, prev_state, version)
SELECT k.tenant, k.user_id, k.biz, k.biz_id, '', '', 0
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS k (tenant, user_id, biz, biz_id, ord)
ORDER BY k.ord
ON CONFLICT (tenant, user_id, biz, biz_id) DO UPDATE SET prev_state = s.state, state = '', version = s.version + 1
WHERE s.state <> ''
RETURNING tenant, user_id, biz, biz_id, prev_state, version`

	clearFollows = `
INSERT INTO user_follow AS s (tenant, user_id, biz, biz_id, state, prev_state, version)
SELECT k.tenant, k.user_id, k.biz, k.biz_id, 0, 0, 0
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS k (tenant, user_id, biz, biz_id, ord)
ORDER BY k.ord
ON CONFLICT (tenant, user_id, biz, biz_id) DO UPDATE SET prev_state = s.state, state = 0, version = s.version + 1
WHERE s.state = 1
RETURNING tenant, user_id, biz, biz_id, prev_state, version`
)

// queueDeleted queues a statement that queues subjects for a sweep.
func queueDeleted(b *pgx.Batch, subjects []storage.Subject, at int64) {
	if len(subjects) > 0 {
		b.Queue(insertDeletedSubjects, subjectKeys(subjects).args(at)...)
	}
}

// SweepDeleted clears states of deleted subjects and deletes their comments. It takes one
// round trip if no subject is queued, and otherwise six, including the commit, or seven if
// it marks subjects. It locks entries of the queue, owners of folders, states, the counts
// of comments, subjects, comments and totals, in this order.
func (s *Store) SweepDeleted(ctx context.Context, limit int, mark storage.Mark) (out storage.Swept, outcome storage.Outcome, err error) {
	err = s.change(ctx, "sweep deleted subjects", func(t *tx) (err error) {
		out, outcome = storage.Swept{}, storage.Outcome{}
		sweep := &sqlstore.Sweep{Limit: max(limit, 1)}
		if out.Queued, err = t.takeDeleted(sweep, &outcome); err != nil || len(sweep.Subjects) == 0 {
			return err
		}
		out.Subjects = len(sweep.Subjects)
		if err := t.sweepCandidates(sweep); err != nil {
			return err
		}
		deletion, err := t.sweep(sweep, &outcome)
		if err != nil {
			return err
		}
		out.Commented = deletion.Commented()
		return mirror.Mark(t.ctx, mark, &outcome)
	})
	if err != nil {
		return storage.Swept{}, storage.Outcome{}, err
	}
	return out, outcome, nil
}

// takeDeleted pins the epoch and takes subjects from the queue. It returns the length of
// the queue.
func (t *tx) takeDeleted(of *sqlstore.Sweep, outcome *storage.Outcome) (queued int, err error) {
	b := t.batch()
	epoch := pinEpoch(b)
	b.Queue(takeDeletedSubjects, of.Limit).Query(eachRow(func(row pgx.Rows) error {
		var d sqlstore.DeletedSubject
		err := row.Scan(&d.Tenant, &d.Biz, &d.BizID, &d.Marked)
		of.Subjects = append(of.Subjects, d)
		return err
	}))
	b.Queue(countDeletedSubjects, int64(storage.MaxSweptQueue)).QueryRow(func(row pgx.Row) error { return row.Scan(&queued) })
	b.Queue(selectClock).QueryRow(func(row pgx.Row) error { return row.Scan(&of.Now) })
	if err := t.send(b); err != nil || len(of.Subjects) == 0 {
		return queued, err
	}
	outcome.Epoch, err = epoch.Enter()
	return queued, err
}

// sweepCandidates looks up the states that the sweep clears.
func (t *tx) sweepCandidates(of *sqlstore.Sweep) error {
	b, subjects := t.batch(), of.Names()
	keys := subjectKeys(subjects).args(of.Share(), of.Limit)
	lists := make([][]storage.StateKey, 4)
	for list, query := range []string{selectLikesOn, selectDislikesOn, selectCollectionsOf, selectFollowsOf} {
		b.Queue(query, keys...).Query(eachRow(func(row pgx.Rows) error {
			var i int
			var key storage.StateKey
			if err := row.Scan(&i, &key.User.UserID); err != nil {
				return err
			}
			key.Subject = subjects[i-1]
			key.User.Tenant = key.Subject.Tenant
			lists[list] = append(lists[list], key)
			return nil
		}))
	}
	if err := t.send(b); err != nil {
		return err
	}
	for _, keys := range lists {
		of.Found(len(keys), func(i int) storage.Subject { return keys[i].Subject })
	}
	of.Reactions, of.Collections, of.Follows = slices.Concat(lists[0], lists[1]), lists[2], lists[3]
	return nil
}

// sweep clears the states, deletes the comments, and adjusts counts and totals.
func (t *tx) sweep(of *sqlstore.Sweep, outcome *storage.Outcome) (*sqlstore.DeleteComments, error) {
	var err error
	if outcome.Applied, err = t.clearStates(of); err != nil {
		return nil, err
	}
	deletion, err := t.deleteComments(of)
	if err != nil {
		return nil, err
	}
	t.events.States(outcome.Applied, of.Now)
	t.events.Comments(storage.EventCommentDeleted, deletion.Removed, of.Now)
	tally := sqlstore.TallyOf(outcome.Applied, sqlstore.ByKind{})
	tally.AddComments(deletion.ByUser)
	outcome.Counts, err = t.applyTally(tally, of.Marks(tally), nil, func(b *pgx.Batch) {
		updateComments(b, deletion.Changed)
		if len(deletion.Changed) > 0 {
			setCommentCounts(b, deletion.Counts)
		}
		queueDeleted(b, deletion.Gone, of.Now)
		finished, moved := of.Finished()
		b.Queue(removeDeletedSubjects, subjectKeys(finished).args()...)
		b.Queue(moveDeletedSubjects, subjectKeys(moved).args(of.Now)...)
	})
	return deletion, err
}

// clearStates clears those of the candidates that are still set.
func (t *tx) clearStates(of *sqlstore.Sweep) (out []storage.StateChange, err error) {
	b := t.batch()
	lockOwners(b, of.Owners())
	for _, one := range []struct {
		kind  storage.Kind
		query string
		keys  []storage.StateKey
		rest  func(c *storage.StateChange, clears *[]int64) []any
	}{
		{storage.KindReaction, clearReactions, of.Reactions, func(c *storage.StateChange, clears *[]int64) []any {
			return []any{&c.OldReaction, &c.Register.Set, clears}
		}},
		{storage.KindCollection, clearCollections, of.Collections, func(c *storage.StateChange, _ *[]int64) []any {
			return []any{&c.OldFolderID, &c.Version}
		}},
		{storage.KindFollow, clearFollows, of.Follows, func(c *storage.StateChange, _ *[]int64) []any {
			return []any{new(int64), &c.Version}
		}},
	} {
		if len(one.keys) == 0 {
			continue
		}
		slices.SortFunc(one.keys, sqlstore.CompareStateKeys)
		b.Queue(one.query, stateKeys(one.keys).args()...).Query(eachRow(func(row pgx.Rows) error {
			c := storage.StateChange{Kind: one.kind, OldFollowing: one.kind == storage.KindFollow}
			var clears []int64
			if err := row.Scan(append([]any{&c.User.Tenant, &c.User.UserID, &c.Subject.Biz, &c.Subject.BizID}, one.rest(&c, &clears)...)...); err != nil {
				return err
			}
			c.Subject.Tenant = c.User.Tenant
			if one.kind == storage.KindReaction {
				copy(c.Register.Clears[:], clears)
				c.Register = normalize(c.Register)
				c.Version = c.Register.Version()
			}
			out = append(out, c)
			return nil
		}))
	}
	if b.Len() == 0 {
		return nil, nil
	}
	return out, t.send(b)
}

// deleteComments locks the counts of the subjects' comments, looks up comments and
// computes their deletion, which the caller writes. The candidates in of.Comments were
// looked up before, and are read again.
func (t *tx) deleteComments(of *sqlstore.Sweep) (*sqlstore.DeleteComments, error) {
	d := &sqlstore.DeleteComments{
		Now: of.Now, Comments: map[storage.CommentKey]*storage.Comment{}, Counts: map[storage.Subject]storage.CommentCount{},
	}
	swept, own := of.Commentable(), of.Comments
	subjects := slices.Concat(swept, sqlstore.SubjectsOf(own))
	slices.SortFunc(subjects, sqlstore.CompareSubjects)
	subjects = slices.Compact(subjects)
	if len(subjects) == 0 {
		return d, nil
	}
	b, keys := t.batch(), subjectKeys(subjects)
	b.Queue(lockCommentCounts, keys.args()...)
	b.Queue(selectCommentCounts, keys.args()...).Query(eachRow(func(row pgx.Rows) error {
		var i int
		var c storage.CommentCount
		err := row.Scan(&i, &c.Comments, &c.Version)
		if err == nil {
			d.Counts[subjects[i-1]] = c
		}
		return err
	}))
	var found []*storage.Comment
	b.Queue(selectCommentsOn, subjectKeys(swept).args(of.Share(), of.Limit)...).Query(eachRow(func(row pgx.Rows) error {
		var i int
		c, err := scanComment("", row, &i)
		if err == nil {
			c.Subject.Tenant, c.User.Tenant = swept[i-1].Tenant, swept[i-1].Tenant
			found = append(found, c)
		}
		return err
	}))
	if err := t.send(b); err != nil || len(found)+len(own) == 0 {
		return d, err
	}
	of.Found(len(found), func(i int) storage.Subject { return found[i].Subject })
	of.Comments = slices.Concat(own, found)
	again := make([]storage.CommentKey, 0, len(of.Comments)+len(own))
	for _, c := range of.Comments {
		again = append(again, c.ParentKey()) // the parent is not found if its number is 0
	}
	for _, c := range own {
		again = append(again, c.Key())
	}
	slices.SortFunc(again, sqlstore.CompareComments)
	b = t.batch()
	lookUpCommentsOf(b, slices.Compact(again), d.Comments)
	if err := t.send(b); err != nil {
		return nil, err
	}
	for _, c := range found {
		if d.Comments[c.Key()] == nil {
			d.Comments[c.Key()] = c
		}
	}
	d.Delete(of.Comments)
	return d, nil
}

// requeueDeleted queues deleted subjects that should be queued for a sweep and are not.
func (s *Store) requeueDeleted(ctx context.Context, subjects []storage.Subject) error {
	if len(subjects) == 0 {
		return nil
	}
	return s.change(ctx, "queue deleted subjects", func(t *tx) error {
		b := t.batch()
		queueDeleted(b, subjects, storage.Micros(s.now()))
		return t.send(b)
	})
}
