package sqlite

import (
	"context"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// Statements that list follows. They have the same form as the statements in lister.go.
const (
	selectFollowers = `
SELECT version, user_id FROM user_follow
WHERE tenant = ? AND biz = ? AND biz_id = ? AND state = 1 AND (version, user_id) < (?, ?)
ORDER BY version DESC, user_id DESC LIMIT ?`

	selectFollowing = `
SELECT version, biz, biz_id FROM user_follow
WHERE tenant = ? AND user_id = ? AND state = 1 AND (version, biz, biz_id) < (?, ?, ?)
ORDER BY version DESC, biz DESC, biz_id DESC LIMIT ?`

	// selectFollowedLikers selects what a user follows, each with the version of the user's
	// like who is followed, or 0.
	selectFollowedLikers = `
SELECT w.version, w.biz, w.biz_id, ifnull(r.version, 0)
FROM (SELECT version, biz, biz_id FROM user_follow
    WHERE tenant = ?1 AND user_id = ?2 AND state = 1 AND (version, biz, biz_id) < (?5, ?6, ?7)
    ORDER BY version DESC, biz DESC, biz_id DESC LIMIT ?8) w
LEFT JOIN user_reaction r ON w.biz = 'user' AND r.tenant = ?1 AND r.user_id = w.biz_id AND r.biz = ?3 AND r.biz_id = ?4 AND +r.state = 1
ORDER BY w.version DESC, w.biz DESC, w.biz_id DESC`

	selectFollowingTotal = `
SELECT following FROM user_totals WHERE tenant = ? AND user_id = ?`

	// selectFollowOfUser selects one user's follow of another user.
	selectFollowOfUser = `
SELECT version FROM user_follow WHERE tenant = ? AND user_id = ? AND biz = 'user' AND biz_id = ? AND +state = 1`
)

// Followers lists the followers of each subject.
func (s *Store) Followers(ctx context.Context, queries []storage.FollowersQuery) ([]storage.ListPage[storage.Followed], error) {
	return list(ctx, s, "list followers", queries, func(t tx, q storage.FollowersQuery) (out storage.ListPage[storage.Followed], err error) {
		err = t.followers(q, max(q.First, 0), func(f storage.Followed) error {
			out.Entries = append(out.Entries, f)
			return nil
		})
		return out, err
	})
}

// Following lists the follows of each user. A query that names a biz examines a bounded
// number of rows.
func (s *Store) Following(ctx context.Context, queries []storage.FollowingQuery) ([]storage.ListPage[storage.Followed], error) {
	return list(ctx, s, "list what is followed", queries, func(t tx, q storage.FollowingQuery) (out storage.ListPage[storage.Followed], err error) {
		rows, limit := 0, max(q.First, 0)
		if q.Biz != "" {
			limit = q.MaxScan()
		}
		err = t.following(q, limit, func(f storage.Followed) error {
			rows++
			return addExamined(&out, q.Page, rows, q.Biz == "" || q.Biz == f.Subject.Biz, followingPosition(f), f)
		})
		return out, ignorePageFull(err)
	})
}

// Friends lists the friends of each user. It searches the shorter of two lists, the
// user's follows or the user's followers, and examines a bounded number of rows.
func (s *Store) Friends(ctx context.Context, queries []storage.FriendsQuery) ([]storage.ListPage[storage.Friend], error) {
	return list(ctx, s, "list friends", queries, func(t tx, q storage.FriendsQuery) (out storage.ListPage[storage.Friend], err error) {
		inFollowing := q.After.Biz != ""
		if q.After == (storage.Position{}) {
			if inFollowing, err = t.followsFewer(q.User); err != nil {
				return out, err
			}
		}
		err = t.friends(&out, q, inFollowing)
		return out, ignorePageFull(err)
	})
}

// friends fills a page. A connection runs one statement at a time. Therefore, friends
// first collects some candidates, and then looks up the follow in the other direction for
// each candidate. It collects more candidates if the page is not full.
func (t tx) friends(out *storage.ListPage[storage.Friend], q storage.FriendsQuery, inFollowing bool) error {
	page, n := q.Page, 0
	for rows := max(q.First, 1); n < q.MaxScan(); rows *= 2 {
		page.First = min(rows, q.MaxScan()-n)
		found, err := t.candidates(q.User, page, inFollowing)
		if err != nil {
			return err
		}
		for i := range found {
			friend, back, err := t.friend(q.User, &found[i], inFollowing)
			if err != nil {
				return err
			}
			n++
			if err := addExamined(out, q.Page, n, back, friend.Position, friend); err != nil {
				return err
			}
			page.After = friend.Position
		}
		if len(found) < page.First {
			return nil
		}
	}
	return nil
}

// FollowedLikers lists the likes on each subject by users who are followed. It examines a
// bounded number of follows.
func (s *Store) FollowedLikers(ctx context.Context, queries []storage.FollowedLikersQuery) ([]storage.ListPage[storage.FollowedLike], error) {
	return list(ctx, s, "list likers who are followed", queries, func(t tx, q storage.FollowedLikersQuery) (out storage.ListPage[storage.FollowedLike], err error) {
		at, n := sqlstore.StartOf(q.Page), 0
		args := []any{q.User.Tenant, q.User.UserID, q.Subject.Biz, q.Subject.BizID, at.Version, at.Biz, at.ID, q.MaxScan()}
		err = t.query(selectFollowedLikers, args, func(scan func(...any) error) error {
			l := storage.FollowedLike{Liked: storage.Liked{Subject: q.Subject, Reaction: storage.Like}}
			if err := scan(&l.Position.Version, &l.Position.Biz, &l.Position.ID, &l.Version); err != nil {
				return err
			}
			n++
			l.User = storage.User{Tenant: q.User.Tenant, UserID: l.Position.ID}
			return addExamined(&out, q.Page, n, l.Version > 0, l.Position, l)
		})
		return out, ignorePageFull(err)
	})
}

// friend converts a candidate to a Friend, and reports whether the candidate really is a
// friend.
func (t tx) friend(of storage.User, f *storage.Followed, inFollowing bool) (friend storage.Friend, is bool, err error) {
	back := int64(0)
	friend = storage.Friend{Of: of, User: f.User, Position: storage.Position{Version: f.Version, ID: f.User.UserID}}
	if !inFollowing {
		back, err = t.followOf(of, friend.User)
	} else {
		friend.Position = followingPosition(*f)
		if f.Subject.Biz == storage.BizUser {
			friend.User.UserID = f.Subject.BizID
			back, err = t.followOf(friend.User, of)
		}
	}
	friend.Version = max(f.Version, back)
	return friend, back > 0, err
}

// candidates returns a page of the rows to examine in the search for a user's friends.
func (t tx) candidates(of storage.User, page storage.Page, inFollowing bool) (found []storage.Followed, err error) {
	add := func(f storage.Followed) error {
		found = append(found, f)
		return nil
	}
	if inFollowing {
		err = t.following(storage.FollowingQuery{User: of, Page: page}, page.First, add)
	} else {
		err = t.followers(storage.FollowersQuery{Subject: of.Subject(), Page: page}, page.First, add)
	}
	return found, err
}

// followsFewer reports whether the number of subjects that a user follows is at most the
// number of the user's followers.
func (t tx) followsFewer(user storage.User) (bool, error) {
	of := []storage.Interactive{{Subject: user.Subject()}}
	if err := t.counts(of); err != nil {
		return false, err
	}
	var following int64
	err := t.query(selectFollowingTotal, []any{user.Tenant, user.UserID}, func(scan func(...any) error) error {
		return scan(&following)
	})
	return following <= of[0].FollowerCount, err
}

// followOf returns the version of one user's follow of another user, or 0 if there is
// none.
func (t tx) followOf(follower, followed storage.User) (version int64, err error) {
	err = t.query(selectFollowOfUser, []any{follower.Tenant, follower.UserID, followed.UserID},
		func(scan func(...any) error) error { return scan(&version) })
	return version, err
}

// followers calls the function row for each follower of a subject, at most limit times.
func (t tx) followers(q storage.FollowersQuery, limit int, row func(storage.Followed) error) error {
	at := sqlstore.StartOf(q.Page)
	args := []any{q.Subject.Tenant, q.Subject.Biz, q.Subject.BizID, at.Version, at.ID, limit}
	return t.query(selectFollowers, args, func(scan func(...any) error) error {
		f := storage.Followed{User: storage.User{Tenant: q.Subject.Tenant}, Subject: q.Subject}
		if err := scan(&f.Version, &f.User.UserID); err != nil {
			return err
		}
		return row(f)
	})
}

// following calls the function row for each subject that a user follows, at most limit
// times. It ignores q.Biz.
func (t tx) following(q storage.FollowingQuery, limit int, row func(storage.Followed) error) error {
	at := sqlstore.StartOf(q.Page)
	args := []any{q.User.Tenant, q.User.UserID, at.Version, at.Biz, at.ID, limit}
	return t.query(selectFollowing, args, func(scan func(...any) error) error {
		f := storage.Followed{User: q.User, Subject: storage.Subject{Tenant: q.User.Tenant}}
		if err := scan(&f.Version, &f.Subject.Biz, &f.Subject.BizID); err != nil {
			return err
		}
		return row(f)
	})
}

func followingPosition(f storage.Followed) storage.Position {
	return storage.Position{Version: f.Version, Biz: f.Subject.Biz, ID: f.Subject.BizID}
}
