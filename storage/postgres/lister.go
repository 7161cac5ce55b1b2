package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// The statements that read the lists. For each query, a nested loop scans one index
// backwards, starting just below the position. Conditions with constants repeat the
// conditions of partial indexes. The LATERAL join keeps the entries of one query in the
// order of the index.
//
// The likes of one biz come from the index of all likes, and the reads of one biz from
// the index of all reads. The innermost LIMIT bounds the number of rows that are
// examined. The last row examined is returned even if it is of another biz, because the
// next page resumes there.
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
SELECT k.ord, l.version, l.biz, l.biz_id, l.n
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, of_biz, biz, biz_id, version, entries, scan, ord)
CROSS JOIN LATERAL (
    SELECT version, biz, biz_id, n
    FROM (SELECT version, biz, biz_id, row_number() OVER (ORDER BY version DESC, biz DESC, biz_id DESC) AS n
        FROM (SELECT version, biz, biz_id FROM user_reaction s
            WHERE s.tenant = k.tenant AND s.user_id = k.user_id AND s.state = 1
                AND (s.version, s.biz, s.biz_id) < (k.version, k.biz, k.biz_id)
            ORDER BY s.version DESC, s.biz DESC, s.biz_id DESC LIMIT k.scan) examined) numbered
    WHERE k.of_biz = '' OR biz = k.of_biz OR n = k.scan
    ORDER BY version DESC, biz DESC, biz_id DESC LIMIT k.entries) l`

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
SELECT k.ord, l.version, l.biz, l.biz_id, l.times, l.first_read, l.n
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, of_biz, biz, biz_id, version, entries, scan, ord)
CROSS JOIN LATERAL (
    SELECT version, biz, biz_id, times, first_read, n
    FROM (SELECT version, biz, biz_id, times, first_read, row_number() OVER (ORDER BY version DESC, biz DESC, biz_id DESC) AS n
        FROM (SELECT version, biz, biz_id, times, first_read FROM user_read s
            WHERE s.tenant = k.tenant AND s.user_id = k.user_id AND s.user_id <> ''
                AND (s.version, s.biz, s.biz_id) < (k.version, k.biz, k.biz_id)
            ORDER BY s.version DESC, s.biz DESC, s.biz_id DESC LIMIT k.scan) examined) numbered
    WHERE k.of_biz = '' OR biz = k.of_biz OR n = k.scan
    ORDER BY version DESC, biz DESC, biz_id DESC LIMIT k.entries) l`
)

// list answers all queries with one statement. The function add adds the content of a row
// to the page that the row belongs to.
func list[E any](
	ctx context.Context, s *Store, what, query string, n int, keys columns, add func(row pgx.Rows, to []storage.ListPage[E]) error,
) ([]storage.ListPage[E], error) {
	out := make([]storage.ListPage[E], n)
	err := s.read(ctx, what, query, keys.args(), func(row pgx.Rows) error { return add(row, out) })
	if err != nil {
		return nil, err
	}
	return out, nil
}

// addEntry returns a function for the parameter add of list. The function read returns
// the number of the query that a row belongs to, starting at 1, and the entry in the row.
func addEntry[E any](read func(row pgx.Rows) (int, E, error)) func(pgx.Rows, []storage.ListPage[E]) error {
	return func(row pgx.Rows, to []storage.ListPage[E]) error {
		i, entry, err := read(row)
		if err == nil {
			to[i-1].Entries = append(to[i-1].Entries, entry)
		}
		return err
	}
}

// Likers lists the likes on each subject.
func (s *Store) Likers(ctx context.Context, queries []storage.LikersQuery) ([]storage.ListPage[storage.Liked], error) {
	keys := newColumns(4, 2, len(queries))
	for _, q := range queries {
		at := sqlstore.StartOf(q.Page)
		keys.add([]string{q.Subject.Tenant, q.Subject.Biz, q.Subject.BizID, at.ID}, at.Version, int64(max(q.First, 0)))
	}
	return list(ctx, s, "list likers", selectLikers, len(queries), keys, addEntry(func(row pgx.Rows) (i int, l storage.Liked, err error) {
		l.Reaction = storage.Like
		err = row.Scan(&i, &l.Version, &l.User.UserID)
		if err == nil {
			l.Subject = queries[i-1].Subject
			l.User.Tenant = l.Subject.Tenant
		}
		return i, l, err
	}))
}

// Likes lists the likes of each user.
func (s *Store) Likes(ctx context.Context, queries []storage.LikesQuery) ([]storage.ListPage[storage.Liked], error) {
	keys := newColumns(5, 3, len(queries))
	for _, q := range queries {
		addUserQuery(keys, q.User, q.Biz, q.Page)
	}
	return list(ctx, s, "list likes", selectLikes, len(queries), keys, func(row pgx.Rows, to []storage.ListPage[storage.Liked]) error {
		var i, n int
		l := storage.Liked{Reaction: storage.Like}
		if err := row.Scan(&i, &l.Version, &l.Subject.Biz, &l.Subject.BizID, &n); err != nil {
			return err
		}
		q := &queries[i-1]
		l.User, l.Subject.Tenant = q.User, q.User.Tenant
		at := storage.Position{Version: l.Version, Biz: l.Subject.Biz, ID: l.Subject.BizID}
		addExamined(&to[i-1], q.Page, n, q.Biz == "" || q.Biz == at.Biz, at, l)
		return nil
	})
}

// Items lists the items of each folder.
func (s *Store) Items(ctx context.Context, queries []storage.ItemsQuery) ([]storage.ListPage[storage.Collected], error) {
	keys := newColumns(5, 2, len(queries))
	for _, q := range queries {
		at := sqlstore.StartOf(q.Page)
		keys.add([]string{q.Folder.Owner.Tenant, q.Folder.Owner.UserID, q.Folder.FolderID, at.Biz, at.ID},
			at.Version, int64(max(q.First, 0)))
	}
	return list(ctx, s, "list items", selectItems, len(queries), keys, addEntry(func(row pgx.Rows) (i int, c storage.Collected, err error) {
		err = row.Scan(&i, &c.Version, &c.Subject.Biz, &c.Subject.BizID)
		if err == nil {
			c.User, c.FolderID = queries[i-1].Folder.Owner, queries[i-1].Folder.FolderID
			c.Subject.Tenant = c.User.Tenant
		}
		return i, c, err
	}))
}

// ListFolders lists each user's folders.
func (s *Store) ListFolders(ctx context.Context, queries []storage.FoldersQuery) ([]storage.ListPage[storage.Folder], error) {
	keys := newColumns(3, 3, len(queries))
	for _, q := range queries {
		at, publicOnly := sqlstore.StartOf(q.Page), int64(0)
		if q.PublicOnly {
			publicOnly = 1
		}
		keys.add([]string{q.Owner.Tenant, q.Owner.UserID, at.ID}, at.Version, int64(max(q.First, 0)), publicOnly)
	}
	return list(ctx, s, "list folders", selectFolders, len(queries), keys, addEntry(func(row pgx.Rows) (i int, f storage.Folder, err error) {
		err = row.Scan(&i, &f.FolderID, &f.Name, &f.Description, &f.Public, &f.ItemCount, &f.Created, &f.Updated)
		if err == nil {
			f.Owner = queries[i-1].Owner
		}
		return i, f, err
	}))
}

// Reads lists the read history of each user.
func (s *Store) Reads(ctx context.Context, queries []storage.ReadsQuery) ([]storage.ListPage[storage.Read], error) {
	keys := newColumns(5, 3, len(queries))
	for _, q := range queries {
		addUserQuery(keys, q.User, q.Biz, q.Page)
	}
	return list(ctx, s, "list reads", selectHistory, len(queries), keys, func(row pgx.Rows, to []storage.ListPage[storage.Read]) error {
		var i, n int
		var r storage.Read
		if err := row.Scan(&i, &r.Last, &r.Subject.Biz, &r.Subject.BizID, &r.Times, &r.First, &n); err != nil {
			return err
		}
		q := &queries[i-1]
		r.User, r.Subject.Tenant = q.User, q.User.Tenant
		at := storage.Position{Version: r.Last, Biz: r.Subject.Biz, ID: r.Subject.BizID}
		addExamined(&to[i-1], q.Page, n, q.Biz == "" || q.Biz == at.Biz, at, r)
		return nil
	})
}

// addUserQuery adds a query for one of a user's lists of subjects. If biz is not empty,
// the list contains only subjects of that biz.
func addUserQuery(keys columns, user storage.User, biz string, page storage.Page) {
	at := sqlstore.StartOf(page)
	keys.add([]string{user.Tenant, user.UserID, biz, at.Biz, at.ID}, at.Version, int64(max(page.First, 0)), int64(page.MaxScan()))
}

// addExamined adds entry to a page if belongs is true. The entry comes from the nth row
// that was examined for the page. The parameter at is the position of that row;
// addExamined stores it in to.Resume if the page is not full after the last row that may
// be examined.
func addExamined[E any](to *storage.ListPage[E], page storage.Page, n int, belongs bool, at storage.Position, entry E) {
	if belongs {
		to.Entries = append(to.Entries, entry)
	}
	if n == page.MaxScan() && len(to.Entries) < page.First {
		to.Resume = at
	}
}
