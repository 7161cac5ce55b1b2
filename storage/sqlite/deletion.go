package sqlite

import (
	"context"
	"slices"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

const (
	selectDeletedAmong = `
SELECT k.key FROM jsonb_each(?) k CROSS JOIN interactive i
WHERE i.tenant = k.value ->> 0 AND i.biz = k.value ->> 1 AND i.biz_id = k.value ->> 2 AND i.deleted > 0`

	insertDeletedSubjects = `
INSERT INTO deleted_subject (tenant, biz, biz_id, at)
SELECT value ->> 0, value ->> 1, value ->> 2, ?2 FROM jsonb_each(?1) WHERE true
ON CONFLICT DO NOTHING`

	removeDeletedSubjects = `
DELETE FROM deleted_subject WHERE (tenant, biz_id, biz) IN (SELECT value ->> 0, value ->> 2, value ->> 1 FROM jsonb_each(?))`

	moveDeletedSubjects = `
UPDATE deleted_subject SET at = ?2 WHERE (tenant, biz_id, biz) IN (SELECT value ->> 0, value ->> 2, value ->> 1 FROM jsonb_each(?1))`

	countDeletedSubjects = `SELECT count(*) FROM (SELECT 1 FROM deleted_subject LIMIT ?)`

	selectDeletedSubjects = `
SELECT d.tenant, d.biz, d.biz_id, coalesce(i.deleted > 0 AND i.author = '', 0)
FROM (SELECT at, tenant, biz, biz_id FROM deleted_subject ORDER BY at, tenant, biz_id, biz LIMIT ?) d
LEFT JOIN interactive i ON i.tenant = d.tenant AND i.biz = d.biz AND i.biz_id = d.biz_id
ORDER BY d.at, d.tenant, d.biz_id, d.biz`

	selectLikesOn = `
SELECT s.user_id FROM user_reaction s INDEXED BY likers
WHERE s.tenant = ? AND s.biz = ? AND s.biz_id = ? AND s.state = 1 LIMIT ?`

	selectDislikesOn = `
SELECT s.user_id FROM user_reaction s INDEXED BY dislikers
WHERE s.tenant = ? AND s.biz = ? AND s.biz_id = ? AND s.state = 2 LIMIT ?`

	selectCollectionsOf = `
SELECT s.user_id FROM user_collection s INDEXED BY collectors
WHERE s.tenant = ? AND s.biz = ? AND s.biz_id = ? AND s.state <> '' LIMIT ?`

	selectFollowsOf = `
SELECT s.user_id FROM user_follow s INDEXED BY followers
WHERE s.tenant = ? AND s.biz = ? AND s.biz_id = ? AND s.state = 1 LIMIT ?`

	selectCommentsOn = `
SELECT ` + commentColumns + ` FROM comment c INDEXED BY comments
WHERE c.tenant = ? AND c.biz = ? AND c.biz_id = ? AND c.listed = 1 AND c.deleted = 0
ORDER BY c.reply_to DESC, c.comment_id DESC LIMIT ?`

	clearReactions = `
UPDATE user_reaction AS s SET prev_state = s.state, state = 0, version = s.version + 1,
    unlike = iif(s.unlike > s.version + 1, s.unlike, 0), undislike = iif(s.undislike > s.version + 1, s.undislike, 0)
FROM jsonb_each(?) k
WHERE s.tenant = k.value ->> 0 AND s.user_id = k.value ->> 1 AND s.biz = k.value ->> 2 AND s.biz_id = k.value ->> 3 AND s.state <> 0
RETURNING tenant, user_id, biz, biz_id, prev_state, state, version, unlike, undislike`

	clearCollections = `
UPDATE user_collection AS s SET prev_state = s.state, state = '', version = s.version + 1 FROM jsonb_each(?) k
WHERE s.tenant = k.value ->> 0 AND s.user_id = k.value ->> 1 AND s.biz = k.value ->> 2 AND s.biz_id = k.value ->> 3 AND s.state <> ''
RETURNING tenant, user_id, biz, biz_id, prev_state, version`

	clearFollows = `
UPDATE user_follow AS s SET prev_state = s.state, state = 0, version = s.version + 1 FROM jsonb_each(?) k
WHERE s.tenant = k.value ->> 0 AND s.user_id = k.value ->> 1 AND s.biz = k.value ->> 2 AND s.biz_id = k.value ->> 3 AND s.state = 1
RETURNING tenant, user_id, biz, biz_id, prev_state, version`
)

// deleted calls the function found with the index of each subject that is marked as
// deleted.
func (t tx) deleted(of []storage.Subject, found func(int)) error {
	if len(of) == 0 {
		return nil
	}
	return t.query(selectDeletedAmong, []any{subjectRows(of)}, func(scan func(...any) error) error {
		var i int
		err := scan(&i)
		found(i)
		return err
	})
}

// queueDeleted queues subjects for a sweep.
func (t tx) queueDeleted(subjects []storage.Subject, at int64) error {
	if len(subjects) == 0 {
		return nil
	}
	_, err := t.exec(insertDeletedSubjects, subjectRows(subjects), at)
	return err
}

// subjectRows returns subjects as the argument of a statement.
func subjectRows(of []storage.Subject) string {
	var rows tuples
	for _, s := range of {
		rows.add([]string{s.Tenant, s.Biz, s.BizID})
	}
	return rows.json()
}

// SweepDeleted clears states of deleted subjects and deletes their comments.
func (s *Store) SweepDeleted(ctx context.Context, limit int, mark storage.Mark) (out storage.Swept, outcome storage.Outcome, err error) {
	sweep := &sqlstore.Sweep{Limit: max(limit, 1)}
	err = s.read(ctx, "read the queue of sweeps", func(t tx) error { return t.sweptSubjects(sweep, new(int)) })
	if err != nil || len(sweep.Subjects) == 0 {
		return out, outcome, err
	}
	err = s.write(ctx, "sweep deleted subjects", func(t tx) (err error) {
		sweep = &sqlstore.Sweep{Limit: sweep.Limit, Now: storage.Micros(s.now())}
		if err := t.sweptSubjects(sweep, &out.Queued); err != nil {
			return err
		}
		out.Subjects = len(sweep.Subjects)
		if err := t.sweepCandidates(sweep); err != nil {
			return err
		}
		if out.Commented, err = t.sweep(sweep, &outcome); err != nil {
			return err
		}
		return callMark(ctx, mark, outcome)
	})
	if err != nil {
		return storage.Swept{}, storage.Outcome{}, err
	}
	return out, outcome, nil
}

// sweptSubjects takes subjects from the queue, and stores the length of the queue in queued.
func (t tx) sweptSubjects(of *sqlstore.Sweep, queued *int) error {
	if err := t.query(countDeletedSubjects, []any{storage.MaxSweptQueue}, func(scan func(...any) error) error { return scan(queued) }); err != nil {
		return err
	}
	return t.query(selectDeletedSubjects, []any{of.Limit}, func(scan func(...any) error) error {
		var d sqlstore.DeletedSubject
		err := scan(&d.Tenant, &d.Biz, &d.BizID, &d.Marked)
		of.Subjects = append(of.Subjects, d)
		return err
	})
}

// sweepCandidates looks up the states and comments that the sweep removes.
func (t tx) sweepCandidates(of *sqlstore.Sweep) error {
	for _, one := range []struct {
		query string
		to    *[]storage.StateKey
	}{
		{selectLikesOn, &of.Reactions},
		{selectDislikesOn, &of.Reactions},
		{selectCollectionsOf, &of.Collections},
		{selectFollowsOf, &of.Follows},
	} {
		var found []storage.StateKey
		for _, s := range of.Names() {
			args := []any{s.Tenant, s.Biz, s.BizID, min(of.Share(), of.Limit-len(found))}
			if err := t.query(one.query, args, func(scan func(...any) error) error {
				key := storage.StateKey{User: storage.User{Tenant: s.Tenant}, Subject: s}
				err := scan(&key.User.UserID)
				found = append(found, key)
				return err
			}); err != nil {
				return err
			}
		}
		of.Found(len(found), func(i int) storage.Subject { return found[i].Subject })
		*one.to = append(*one.to, found...)
	}
	for _, s := range of.Commentable() {
		args := []any{s.Tenant, s.Biz, s.BizID, min(of.Share(), of.Limit-len(of.Comments))}
		if err := t.query(selectCommentsOn, args, func(scan func(...any) error) error {
			c, err := scanComment(s.Tenant, scan)
			of.Comments = append(of.Comments, c)
			return err
		}); err != nil {
			return err
		}
	}
	of.Found(len(of.Comments), func(i int) storage.Subject { return of.Comments[i].Subject })
	return nil
}

// sweep clears the states, deletes the comments, and adjusts counts and totals. It returns
// the subjects whose comments have changed.
func (t tx) sweep(of *sqlstore.Sweep, outcome *storage.Outcome) ([]storage.Subject, error) {
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
	if outcome.Counts, err = t.applyTally(tally, of.Marks(tally)); err != nil {
		return nil, err
	}
	if err := t.queueDeleted(deletion.Gone, of.Now); err != nil {
		return nil, err
	}
	finished, moved := of.Finished()
	if _, err = t.exec(removeDeletedSubjects, subjectRows(finished)); err != nil {
		return nil, err
	}
	_, err = t.exec(moveDeletedSubjects, subjectRows(moved), of.Now)
	return deletion.Commented(), err
}

func (t tx) clearStates(of *sqlstore.Sweep) ([]storage.StateChange, error) {
	var out []storage.StateChange
	for _, one := range []struct {
		kind   storage.Kind
		query  string
		keys   []storage.StateKey
		fields func(*storage.StateChange) []any
	}{
		{storage.KindReaction, clearReactions, of.Reactions, func(c *storage.StateChange) []any {
			return append([]any{&c.OldReaction}, registerFields(&c.Register)...)
		}},
		{storage.KindCollection, clearCollections, of.Collections, func(c *storage.StateChange) []any { return []any{&c.OldFolderID, &c.Version} }},
		{storage.KindFollow, clearFollows, of.Follows, func(c *storage.StateChange) []any { return []any{&c.OldFollowing, &c.Version} }},
	} {
		if len(one.keys) == 0 {
			continue
		}
		slices.SortFunc(one.keys, sqlstore.CompareStateKeys)
		if err := t.query(one.query, []any{stateKeys(one.keys)}, func(scan func(...any) error) error {
			c := storage.StateChange{Kind: one.kind}
			err := scan(append([]any{&c.User.Tenant, &c.User.UserID, &c.Subject.Biz, &c.Subject.BizID}, one.fields(&c)...)...)
			c.Subject.Tenant = c.User.Tenant
			if one.kind == storage.KindReaction {
				c.Version = c.Register.Version()
			}
			out = append(out, c)
			return err
		}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// deleteComments deletes the comments of the sweep, and adjusts the counts of comments.
func (t tx) deleteComments(of *sqlstore.Sweep) (*sqlstore.DeleteComments, error) {
	d := &sqlstore.DeleteComments{
		Now: of.Now, Comments: map[storage.CommentKey]*storage.Comment{}, Counts: map[storage.Subject]storage.CommentCount{},
	}
	if len(of.Comments) == 0 {
		return d, nil
	}
	subjects := sqlstore.SubjectsOf(of.Comments)
	if err := t.commentCounts(subjects, func(i int, c storage.CommentCount) { d.Counts[subjects[i]] = c }); err != nil {
		return nil, err
	}
	keys := make([]storage.CommentKey, 0, 2*len(of.Comments))
	for _, c := range of.Comments {
		keys = append(keys, c.Key(), c.ParentKey()) // the parent is not found if its number is 0
	}
	slices.SortFunc(keys, sqlstore.CompareComments)
	keys = slices.Compact(keys)
	if err := t.comments(keys, func(_ int, c *storage.Comment) { d.Comments[c.Key()] = c }); err != nil {
		return nil, err
	}
	d.Delete(of.Comments)
	for _, c := range d.Changed {
		if err := t.updateComment(c); err != nil {
			return nil, err
		}
	}
	return d, t.setCommentCounts(d.Counts)
}
