package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// Statements that list follows. They have the same form as the statements in lister.go.
const (
	selectFollowers = `
SELECT k.ord, l.version, l.user_id
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
    WITH ORDINALITY AS k (tenant, biz, biz_id, id, version, entries, ord)
CROSS JOIN LATERAL (
    SELECT version, user_id FROM user_follow s
    WHERE s.tenant = k.tenant AND s.biz = k.biz AND s.biz_id = k.biz_id AND s.state = 1
        AND (s.version, s.user_id) < (k.version, k.id)
    ORDER BY s.version DESC, s.user_id DESC LIMIT k.entries) l`

	selectFollowing = `
SELECT k.ord, l.version, l.biz, l.biz_id, l.n
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, of_biz, biz, biz_id, version, entries, scan, ord)
CROSS JOIN LATERAL (
    SELECT version, biz, biz_id, n
    FROM (SELECT version, biz, biz_id, row_number() OVER (ORDER BY version DESC, biz DESC, biz_id DESC) AS n
        FROM (SELECT version, biz, biz_id FROM user_follow s
            WHERE s.tenant = k.tenant AND s.user_id = k.user_id AND s.state = 1
                AND (s.version, s.biz, s.biz_id) < (k.version, k.biz, k.biz_id)
            ORDER BY s.version DESC, s.biz DESC, s.biz_id DESC LIMIT k.scan) examined) numbered
    WHERE k.of_biz = '' OR biz = k.of_biz OR n = k.scan
    ORDER BY version DESC, biz DESC, biz_id DESC LIMIT k.entries) l`
)

// Followers lists the followers of each subject.
func (s *Store) Followers(ctx context.Context, queries []storage.FollowersQuery) ([]storage.ListPage[storage.Followed], error) {
	keys := newColumns(4, 2, len(queries))
	for _, q := range queries {
		at := sqlstore.StartOf(q.Page)
		keys.add([]string{q.Subject.Tenant, q.Subject.Biz, q.Subject.BizID, at.ID}, at.Version, int64(max(q.First, 0)))
	}
	return list(ctx, s, "list followers", selectFollowers, len(queries), keys, addEntry(func(row pgx.Rows) (i int, f storage.Followed, err error) {
		err = row.Scan(&i, &f.Version, &f.User.UserID)
		if err == nil {
			f.Subject = queries[i-1].Subject
			f.User.Tenant = f.Subject.Tenant
		}
		return i, f, err
	}))
}

// Following lists the follows of each user.
func (s *Store) Following(ctx context.Context, queries []storage.FollowingQuery) ([]storage.ListPage[storage.Followed], error) {
	keys := newColumns(5, 3, len(queries))
	for _, q := range queries {
		addUserQuery(keys, q.User, q.Biz, q.Page)
	}
	return list(ctx, s, "list what is followed", selectFollowing, len(queries), keys, func(row pgx.Rows, to []storage.ListPage[storage.Followed]) error {
		var i, n int
		var f storage.Followed
		if err := row.Scan(&i, &f.Version, &f.Subject.Biz, &f.Subject.BizID, &n); err != nil {
			return err
		}
		q := &queries[i-1]
		f.User, f.Subject.Tenant = q.User, q.User.Tenant
		at := storage.Position{Version: f.Version, Biz: f.Subject.Biz, ID: f.Subject.BizID}
		addExamined(&to[i-1], q.Page, n, q.Biz == "" || q.Biz == f.Subject.Biz, at, f)
		return nil
	})
}

// examinedFollows is the part w of a statement: numbered follows of the user of a row k.
const examinedFollows = `FROM (SELECT version, biz, biz_id, row_number() OVER (ORDER BY version DESC, biz DESC, biz_id DESC) AS n
        FROM (SELECT version, biz, biz_id FROM user_follow s
            WHERE s.tenant = k.tenant AND s.user_id = k.user_id AND s.state = 1
                AND (s.version, s.biz, s.biz_id) < (k.version, k.biz, k.biz_id)
            ORDER BY s.version DESC, s.biz DESC, s.biz_id DESC LIMIT k.scan) examined) w`

// selectFriendsInFollowing searches for friends in the user's follows, and
// selectFriendsInFollowers in the user's followers. For each row examined, the statement
// looks up the follow in the other direction. The column back holds the version of that
// follow, or 0 if there is none. The last row examined is returned even if it does not
// belong to a friend, because the next page resumes there.
const (
	selectFriendsInFollowing = `
SELECT k.ord, l.version, l.biz, l.biz_id, l.back, l.n
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, biz, biz_id, version, entries, scan, ord)
CROSS JOIN LATERAL (
    SELECT w.version, w.biz, w.biz_id, w.n, CASE WHEN b.state = 1 THEN b.version ELSE 0 END AS back
    ` + examinedFollows + `
    LEFT JOIN LATERAL (SELECT state, version FROM user_follow r
        WHERE w.biz = 'user' AND r.tenant = k.tenant AND r.user_id = w.biz_id AND r.biz = 'user' AND r.biz_id = k.user_id LIMIT 1) b ON TRUE
    WHERE b.state = 1 OR w.n = k.scan
    ORDER BY w.version DESC, w.biz DESC, w.biz_id DESC LIMIT k.entries) l`

	selectFriendsInFollowers = `
SELECT k.ord, l.version, '', l.user_id, l.back, l.n
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, biz, id, version, entries, scan, ord)
CROSS JOIN LATERAL (
    SELECT w.version, w.user_id, w.n, CASE WHEN b.state = 1 THEN b.version ELSE 0 END AS back
    FROM (SELECT version, user_id, row_number() OVER (ORDER BY version DESC, user_id DESC) AS n
        FROM (SELECT version, user_id FROM user_follow s
            WHERE s.tenant = k.tenant AND s.biz = 'user' AND s.biz_id = k.user_id AND s.state = 1
                AND (s.version, s.user_id) < (k.version, k.id)
            ORDER BY s.version DESC, s.user_id DESC LIMIT k.scan) examined) w
    LEFT JOIN LATERAL (SELECT state, version FROM user_follow r
        WHERE r.tenant = k.tenant AND r.user_id = k.user_id AND r.biz = 'user' AND r.biz_id = w.user_id LIMIT 1) b ON TRUE
    WHERE b.state = 1 OR w.n = k.scan
    ORDER BY w.version DESC, w.user_id DESC LIMIT k.entries) l`

	// selectFollowsFewer finds out whether the number of subjects that a user follows is
	// at most the number of the user's followers.
	selectFollowsFewer = `
SELECT k.ord, coalesce(t.following, 0) <= coalesce(i.follower_count, 0)
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (tenant, user_id, ord)
LEFT JOIN LATERAL (SELECT following FROM user_totals t
    WHERE t.tenant = k.tenant AND t.user_id = k.user_id LIMIT 1) t ON TRUE
LEFT JOIN LATERAL (SELECT follower_count FROM interactive i
    WHERE i.tenant = k.tenant AND i.biz = 'user' AND i.biz_id = k.user_id LIMIT 1) i ON TRUE`
)

// selectFollowedLikers searches a user's follows for users who like a subject, as
// selectFriendsInFollowing searches for friends. The column liked holds the version of the
// like, or 0 if there is none.
const selectFollowedLikers = `
SELECT k.ord, l.version, l.biz, l.biz_id, l.liked, l.n
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, of_biz, of_id, biz, biz_id, version, entries, scan, ord)
CROSS JOIN LATERAL (
    SELECT w.version, w.biz, w.biz_id, w.n, CASE WHEN r.state = 1 THEN r.version ELSE 0 END AS liked
    ` + examinedFollows + `
    LEFT JOIN LATERAL (SELECT state, version FROM user_reaction r
        WHERE w.biz = 'user' AND r.tenant = k.tenant AND r.user_id = w.biz_id AND r.biz = k.of_biz AND r.biz_id = k.of_id LIMIT 1) r ON TRUE
    WHERE r.state = 1 OR w.n = k.scan
    ORDER BY w.version DESC, w.biz DESC, w.biz_id DESC LIMIT k.entries) l`

// FollowedLikers lists the likes on each subject by users who are followed. It examines a
// bounded number of follows.
func (s *Store) FollowedLikers(ctx context.Context, queries []storage.FollowedLikersQuery) ([]storage.ListPage[storage.FollowedLike], error) {
	keys := newColumns(6, 3, len(queries))
	for _, q := range queries {
		after := sqlstore.StartOf(q.Page)
		keys.add([]string{q.User.Tenant, q.User.UserID, q.Subject.Biz, q.Subject.BizID, after.Biz, after.ID},
			after.Version, int64(max(q.First, 0)), int64(q.MaxScan()))
	}
	return list(ctx, s, "list likers who are followed", selectFollowedLikers, len(queries), keys, func(row pgx.Rows, to []storage.ListPage[storage.FollowedLike]) error {
		var i, n int
		var l storage.FollowedLike
		if err := row.Scan(&i, &l.Position.Version, &l.Position.Biz, &l.Position.ID, &l.Version, &n); err != nil {
			return err
		}
		q := &queries[i-1]
		l.User, l.Subject, l.Reaction = storage.User{Tenant: q.User.Tenant, UserID: l.Position.ID}, q.Subject, storage.Like
		addExamined(&to[i-1], q.Page, n, l.Version > 0, l.Position, l)
		return nil
	})
}

// Friends lists the friends of each user. It searches the shorter of two lists, the
// user's follows or the user's followers, and examines a bounded number of rows.
func (s *Store) Friends(ctx context.Context, queries []storage.FriendsQuery) ([]storage.ListPage[storage.Friend], error) {
	inFollowing, err := s.searchFollowing(ctx, queries)
	if err != nil {
		return nil, err
	}
	out := make([]storage.ListPage[storage.Friend], len(queries))
	for _, walk := range []struct {
		following bool
		query     string
	}{{true, selectFriendsInFollowing}, {false, selectFriendsInFollowers}} {
		keys := newColumns(4, 3, len(queries))
		var at []int // for each row of keys, the index of its query
		for i, q := range queries {
			if inFollowing[i] == walk.following {
				after := sqlstore.StartOf(q.Page)
				keys.add([]string{q.User.Tenant, q.User.UserID, after.Biz, after.ID},
					after.Version, int64(max(q.First, 0)), int64(q.MaxScan()))
				at = append(at, i)
			}
		}
		if len(at) == 0 {
			continue
		}
		err := s.read(ctx, "list friends", walk.query, keys.args(), func(row pgx.Rows) error {
			var i, n int
			var p storage.Position
			var back int64
			if err := row.Scan(&i, &p.Version, &p.Biz, &p.ID, &back, &n); err != nil {
				return err
			}
			q := &queries[at[i-1]]
			addExamined(&out[at[i-1]], q.Page, n, back > 0, p, storage.Friend{
				Of: q.User, User: storage.User{Tenant: q.User.Tenant, UserID: p.ID}, Version: max(p.Version, back), Position: p,
			})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// searchFollowing reports for each query whether to search for friends in the user's
// follows (true) or in the user's followers (false).
func (s *Store) searchFollowing(ctx context.Context, queries []storage.FriendsQuery) ([]bool, error) {
	out := make([]bool, len(queries))
	keys := newColumns(2, 0, len(queries))
	var first []int // for each row of keys, the index of its query, which asks for a first page
	for i, q := range queries {
		out[i] = q.After.Biz != ""
		if q.After == (storage.Position{}) {
			keys.add([]string{q.User.Tenant, q.User.UserID})
			first = append(first, i)
		}
	}
	if len(first) == 0 {
		return out, nil
	}
	return out, s.read(ctx, "compare lists of follows", selectFollowsFewer, keys.args(), func(row pgx.Rows) error {
		var i int
		var fewer bool
		if err := row.Scan(&i, &fewer); err != nil {
			return err
		}
		out[first[i-1]] = fewer
		return nil
	})
}
