package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// The searches have the form of the statements in lister.go, but read forwards.
const (
	selectFoundUsers = `
SELECT k.ord, w.word, -w.place, coalesce(a.name, '')
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[]) WITH ORDINALITY AS k (tenant, word, below, place, entries, ord)
CROSS JOIN LATERAL (SELECT word, place FROM search_word w
    WHERE w.tenant = k.tenant AND w.kind = 1 AND (w.word, w.place) > (k.word, k.place) AND w.word < k.below
    ORDER BY w.word, w.place LIMIT k.entries) w
LEFT JOIN LATERAL (SELECT name FROM account a WHERE a.tenant = k.tenant AND a.account_id = -w.place LIMIT 1) a ON TRUE`

	selectFoundVideos = `
SELECT k.ord, w.word, -w.place, coalesce(v.user_id, ''), coalesce(v.title, ''), coalesce(v.file, ''), coalesce(v.format, 0), coalesce(v.bytes, 0),
    coalesce(v.covered, FALSE), coalesce(v.created, 0)
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[]) WITH ORDINALITY AS k (tenant, word, below, place, entries, ord)
CROSS JOIN LATERAL (SELECT word, place FROM search_word w
    WHERE w.tenant = k.tenant AND w.kind = 2 AND (w.word, w.place) > (k.word, k.place) AND w.word < k.below
    ORDER BY w.word, w.place LIMIT k.entries) w
LEFT JOIN LATERAL (SELECT user_id, title, file, format, bytes, covered, created FROM video v
    WHERE v.tenant = k.tenant AND v.video_id = -w.place LIMIT 1) v ON TRUE`

	insertWords = `
INSERT INTO search_word (tenant, kind, word, place) SELECT $1, $2, word, -$3::bigint FROM unnest($4::text[]) word ON CONFLICT DO NOTHING`
	deleteWords = `DELETE FROM search_word WHERE tenant = $1 AND kind = $2 AND word = ANY ($4::text[]) AND place = -$3::bigint`
)

// SearchUsers searches the names of accounts with one statement.
func (s *Store) SearchUsers(ctx context.Context, queries []storage.SearchQuery) ([]storage.ListPage[storage.FoundUser], error) {
	return search(ctx, s, "search users", selectFoundUsers, queries, func(row pgx.Rows) (i int, f storage.FoundUser, name string, err error) {
		var id int64
		if err = row.Scan(&i, &f.Word, &id, &name); err == nil {
			f.User = storage.KeyUser(queries[i-1].Tenant, id)
		}
		return i, f, name, err
	}, (*storage.FoundUser).Place)
}

// SearchVideos searches the titles of videos with one statement.
func (s *Store) SearchVideos(ctx context.Context, queries []storage.SearchQuery) ([]storage.ListPage[storage.FoundVideo], error) {
	return search(ctx, s, "search videos", selectFoundVideos, queries, func(row pgx.Rows) (i int, f storage.FoundVideo, title string, err error) {
		v, err := scanVideo("", row, &i, &f.Word)
		if err == nil {
			v.Author.Tenant = queries[i-1].Tenant
			f.Video = *v
		}
		return i, f, v.Title, err
	}, (*storage.FoundVideo).Place)
}

// search answers all queries with one statement. The function read returns the number of
// the query that a row belongs to, starting at 1, the entry in the row, and its name or
// title.
func search[E any](
	ctx context.Context, s *Store, what, query string, queries []storage.SearchQuery,
	read func(row pgx.Rows) (int, E, string, error), place func(*E) storage.Position,
) ([]storage.ListPage[E], error) {
	scans, err := sqlstore.ScansOf(queries)
	if err != nil {
		return nil, err
	}
	keys := newColumns(3, 2, len(queries))
	for i, of := range scans {
		keys.add([]string{queries[i].Tenant, of.After, of.Below}, of.Place, of.Rows)
	}
	return list(ctx, s, what, query, len(queries), keys, func(row pgx.Rows, to []storage.ListPage[E]) error {
		i, found, text, err := read(row)
		if err == nil {
			sqlstore.AddFound(scans[i-1], &to[i-1], text, found, place(&found))
		}
		return err
	})
}

// index queues a statement that adds the words of a name or title to the index.
func index(b *pgx.Batch, tenant string, kind int, id int64, text string) {
	words(b, insertWords, tenant, kind, id, text)
}

// unindex queues a statement that removes the words of a name or title from the index.
func unindex(b *pgx.Batch, tenant string, kind int, id int64, text string) {
	words(b, deleteWords, tenant, kind, id, text)
}

func words(b *pgx.Batch, statement, tenant string, kind int, id int64, text string) {
	if words := storage.IndexWords(text); len(words) > 0 {
		b.Queue(statement, tenant, kind, id, words)
	}
}

const (
	selectIndexed = `SELECT indexed FROM account WHERE tenant = $1 AND account_id = $2`

	lockUnindexedAccounts = `
SELECT tenant, account_id, name, indexed FROM account WHERE indexed <> name ORDER BY tenant, account_id LIMIT $1 FOR UPDATE SKIP LOCKED`
	lockUnindexedVideos = `
SELECT tenant, video_id, title FROM video WHERE NOT indexed ORDER BY tenant, video_id LIMIT $1 FOR UPDATE SKIP LOCKED`
	setAccountIndexed = `UPDATE account SET indexed = name WHERE tenant = $1 AND account_id = $2`
	setVideoIndexed   = `UPDATE video SET indexed = TRUE WHERE tenant = $1 AND video_id = $2`
)

// IndexNext adds names and titles to the index. It locks accounts, then videos, then the
// words of both; it skips those that others have locked.
func (s *Store) IndexNext(ctx context.Context, limit int) (n int, err error) {
	err = s.change(ctx, "add to the index", func(t *tx) error {
		b, after := t.batch(), new(pgx.Batch)
		n = 0
		b.Queue(lockUnindexedAccounts, max(limit, 1)).Query(eachRow(func(row pgx.Rows) error {
			var u sqlstore.Unindexed
			var indexed string
			if err := row.Scan(&u.Tenant, &u.ID, &u.Text, &indexed); err != nil {
				return err
			}
			unindex(after, u.Tenant, sqlstore.IndexedUser, u.ID, indexed)
			index(after, u.Tenant, sqlstore.IndexedUser, u.ID, u.Text)
			after.Queue(setAccountIndexed, u.Tenant, u.ID)
			n++
			return nil
		}))
		b.Queue(lockUnindexedVideos, max(limit, 1)).Query(eachRow(func(row pgx.Rows) error {
			var v sqlstore.Unindexed
			if err := row.Scan(&v.Tenant, &v.ID, &v.Text); err != nil {
				return err
			}
			index(after, v.Tenant, sqlstore.IndexedVideo, v.ID, v.Text)
			after.Queue(setVideoIndexed, v.Tenant, v.ID)
			n++
			return nil
		}))
		if err := t.send(b); err != nil || n == 0 {
			return err
		}
		return t.send(after)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
