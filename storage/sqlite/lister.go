package sqlite

import (
	"context"
	"errors"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// The statements that read the lists. Each statement scans one index backwards, starting
// just below the position. Conditions with constants repeat the conditions of partial
// indexes. The reads of one biz come from the index of all reads. A separate index would
// have to be written with every read, the most frequent action.
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
)

// list answers all queries from a single snapshot. The parameter one is the function that
// answers a single query.
func list[Q, E any](
	ctx context.Context, s *Store, what string, queries []Q, one func(tx, Q) (storage.ListPage[E], error),
) ([]storage.ListPage[E], error) {
	out := make([]storage.ListPage[E], len(queries))
	err := s.readList(ctx, what, func(t tx) (err error) {
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

// Likers lists the likes on each subject.
func (s *Store) Likers(ctx context.Context, queries []storage.LikersQuery) ([]storage.ListPage[storage.Liked], error) {
	return list(ctx, s, "list likers", queries, func(t tx, q storage.LikersQuery) (out storage.ListPage[storage.Liked], err error) {
		at := sqlstore.StartOf(q.Page)
		args := []any{q.Subject.Tenant, q.Subject.Biz, q.Subject.BizID, at.Version, at.ID, max(q.First, 0)}
		err = t.query(selectLikers, args, func(scan func(...any) error) error {
			l := storage.Liked{Subject: q.Subject, Reaction: storage.Like}
			l.User.Tenant = q.Subject.Tenant
			err := scan(&l.Version, &l.User.UserID)
			out.Entries = append(out.Entries, l)
			return err
		})
		return out, err
	})
}

// Likes lists the likes of each user.
func (s *Store) Likes(ctx context.Context, queries []storage.LikesQuery) ([]storage.ListPage[storage.Liked], error) {
	return list(ctx, s, "list likes", queries, func(t tx, q storage.LikesQuery) (out storage.ListPage[storage.Liked], err error) {
		query, at := selectLikes, sqlstore.StartOf(q.Page)
		args := []any{q.User.Tenant, q.User.UserID, at.Version, at.Biz, at.ID, max(q.First, 0)}
		if q.Biz != "" {
			query, args = selectLikesOfBiz, []any{q.User.Tenant, q.User.UserID, q.Biz, at.Version, at.ID, max(q.First, 0)}
		}
		err = t.query(query, args, func(scan func(...any) error) error {
			l := storage.Liked{User: q.User, Reaction: storage.Like}
			l.Subject.Tenant = q.User.Tenant
			err := scan(&l.Version, &l.Subject.Biz, &l.Subject.BizID)
			out.Entries = append(out.Entries, l)
			return err
		})
		return out, err
	})
}

// Items lists the items of each folder.
func (s *Store) Items(ctx context.Context, queries []storage.ItemsQuery) ([]storage.ListPage[storage.Collected], error) {
	return list(ctx, s, "list items", queries, func(t tx, q storage.ItemsQuery) (out storage.ListPage[storage.Collected], err error) {
		owner, at := q.Folder.Owner, sqlstore.StartOf(q.Page)
		args := []any{owner.Tenant, owner.UserID, q.Folder.FolderID, at.Version, at.Biz, at.ID, max(q.First, 0)}
		err = t.query(selectItems, args, func(scan func(...any) error) error {
			c := storage.Collected{User: owner, FolderID: q.Folder.FolderID}
			c.Subject.Tenant = owner.Tenant
			err := scan(&c.Version, &c.Subject.Biz, &c.Subject.BizID)
			out.Entries = append(out.Entries, c)
			return err
		})
		return out, err
	})
}

// ListFolders lists each user's folders.
func (s *Store) ListFolders(ctx context.Context, queries []storage.FoldersQuery) ([]storage.ListPage[storage.Folder], error) {
	return list(ctx, s, "list folders", queries, func(t tx, q storage.FoldersQuery) (out storage.ListPage[storage.Folder], err error) {
		query, at := selectFolders, sqlstore.StartOf(q.Page)
		if q.PublicOnly {
			query = selectPublicFolders
		}
		args := []any{q.Owner.Tenant, q.Owner.UserID, at.Version, at.ID, max(q.First, 0)}
		err = t.query(query, args, func(scan func(...any) error) error {
			f, err := scanFolder(q.Owner, scan)
			out.Entries = append(out.Entries, f)
			return err
		})
		return out, err
	})
}

// errPageFull ends a query whose page needs no more rows.
var errPageFull = errors.New("the page is full")

// Reads lists the read history of each user. A query that names a biz examines a bounded
// number of rows.
func (s *Store) Reads(ctx context.Context, queries []storage.ReadsQuery) ([]storage.ListPage[storage.Read], error) {
	return list(ctx, s, "list reads", queries, func(t tx, q storage.ReadsQuery) (out storage.ListPage[storage.Read], err error) {
		at, rows, limit := sqlstore.StartOf(q.Page), 0, max(q.First, 0)
		if q.Biz != "" {
			limit = q.MaxScan()
		}
		args := []any{q.User.Tenant, q.User.UserID, at.Version, at.Biz, at.ID, limit}
		err = t.query(selectHistory, args, func(scan func(...any) error) error {
			r := storage.Read{User: q.User}
			r.Subject.Tenant = q.User.Tenant
			if err := scan(&r.Last, &r.Subject.Biz, &r.Subject.BizID, &r.Times, &r.First); err != nil {
				return err
			}
			rows++
			at := storage.Position{Version: r.Last, Biz: r.Subject.Biz, ID: r.Subject.BizID}
			return addExamined(&out, q.Page, rows, q.Biz == "" || q.Biz == r.Subject.Biz, at, r)
		})
		return out, ignorePageFull(err)
	})
}

// addExamined adds entry to a page if belongs is true. The entry comes from the nth row
// that was examined for the page. addExamined returns errPageFull once the page is full.
// The parameter at is the position of that row; addExamined stores it in to.Resume if the
// page is not full after the last row that may be examined.
func addExamined[E any](to *storage.ListPage[E], page storage.Page, n int, belongs bool, at storage.Position, entry E) error {
	if belongs {
		to.Entries = append(to.Entries, entry)
	}
	switch {
	case len(to.Entries) >= page.First:
		return errPageFull
	case n == page.MaxScan():
		to.Resume = at
	}
	return nil
}

func ignorePageFull(err error) error {
	if errors.Is(err, errPageFull) {
		return nil
	}
	return err
}
