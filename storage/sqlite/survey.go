package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"ovation/storage"
)

// surveyTimeout bounds the duration of a survey, including the wait for the connection
// that surveys share.
const surveyTimeout = 20 * time.Second

var _ storage.Surveyor = (*Store)(nil)

// readSurvey is a variant of read for surveys, which scan whole tables. Surveys run one
// at a time, on a separate connection, and within surveyTimeout.
func (s *Store) readSurvey(ctx context.Context, what string, do func(tx) error) error {
	return s.readWithTimeout(ctx, what, s.surveyor, surveyTimeout, do)
}

const (
	surveyKinds = `
SELECT biz, count(*), sum(read_count), sum(reader_count), sum(like_count), sum(dislike_count), sum(collect_count), sum(follower_count)
FROM interactive WHERE tenant = ? GROUP BY biz ORDER BY biz`

	surveyComments = `
SELECT biz, sum(comments) FROM comment_count WHERE tenant = ? GROUP BY biz ORDER BY biz`

	surveyRest = `
SELECT (SELECT count(*) FROM user_totals WHERE tenant = ?1), (SELECT count(*) FROM folder WHERE tenant = ?1),
       coalesce((SELECT max(persisted) FROM inbox WHERE persisted IS NOT NULL), 0)`
)

// Survey summarises the data of a tenant in one snapshot.
func (s *Store) Survey(ctx context.Context, tenant string) (out storage.Survey, err error) {
	comments := map[string]int64{}
	err = s.readSurvey(ctx, "survey the store", func(t tx) error {
		out = storage.Survey{}
		err := t.query(surveyKinds, []any{tenant}, func(scan func(...any) error) error {
			var k storage.KindSummary
			err := scan(&k.Biz, &k.Subjects, &k.ReadCount, &k.ReaderCount, &k.LikeCount, &k.DislikeCount, &k.CollectCount, &k.FollowerCount)
			out.Kinds = append(out.Kinds, k)
			return err
		})
		if err != nil {
			return err
		}
		err = t.query(surveyComments, []any{tenant}, func(scan func(...any) error) error {
			var biz string
			var n int64
			err := scan(&biz, &n)
			comments[biz] = n
			return err
		})
		if err != nil {
			return err
		}
		return t.query(surveyRest, []any{tenant}, func(scan func(...any) error) error {
			return scan(&out.Users, &out.Folders, &out.Persisted)
		})
	})
	for i := range out.Kinds {
		out.Kinds[i].Comments = comments[out.Kinds[i].Biz]
		delete(comments, out.Kinds[i].Biz)
	}
	for biz, n := range comments { // kinds of content whose subjects have nothing but comments
		out.Kinds = append(out.Kinds, storage.KindSummary{Biz: biz, Comments: n})
	}
	slices.SortFunc(out.Kinds, func(a, b storage.KindSummary) int { return cmp.Compare(a.Biz, b.Biz) })
	return out, err
}

// selectHottest returns the statement that finds the subjects with the highest values of
// a count.
func selectHottest(column string) string {
	return fmt.Sprintf(`
SELECT biz, biz_id, read_count, reader_count, like_count, dislike_count, collect_count, follower_count, author, version
FROM interactive WHERE tenant = ?1 AND (?2 = '' OR biz = ?2) AND %[1]s > 0
ORDER BY %[1]s DESC, biz, biz_id LIMIT ?3`, column)
}

var hottestStatements = map[string]string{
	"readCount":     selectHottest("read_count"),
	"readerCount":   selectHottest("reader_count"),
	"likeCount":     selectHottest("like_count"),
	"dislikeCount":  selectHottest("dislike_count"),
	"collectCount":  selectHottest("collect_count"),
	"followerCount": selectHottest("follower_count"),
}

// Hottest returns the subjects with the highest values of a count.
func (s *Store) Hottest(ctx context.Context, query storage.HottestQuery) (out []storage.SubjectCounts, err error) {
	statement, known := hottestStatements[query.By]
	if !known {
		return nil, &storage.InvalidError{Field: "by", Reason: fmt.Sprintf("must be one of %v", storage.HottestBy())}
	}
	err = s.readSurvey(ctx, "find the hottest subjects", func(t tx) error {
		out = nil
		return t.query(statement, []any{query.Tenant, query.Biz, query.Limit}, func(scan func(...any) error) error {
			one := storage.SubjectCounts{Subject: storage.Subject{Tenant: query.Tenant}}
			c := &one.Counts
			err := scan(&one.Subject.Biz, &one.Subject.BizID,
				&c.ReadCount, &c.ReaderCount, &c.LikeCount, &c.DislikeCount, &c.CollectCount, &c.FollowerCount, &c.AuthorID, &c.Version)
			out = append(out, one)
			return err
		})
	})
	return out, err
}

const (
	historyOfReactions = `
SELECT user_id, prev_state, state, version FROM user_reaction
WHERE tenant = ? AND biz = ? AND biz_id = ? ORDER BY version DESC, user_id LIMIT ?`

	historyOfCollections = `
SELECT user_id, prev_state, state, version FROM user_collection
WHERE tenant = ? AND biz = ? AND biz_id = ? ORDER BY version DESC, user_id LIMIT ?`

	historyOfFollows = `
SELECT user_id, prev_state, state, version FROM user_follow
WHERE tenant = ? AND biz = ? AND biz_id = ? ORDER BY version DESC, user_id LIMIT ?`

	historyOfReads = `
SELECT user_id, times, first_read, version FROM user_read
WHERE tenant = ? AND biz = ? AND biz_id = ? ORDER BY version DESC, user_id LIMIT ?`
)

// History returns the latest change to each state of a subject, newest first, as found in
// one snapshot. It returns at most limit changes.
func (s *Store) History(ctx context.Context, subject storage.Subject, limit int) (out []storage.PastChange, err error) {
	if err := subject.Validate(); err != nil {
		return nil, err
	}
	err = s.readSurvey(ctx, "read the history of a subject", func(t tx) error {
		out = nil
		for _, of := range []struct {
			kind  storage.Kind
			query string
			rest  func(*storage.PastChange) []any
		}{
			{storage.KindReaction, historyOfReactions, func(c *storage.PastChange) []any { return []any{&c.OldReaction, &c.Reaction} }},
			{storage.KindCollection, historyOfCollections, func(c *storage.PastChange) []any { return []any{&c.OldFolderID, &c.FolderID} }},
			{storage.KindFollow, historyOfFollows, func(c *storage.PastChange) []any { return []any{&c.OldFollowing, &c.Following} }},
			{storage.KindRead, historyOfReads, func(c *storage.PastChange) []any { return []any{&c.Times, &c.First} }},
		} {
			err := t.query(of.query, []any{subject.Tenant, subject.Biz, subject.BizID, limit}, func(scan func(...any) error) error {
				change := storage.PastChange{}
				change.Subject, change.Kind, change.User.Tenant = subject, of.kind, subject.Tenant
				columns := append([]any{&change.User.UserID}, of.rest(&change)...)
				err := scan(append(columns, &change.Version)...)
				out = append(out, change)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	slices.SortStableFunc(out, func(a, b storage.PastChange) int { return cmp.Compare(b.Version, a.Version) })
	return out[:min(len(out), limit)], err
}

const activity = `
SELECT biz, min((version - ?2) / 3600000000, 23), count(*) FROM (
  SELECT biz, biz_id, version FROM user_reaction WHERE tenant = ?1 AND version >= ?2
  UNION ALL SELECT biz, biz_id, version FROM user_collection WHERE tenant = ?1 AND version >= ?2
  UNION ALL SELECT biz, biz_id, version FROM user_follow WHERE tenant = ?1 AND version >= ?2
  UNION ALL SELECT biz, biz_id, version FROM user_read WHERE tenant = ?1 AND version >= ?2
) WHERE ?3 = '' OR (biz = ?3 AND biz_id = ?4) GROUP BY 1, 2 ORDER BY 1, 2`

// Activity returns when the states of each kind changed last, as found in one snapshot.
func (s *Store) Activity(ctx context.Context, q storage.ActivityQuery) (out []storage.Activity, err error) {
	err = s.readSurvey(ctx, "count the changes of a day", func(t tx) error {
		out = nil
		return t.query(activity, []any{q.Tenant, q.Since, q.Subject.Biz, q.Subject.BizID}, func(scan func(...any) error) error {
			var biz string
			var hour, changes int64
			if err := scan(&biz, &hour, &changes); err != nil {
				return err
			}
			if len(out) == 0 || out[len(out)-1].Biz != biz {
				out = append(out, storage.Activity{Biz: biz})
			}
			out[len(out)-1].Hours[hour] = changes
			return nil
		})
	})
	return out, err
}
