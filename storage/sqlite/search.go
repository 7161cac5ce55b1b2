package sqlite

import (
	"context"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

const (
	selectFoundUsers = `
SELECT w.word, -w.place, coalesce(a.name, '') FROM search_word w LEFT JOIN account a ON a.tenant = w.tenant AND a.account_id = -w.place
WHERE w.tenant = ? AND w.kind = 1 AND (w.word, w.place) > (?, ?) AND w.word < ? ORDER BY w.word, w.place LIMIT ?`

	selectFoundVideos = `
SELECT w.word, -w.place, coalesce(v.user_id, ''), coalesce(v.title, ''), coalesce(v.file, ''), coalesce(v.format, 0), coalesce(v.bytes, 0),
    coalesce(v.covered, 0), coalesce(v.created, 0)
FROM search_word w LEFT JOIN video v ON v.tenant = w.tenant AND v.video_id = -w.place
WHERE w.tenant = ? AND w.kind = 2 AND (w.word, w.place) > (?, ?) AND w.word < ? ORDER BY w.word, w.place LIMIT ?`

	insertWords = `INSERT INTO search_word (tenant, kind, word, place) SELECT ?1, ?2, value ->> 0, -?3 FROM jsonb_each(?4) WHERE true ON CONFLICT DO NOTHING`
	deleteWords = `DELETE FROM search_word WHERE tenant = ?1 AND kind = ?2 AND place = -?3 AND word IN (SELECT value ->> 0 FROM jsonb_each(?4))`
)

// SearchUsers searches the names of accounts.
func (s *Store) SearchUsers(ctx context.Context, queries []storage.SearchQuery) ([]storage.ListPage[storage.FoundUser], error) {
	return list(ctx, s, "search users", queries, func(t tx, q storage.SearchQuery) (out storage.ListPage[storage.FoundUser], err error) {
		return search(t, selectFoundUsers, q, func(scan func(...any) error) (f storage.FoundUser, name string, err error) {
			var id int64
			err = scan(&f.Word, &id, &name)
			f.User = storage.KeyUser(q.Tenant, id)
			return f, name, err
		}, (*storage.FoundUser).Place)
	})
}

// SearchVideos searches the titles of videos.
func (s *Store) SearchVideos(ctx context.Context, queries []storage.SearchQuery) ([]storage.ListPage[storage.FoundVideo], error) {
	return list(ctx, s, "search videos", queries, func(t tx, q storage.SearchQuery) (out storage.ListPage[storage.FoundVideo], err error) {
		return search(t, selectFoundVideos, q, func(scan func(...any) error) (f storage.FoundVideo, title string, err error) {
			v, err := scanVideo(q.Tenant, scan, &f.Word)
			f.Video = *v
			return f, v.Title, err
		}, (*storage.FoundVideo).Place)
	})
}

// search returns one page. The function read returns an entry and its name or title.
func search[E any](
	t tx, query string, q storage.SearchQuery, read func(scan func(...any) error) (E, string, error), place func(*E) storage.Position,
) (out storage.ListPage[E], err error) {
	of, err := sqlstore.ScanOf(q)
	if err != nil {
		return out, err
	}
	err = t.query(query, []any{q.Tenant, of.After, of.Place, of.Below, of.Rows}, func(scan func(...any) error) error {
		found, text, err := read(scan)
		sqlstore.AddFound(of, &out, text, found, place(&found))
		return err
	})
	return out, err
}

// index adds the words of a name or title to the index.
func (t tx) index(tenant string, kind int, id int64, text string) error {
	return t.words(insertWords, tenant, kind, id, text)
}

// unindex removes the words of a name or title from the index.
func (t tx) unindex(tenant string, kind int, id int64, text string) error {
	return t.words(deleteWords, tenant, kind, id, text)
}

func (t tx) words(statement, tenant string, kind int, id int64, text string) error {
	words := storage.IndexWords(text)
	if len(words) == 0 {
		return nil
	}
	var rows tuples
	for _, word := range words {
		rows.add([]string{word})
	}
	_, err := t.exec(statement, tenant, kind, id, rows.json())
	return err
}

const selectIndexed = `SELECT indexed FROM account WHERE tenant = ? AND account_id = ?`

// reindexAccount replaces the words of the name that is indexed by those of another name.
func (t tx) reindexAccount(tenant string, id int64, name string) error {
	var indexed string
	err := t.query(selectIndexed, []any{tenant, id}, func(scan func(...any) error) error { return scan(&indexed) })
	if err == nil {
		err = t.unindex(tenant, sqlstore.IndexedUser, id, indexed)
	}
	if err != nil {
		return err
	}
	return t.index(tenant, sqlstore.IndexedUser, id, name)
}

const (
	selectUnindexedAccounts = `SELECT tenant, account_id, name FROM account WHERE indexed <> name ORDER BY tenant, account_id LIMIT ?`
	selectUnindexedVideos   = `SELECT tenant, video_id, title FROM video WHERE indexed = 0 ORDER BY tenant, video_id LIMIT ?`
	setAccountIndexed       = `UPDATE account SET indexed = name WHERE tenant = ? AND account_id = ?`
	setVideoIndexed         = `UPDATE video SET indexed = 1 WHERE tenant = ? AND video_id = ?`
)

// IndexNext adds names and titles to the index.
func (s *Store) IndexNext(ctx context.Context, limit int) (n int, err error) {
	none := false // nothing is written, so that no other writer waits
	err = s.read(ctx, "look for what is not in the index", func(t tx) error {
		users, videos, err := t.unindexed(1)
		none = len(users)+len(videos) == 0
		return err
	})
	if err != nil || none {
		return 0, err
	}
	err = s.write(ctx, "add to the index", func(t tx) error {
		users, videos, err := t.unindexed(max(limit, 1))
		if err != nil {
			return err
		}
		for _, u := range users {
			if err := t.reindexAccount(u.Tenant, u.ID, u.Text); err != nil {
				return err
			}
			if _, err := t.exec(setAccountIndexed, u.Tenant, u.ID); err != nil {
				return err
			}
		}
		for _, v := range videos {
			if err := t.index(v.Tenant, sqlstore.IndexedVideo, v.ID, v.Text); err != nil {
				return err
			}
			if _, err := t.exec(setVideoIndexed, v.Tenant, v.ID); err != nil {
				return err
			}
		}
		n = len(users) + len(videos)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// unindexed returns names and titles that are not in the index, up to limit of each.
func (t tx) unindexed(limit int) (users, videos []sqlstore.Unindexed, err error) {
	for _, one := range []struct {
		query string
		to    *[]sqlstore.Unindexed
	}{{selectUnindexedAccounts, &users}, {selectUnindexedVideos, &videos}} {
		err := t.query(one.query, []any{limit}, func(scan func(...any) error) error {
			var u sqlstore.Unindexed
			err := scan(&u.Tenant, &u.ID, &u.Text)
			*one.to = append(*one.to, u)
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return users, videos, nil
}
