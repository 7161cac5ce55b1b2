package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ovation/api/viewer"
	"ovation/storage"
)

// growthData determines the contents of Postgres. The states are likes and collections,
// three to one. The numbers of users and subjects grow with the number of states. The
// data is deterministic.
//
// One user in a hundred is a heavy user with 218 states; the others have 18. The states
// are skewed: of S subjects, the first n have √(n/S) of all states. Every subject also
// has anonymous reads.
type growthData struct{ states, users, subjects int }

const (
	heavyUserInterval = 100
	heavyUserStates   = 218
	typicalUserStates = 18
	meanStatesPerUser = 20 // mean over all users

	meanStatesPerSubject = 50
	minSubjects          = 20_000 // enough for pages that have no subject in common
)

func newGrowthData(states int) growthData {
	return growthData{states, states / meanStatesPerUser, max(minSubjects, states/meanStatesPerSubject)}
}

func (growthData) user(n int) string    { return fmt.Sprintf("user-%07d", n) }
func (growthData) subject(n int) string { return fmt.Sprintf("item-%07d", n) }

// fillUsers is the number of users whose states one statement inserts.
const fillUsers = 25_000

// selectStates computes states on $3 subjects, for the users numbered from $1 up to, but
// not including, $2. Its columns are user_id, n (the number of the state, from 0 for each
// user), biz_id and at (the time). For each user, the subjects are divided into as many
// stretches as the user has states. State n is on a subject of stretch n, so that no two
// states of a user are on the same subject. Multiplying by the prime scatters the values
// of neighbouring users.
const selectStates = `
SELECT 'user-' || lpad(u::text, 7, '0') AS user_id, n,
    'item-' || lpad((n + floor(($3 - o.held) * power((n + o.begins) / o.held, 2))::bigint)::text, 7, '0') AS biz_id,
    1700000000000000 + (u * 1000 + n) * 2654435761 % 31536000000 * 1000 AS at
FROM generate_series($1::bigint, $2::bigint - 1) u
CROSS JOIN LATERAL (SELECT CASE WHEN u % 100 = 0 THEN 218 ELSE 18 END AS held,
    (u * 2654435761 % 4294967296)::float8 / 4294967296 AS begins) o
CROSS JOIN LATERAL generate_series(0, o.held - 1) n`

const (
	fillReactions = `
INSERT INTO user_reaction (tenant, user_id, biz, biz_id, state, prev_state, version)
SELECT 'default', user_id, 'article', biz_id, 1, 0, at FROM (` + selectStates + `) s WHERE n % 4 <> 3`

	fillCollections = `
INSERT INTO user_collection (tenant, user_id, biz, biz_id, state, prev_state, version)
SELECT 'default', user_id, 'article', biz_id, 'default', '', at FROM (` + selectStates + `) s WHERE n % 4 = 3`

	fillFolders = `
INSERT INTO folder (tenant, user_id, folder_id, name, name_key, description, public, item_count, created, updated)
SELECT tenant, user_id, 'default', $1, $2, '', FALSE, count(*), min(version), min(version)
FROM user_collection GROUP BY tenant, user_id`

	fillReads = `
INSERT INTO user_read (tenant, user_id, biz, biz_id, times, first_read, version)
SELECT 'default', '', 'article', 'item-' || lpad(s::text, 7, '0'), 1 + $1::bigint * 10 / (s + 10), 1700000000000000, 1731536000000000
FROM generate_series(0, $1::bigint - 1) s`

	fillCounts = `
INSERT INTO interactive (tenant, biz, biz_id, read_count, like_count, dislike_count, collect_count, version)
SELECT tenant, biz, biz_id, sum(times), sum(likes), 0, sum(collected), 1 FROM (
    SELECT tenant, biz, biz_id, times, 0 AS likes, 0 AS collected FROM user_read
    UNION ALL SELECT tenant, biz, biz_id, 0, count(*), 0 FROM user_reaction GROUP BY tenant, biz, biz_id
    UNION ALL SELECT tenant, biz, biz_id, 0, 0, count(*) FROM user_collection GROUP BY tenant, biz, biz_id
) s GROUP BY tenant, biz, biz_id`

	fillTotals = `
INSERT INTO user_totals (tenant, user_id, likes, following, collections, works, likes_received)
SELECT tenant, user_id, sum(likes), 0, sum(collections), 0, 0 FROM (
    SELECT tenant, user_id, count(*) AS likes, 0 AS collections FROM user_reaction GROUP BY tenant, user_id
    UNION ALL SELECT tenant, user_id, 0, count(*) FROM user_collection GROUP BY tenant, user_id
) s GROUP BY tenant, user_id`
)

// fill inserts the data into empty tables, then vacuums and analyses them. After each
// batch of users it calls progress with the number of states inserted so far.
func (w growthData) fill(ctx context.Context, database *pgxpool.Pool, progress func(done int)) error {
	indexes, err := dropIndexes(ctx, database)
	if err != nil {
		return fmt.Errorf("drop the indexes: %w", err)
	}
	if err := w.fillStates(ctx, database, progress); err != nil {
		return err
	}
	for _, index := range indexes {
		if _, err := database.Exec(ctx, `SET maintenance_work_mem = '256MB'; `+index+`; RESET maintenance_work_mem`); err != nil {
			return fmt.Errorf("%s: %w", index, err)
		}
	}
	return w.fillRest(ctx, database)
}

// dropIndexes drops the indexes on the tables of states, except the primary keys, and
// returns the statements that create them again. Creating an index is faster after all
// rows have been inserted.
func dropIndexes(ctx context.Context, database *pgxpool.Pool) (statements []string, err error) {
	rows, err := database.Query(ctx, `SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
		WHERE indrelid IN ('user_reaction'::regclass, 'user_collection'::regclass) AND NOT indisprimary`)
	if err != nil {
		return nil, err
	}
	var name, statement string
	var names []string
	_, err = pgx.ForEachRow(rows, []any{&name, &statement}, func() error {
		names, statements = append(names, name), append(statements, statement)
		return nil
	})
	if err == nil {
		_, err = database.Exec(ctx, `DROP INDEX `+strings.Join(names, ", "))
	}
	return statements, err
}

func (w growthData) fillStates(ctx context.Context, database *pgxpool.Pool, progress func(done int)) error {
	done := 0
	for from := 0; from < w.users; from += fillUsers {
		for _, statement := range []string{fillReactions, fillCollections} {
			tag, err := database.Exec(ctx, statement, from, min(from+fillUsers, w.users), w.subjects)
			if err != nil {
				return fmt.Errorf("insert states: %w", err)
			}
			done += int(tag.RowsAffected())
		}
		progress(done)
	}
	if done != w.states {
		return fmt.Errorf("%d states were inserted, want %d", done, w.states)
	}
	return nil
}

func (w growthData) fillRest(ctx context.Context, database *pgxpool.Pool) error {
	if _, err := database.Exec(ctx, fillFolders, storage.DefaultFolderName, storage.FolderNameKey(storage.DefaultFolderName)); err != nil {
		return fmt.Errorf("insert folders: %w", err)
	}
	if _, err := database.Exec(ctx, fillReads, w.subjects); err != nil {
		return fmt.Errorf("insert reads: %w", err)
	}
	for _, statement := range []string{fillCounts, fillTotals, `VACUUM (ANALYZE) user_reaction, user_collection, user_read, folder, interactive, user_totals`} {
		if _, err := database.Exec(ctx, statement); err != nil {
			return fmt.Errorf("insert counts: %w", err)
		}
	}
	return nil
}

// shuffledUser returns the n-th of the users that request pages and send likes. Different
// n give different users. Users with states come first, in an order unrelated to their
// names; users without states follow.
func (w growthData) shuffledUser(n int) string {
	const prime = 2_654_435_761
	if n >= w.users {
		return w.user(n)
	}
	return w.user(n * prime % w.users)
}

// maxColdPages is the maximum number of pages of one kind that are requested in one
// round.
const maxColdPages = 2000

// userPool returns the viewers, who request pages, followed by the readers, who send
// likes. If there are too few users for two disjoint groups, the groups overlap.
func (w growthData) userPool(secret string) (*userPool, error) {
	viewers := min(maxColdPages, w.users)
	firstReader := viewers
	if w.users < viewers+readerCount {
		firstReader = 0
	}
	names := make([]string, 0, viewers+readerCount)
	for i := range viewers {
		names = append(names, w.shuffledUser(i))
	}
	for i := range readerCount {
		names = append(names, w.shuffledUser(firstReader+i))
	}
	p, err := newUserPool(names, w.sampler(), secret)
	if err != nil {
		return nil, err
	}
	p.viewerCount = viewers
	for i := viewers; i < len(names); i++ {
		p.likes[i] = userLikes{newBitset(w.subjects), newBitset(w.subjects)}
	}
	return p, nil
}

// sampler returns a sampler that draws subjects in proportion to their numbers of states.
func (w growthData) sampler() *sampler {
	const whole = 1e12
	d := &sampler{}
	for i := range w.subjects {
		d.names = append(d.names, w.subject(i))
		d.cumulativeWeights = append(d.cumulativeWeights, int64(whole*math.Sqrt(float64(i+1)/float64(w.subjects))))
	}
	return d
}

// newUserPool returns a pool of the named users, with tokens and without likes. An empty
// name represents an anonymous viewer.
func newUserPool(names []string, subjects *sampler, secret string) (*userPool, error) {
	p := &userPool{names: names, viewerCount: len(names), subjects: subjects, subjectIndex: make(map[string]int, len(subjects.names))}
	for i, name := range subjects.names {
		p.subjectIndex[name] = i
	}
	for _, name := range names {
		token := ""
		if name != "" {
			var err error
			if token, err = viewer.Sign([]byte(secret), storage.User{Tenant: storage.DefaultTenant, UserID: name}, 2*time.Hour); err != nil {
				return nil, err
			}
		}
		p.tokens = append(p.tokens, token)
	}
	p.likes, p.sent = make([]userLikes, len(names)), make([]atomic.Int64, len(subjects.names))
	return p, nil
}

// recordExisting treats the likes that the readers already have in Postgres as sent: no
// reader sends one of them again.
func (p *userPool) recordExisting(had *databaseState) {
	index := make(map[string]int, len(p.names))
	for i := p.viewerCount; i < len(p.names); i++ {
		index[p.names[i]] = i
	}
	for of := range had.liked {
		if i, likes := index[of.user]; likes {
			p.likes[i].sent.add(p.subjectIndex[of.subject])
		}
	}
}

// checkAcked returns an error unless every acknowledged like is in Postgres.
func (p *userPool) checkAcked(ctx context.Context, s *installation) error {
	var users, subjects []string
	for i := p.viewerCount; i < len(p.names); i++ {
		for n := range p.subjects.names {
			if p.likes[i].acked.has(n) {
				users, subjects = append(users, p.names[i]), append(subjects, p.subjects.names[n])
			}
		}
	}
	var stored int
	err := s.database.QueryRow(ctx, `SELECT count(*) FROM unnest($1::text[], $2::text[]) k (user_id, biz_id)
		JOIN user_reaction r ON r.tenant = 'default' AND r.user_id = k.user_id AND r.biz = $3 AND r.biz_id = k.biz_id AND r.state = 1`,
		users, subjects, biz).Scan(&stored)
	if err != nil {
		return fmt.Errorf("read likes from Postgres: %w", err)
	}
	if stored != len(users) {
		return fmt.Errorf("%d likes were acknowledged, but only %d of them are in Postgres", len(users), stored)
	}
	return nil
}

// coldPages returns pages that share no viewer and no subject. Each page has popular and
// rare subjects.
func (w growthData) coldPages(kind pageKind) []page {
	size := kind.size
	n := min(maxColdPages, w.users, kind.distinctSubjects/size)
	apart := w.subjects / (n * size)
	out := make([]page, n)
	for i := range out {
		out[i].viewer = i
		for k := range size {
			out[i].subjects = append(out[i].subjects, (i+k*n)*apart)
		}
	}
	return out
}

// tableSize holds the number of rows in a table, and the table's size in bytes.
type tableSize struct {
	name        string
	rows        int64
	heap, index int64
}

// readTableSizes returns the sizes of the tables that grow, the largest first.
func (s *installation) readTableSizes(ctx context.Context) (out []tableSize, err error) {
	rows, err := s.database.Query(ctx, `SELECT relname, reltuples::bigint, pg_table_size(oid), pg_indexes_size(oid) FROM pg_class
		WHERE relnamespace = current_schema()::regnamespace AND relname IN ('user_reaction', 'user_collection', 'user_read', 'folder', 'interactive')
		ORDER BY pg_total_relation_size(oid) DESC`)
	if err == nil {
		var t tableSize
		_, err = pgx.ForEachRow(rows, []any{&t.name, &t.rows, &t.heap, &t.index}, func() error {
			out = append(out, t)
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("measure the tables: %w", err)
	}
	return out, nil
}

// walPosition returns the number of bytes that Postgres has written to its log (WAL) so
// far.
func (s *installation) walPosition(ctx context.Context) (n int64, err error) {
	err = s.database.QueryRow(ctx, `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint`).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("read the WAL position of Postgres: %w", err)
	}
	return n, nil
}
