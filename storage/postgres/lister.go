package postgres

import (
	"context"
	"math"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
)

// The lists. For each query a nested loop walks one index backwards, from just
// below the position; the conditions on constants are those of the partial
// indexes. The entries of one query come in their order: a LATERAL keeps it.
const (
	selectLikers = `
SELECT k.ord, l.version, l.user_id
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
    WITH ORDINALITY AS k (tenant, biz, biz_id, id, version, entries, ord)
CROSS JOIN LATERAL (
    SELECT version, user_id FROM user_reaction s
    WHERE s.tenant = k.tenant AND s.biz = k.biz AND s.biz_id = k.biz_id AND s.state = 1
        AND (s.version, s.user_id) < (k.version, k.id)
    ORDER BY s.version DESC, s.user_id DESC LIMIT k.entries) l`

	selectLikes = `
SELECT k.ord, l.version, l.biz, l.biz_id
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, of_biz, biz, biz_id, version, entries, ord)
CROSS JOIN LATERAL (
    SELECT version, biz, biz_id FROM user_reaction s
    WHERE s.tenant = k.tenant AND s.user_id = k.user_id AND s.state = 1 AND (k.of_biz = '' OR s.biz = k.of_biz)
        AND (s.version, s.biz, s.biz_id) < (k.version, k.biz, k.biz_id)
    ORDER BY s.version DESC, s.biz DESC, s.biz_id DESC LIMIT k.entries) l`

	selectItems = `
SELECT k.ord, l.version, l.biz, l.biz_id
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, folder_id, biz, biz_id, version, entries, ord)
CROSS JOIN LATERAL (
    SELECT version, biz, biz_id FROM user_collection s
    WHERE s.tenant = k.tenant AND s.user_id = k.user_id AND s.state = k.folder_id AND s.state <> ''
        AND (s.version, s.biz, s.biz_id) < (k.version, k.biz, k.biz_id)
    ORDER BY s.version DESC, s.biz DESC, s.biz_id DESC LIMIT k.entries) l`

	selectFolders = `
SELECT k.ord, l.folder_id, l.name, l.description, l.public, l.item_count, l.created, l.updated
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, id, created, entries, public_only, ord)
CROSS JOIN LATERAL (
    (SELECT folder_id, name, description, public, item_count, created, updated FROM folder f
    WHERE k.public_only = 0 AND f.tenant = k.tenant AND f.user_id = k.user_id AND f.folder_id <> '' AND (f.created, f.folder_id) < (k.created, k.id)
    ORDER BY f.created DESC, f.folder_id DESC LIMIT k.entries)
    UNION ALL
    (SELECT folder_id, name, description, public, item_count, created, updated FROM folder f
    WHERE k.public_only = 1 AND f.tenant = k.tenant AND f.user_id = k.user_id AND f.public AND (f.created, f.folder_id) < (k.created, k.id)
    ORDER BY f.created DESC, f.folder_id DESC LIMIT k.entries)) l`

	selectHistory = `
SELECT k.ord, l.version, l.biz, l.biz_id, l.times, l.first_read
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, of_biz, biz, biz_id, version, entries, ord)
CROSS JOIN LATERAL (
    SELECT version, biz, biz_id, times, first_read FROM user_read s
    WHERE s.tenant = k.tenant AND s.user_id = k.user_id AND s.user_id <> '' AND (k.of_biz = '' OR s.biz = k.of_biz)
        AND (s.version, s.biz, s.biz_id) < (k.version, k.biz, k.biz_id)
    ORDER BY s.version DESC, s.biz DESC, s.biz_id DESC LIMIT k.entries) l`
)

// list answers all queries by one statement. one reads the entry that a row
// holds and tells which query it is of, counted from 1.
func list[E any](ctx context.Context, s *Store, what, query string, n int, keys columns, one func(row pgx.Rows) (int, E, error)) ([][]E, error) {
	out := make([][]E, n)
	err := s.read(ctx, what, query, keys.args(), func(row pgx.Rows) error {
		i, entry, err := one(row)
		if err == nil {
			out[i-1] = append(out[i-1], entry)
		}
		return err
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
	keys := newColumns(4, 2, len(queries))
	for _, q := range queries {
		at := after(q.Page)
		keys.add([]string{q.Subject.Tenant, q.Subject.Biz, q.Subject.BizID, at.ID}, at.Version, int64(max(q.First, 0)))
	}
	return list(ctx, s, "list likers", selectLikers, len(queries), keys, func(row pgx.Rows) (i int, l storage.Liked, err error) {
		l.Reaction = storage.Like
		err = row.Scan(&i, &l.Version, &l.User.UserID)
		if err == nil {
			l.Subject = queries[i-1].Subject
			l.User.Tenant = l.Subject.Tenant
		}
		return i, l, err
	})
}

// Likes lists what each user likes.
func (s *Store) Likes(ctx context.Context, queries []storage.LikesQuery) ([][]storage.Liked, error) {
	keys := newColumns(5, 2, len(queries))
	for _, q := range queries {
		addUsers(keys, q.User, q.Biz, q.Page)
	}
	return list(ctx, s, "list likes", selectLikes, len(queries), keys, func(row pgx.Rows) (i int, l storage.Liked, err error) {
		l.Reaction = storage.Like
		err = row.Scan(&i, &l.Version, &l.Subject.Biz, &l.Subject.BizID)
		if err == nil {
			l.User = queries[i-1].User
			l.Subject.Tenant = l.User.Tenant
		}
		return i, l, err
	})
}

// Items lists what lies in each folder.
func (s *Store) Items(ctx context.Context, queries []storage.ItemsQuery) ([][]storage.Collected, error) {
	keys := newColumns(5, 2, len(queries))
	for _, q := range queries {
		at := after(q.Page)
		keys.add([]string{q.Folder.Owner.Tenant, q.Folder.Owner.UserID, q.Folder.FolderID, at.Biz, at.ID},
			at.Version, int64(max(q.First, 0)))
	}
	return list(ctx, s, "list items", selectItems, len(queries), keys, func(row pgx.Rows) (i int, c storage.Collected, err error) {
		err = row.Scan(&i, &c.Version, &c.Subject.Biz, &c.Subject.BizID)
		if err == nil {
			c.User, c.FolderID = queries[i-1].Folder.Owner, queries[i-1].Folder.FolderID
			c.Subject.Tenant = c.User.Tenant
		}
		return i, c, err
	})
}

// ListFolders lists each user's folders.
func (s *Store) ListFolders(ctx context.Context, queries []storage.FoldersQuery) ([][]storage.Folder, error) {
	keys := newColumns(3, 3, len(queries))
	for _, q := range queries {
		at, publicOnly := after(q.Page), int64(0)
		if q.PublicOnly {
			publicOnly = 1
		}
		keys.add([]string{q.Owner.Tenant, q.Owner.UserID, at.ID}, at.Version, int64(max(q.First, 0)), publicOnly)
	}
	return list(ctx, s, "list folders", selectFolders, len(queries), keys, func(row pgx.Rows) (i int, f storage.Folder, err error) {
		err = row.Scan(&i, &f.FolderID, &f.Name, &f.Description, &f.Public, &f.ItemCount, &f.Created, &f.Updated)
		if err == nil {
			f.Owner = queries[i-1].Owner
		}
		return i, f, err
	})
}

// Reads lists what each user has read.
func (s *Store) Reads(ctx context.Context, queries []storage.ReadsQuery) ([][]storage.Read, error) {
	keys := newColumns(5, 2, len(queries))
	for _, q := range queries {
		addUsers(keys, q.User, q.Biz, q.Page)
	}
	return list(ctx, s, "list reads", selectHistory, len(queries), keys, func(row pgx.Rows) (i int, r storage.Read, err error) {
		err = row.Scan(&i, &r.Last, &r.Subject.Biz, &r.Subject.BizID, &r.Times, &r.First)
		if err == nil {
			r.User = queries[i-1].User
			r.Subject.Tenant = r.User.Tenant
		}
		return i, r, err
	})
}

// addUsers adds a query of a user's subjects, of one biz if it is set.
func addUsers(keys columns, user storage.User, biz string, page storage.Page) {
	at := after(page)
	if biz != "" {
		at.Biz = biz
	}
	keys.add([]string{user.Tenant, user.UserID, biz, at.Biz, at.ID}, at.Version, int64(max(page.First, 0)))
}
