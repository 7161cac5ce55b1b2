package sqlite

import (
	"context"
	"math"

	"ovation/storage"
)

// The lists. Each walks one index backwards, from just below the position; the
// conditions on constants are those of the partial indexes.
const (
	selectLikers = `
SELECT version, user_id FROM user_reaction
WHERE tenant = ? AND biz = ? AND biz_id = ? AND state = 1 AND (version, user_id) < (?, ?)
ORDER BY version DESC, user_id DESC LIMIT ?`

	selectLikes = `
SELECT version, biz, biz_id FROM user_reaction
WHERE tenant = ? AND user_id = ? AND state = 1 AND (version, biz, biz_id) < (?, ?, ?)
ORDER BY version DESC, biz DESC, biz_id DESC LIMIT ?`

	selectLikesOfBiz = `
SELECT version, biz, biz_id FROM user_reaction
WHERE tenant = ? AND user_id = ? AND biz = ? AND state = 1 AND (version, biz_id) < (?, ?)
ORDER BY version DESC, biz_id DESC LIMIT ?`

	selectItems = `
SELECT version, biz, biz_id FROM user_collection
WHERE tenant = ? AND user_id = ? AND state = ? AND state <> '' AND (version, biz, biz_id) < (?, ?, ?)
ORDER BY version DESC, biz DESC, biz_id DESC LIMIT ?`

	selectFolders = `
SELECT folder_id, name, description, public, item_count, created, updated FROM folder
WHERE tenant = ? AND user_id = ? AND (created, folder_id) < (?, ?)
ORDER BY created DESC, folder_id DESC LIMIT ?`

	selectPublicFolders = `
SELECT folder_id, name, description, public, item_count, created, updated FROM folder
WHERE tenant = ? AND user_id = ? AND public = 1 AND (created, folder_id) < (?, ?)
ORDER BY created DESC, folder_id DESC LIMIT ?`

	selectHistory = `
SELECT version, biz, biz_id, times, first_read FROM user_read
WHERE tenant = ? AND user_id = ? AND user_id <> '' AND (version, biz, biz_id) < (?, ?, ?)
ORDER BY version DESC, biz DESC, biz_id DESC LIMIT ?`

	// The plus keeps SQLite from taking biz for a constant, and so for no part
	// of the order.
	selectHistoryOfBiz = `
SELECT version, biz, biz_id, times, first_read FROM user_read
WHERE tenant = ?1 AND user_id = ?2 AND user_id <> '' AND +biz = ?3 AND (version, biz, biz_id) < (?4, ?3, ?5)
ORDER BY version DESC, biz DESC, biz_id DESC LIMIT ?6`
)

// list answers each query by one statement, all as of one moment.
func list[Q, E any](ctx context.Context, s *Store, what string, queries []Q, one func(tx, Q) ([]E, error)) ([][]E, error) {
	out := make([][]E, len(queries))
	err := s.read(ctx, what, func(t tx) (err error) {
		for i, q := range queries {
			if out[i], err = one(t, q); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// after is where a page begins: above the zero position stands every entry.
func after(page storage.Page) storage.Position {
	if page.After == (storage.Position{}) {
		const aboveEveryText = "\U0010ffff"
		return storage.Position{Version: math.MaxInt64, Biz: aboveEveryText, ID: aboveEveryText}
	}
	return page.After
}

// Likers lists who likes each subject.
func (s *Store) Likers(ctx context.Context, queries []storage.LikersQuery) ([][]storage.Liked, error) {
	return list(ctx, s, "list likers", queries, func(t tx, q storage.LikersQuery) (out []storage.Liked, err error) {
		at := after(q.Page)
		args := []any{q.Subject.Tenant, q.Subject.Biz, q.Subject.BizID, at.Version, at.ID, max(q.First, 0)}
		err = t.query(selectLikers, args, func(scan func(...any) error) error {
			l := storage.Liked{Subject: q.Subject, Reaction: storage.Like}
			l.User.Tenant = q.Subject.Tenant
			err := scan(&l.Version, &l.User.UserID)
			out = append(out, l)
			return err
		})
		return out, err
	})
}

// Likes lists what each user likes.
func (s *Store) Likes(ctx context.Context, queries []storage.LikesQuery) ([][]storage.Liked, error) {
	return list(ctx, s, "list likes", queries, func(t tx, q storage.LikesQuery) (out []storage.Liked, err error) {
		query, args := byBiz(selectLikes, selectLikesOfBiz, q.User, q.Biz, q.Page)
		err = t.query(query, args, func(scan func(...any) error) error {
			l := storage.Liked{User: q.User, Reaction: storage.Like}
			l.Subject.Tenant = q.User.Tenant
			err := scan(&l.Version, &l.Subject.Biz, &l.Subject.BizID)
			out = append(out, l)
			return err
		})
		return out, err
	})
}

// Items lists what lies in each folder.
func (s *Store) Items(ctx context.Context, queries []storage.ItemsQuery) ([][]storage.Collected, error) {
	return list(ctx, s, "list items", queries, func(t tx, q storage.ItemsQuery) (out []storage.Collected, err error) {
		owner, at := q.Folder.Owner, after(q.Page)
		args := []any{owner.Tenant, owner.UserID, q.Folder.FolderID, at.Version, at.Biz, at.ID, max(q.First, 0)}
		err = t.query(selectItems, args, func(scan func(...any) error) error {
			c := storage.Collected{User: owner, FolderID: q.Folder.FolderID}
			c.Subject.Tenant = owner.Tenant
			err := scan(&c.Version, &c.Subject.Biz, &c.Subject.BizID)
			out = append(out, c)
			return err
		})
		return out, err
	})
}

// ListFolders lists each user's folders.
func (s *Store) ListFolders(ctx context.Context, queries []storage.FoldersQuery) ([][]storage.Folder, error) {
	return list(ctx, s, "list folders", queries, func(t tx, q storage.FoldersQuery) (out []storage.Folder, err error) {
		query, at := selectFolders, after(q.Page)
		if q.PublicOnly {
			query = selectPublicFolders
		}
		args := []any{q.Owner.Tenant, q.Owner.UserID, at.Version, at.ID, max(q.First, 0)}
		err = t.query(query, args, func(scan func(...any) error) error {
			f, err := scanFolder(q.Owner, scan)
			out = append(out, f)
			return err
		})
		return out, err
	})
}

// Reads lists what each user has read.
func (s *Store) Reads(ctx context.Context, queries []storage.ReadsQuery) ([][]storage.Read, error) {
	return list(ctx, s, "list reads", queries, func(t tx, q storage.ReadsQuery) (out []storage.Read, err error) {
		query, args := byBiz(selectHistory, selectHistoryOfBiz, q.User, q.Biz, q.Page)
		err = t.query(query, args, func(scan func(...any) error) error {
			r := storage.Read{User: q.User}
			r.Subject.Tenant = q.User.Tenant
			err := scan(&r.Last, &r.Subject.Biz, &r.Subject.BizID, &r.Times, &r.First)
			out = append(out, r)
			return err
		})
		return out, err
	})
}

// byBiz chooses the query of all a user's subjects or of those of one biz.
func byBiz(all, ofBiz string, user storage.User, biz string, page storage.Page) (string, []any) {
	at := after(page)
	if biz == "" {
		return all, []any{user.Tenant, user.UserID, at.Version, at.Biz, at.ID, max(page.First, 0)}
	}
	return ofBiz, []any{user.Tenant, user.UserID, biz, at.Version, at.ID, max(page.First, 0)}
}
