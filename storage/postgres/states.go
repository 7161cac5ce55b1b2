package postgres

import (
	"errors"
	"sort"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// stateWrites holds the changes that are requested by coalesced actions of one kind, in
// the order of Coalesce. It records which changes were written.
type stateWrites struct {
	changes   []storage.StateChange
	applied   []bool // for each change, whether it was written; if not, the stored state includes it
	next      int    // index of the change expected next, because rows are returned in the order sent
	remaining int
}

func newStateWrites(actions []storage.Action) *stateWrites {
	changes := storage.ChangesOf(actions)
	return &stateWrites{changes: changes, applied: make([]bool, len(changes)), remaining: len(changes)}
}

// errUnexpectedRow is returned for a row that belongs to none of the changes.
var errUnexpectedRow = errors.New("the database returned a row that was not requested")

// match returns the change that a returned row belongs to, identified by the row's first
// four columns. Errors: errUnexpectedRow.
func (w *stateWrites) match(row [][]byte) (*storage.StateChange, error) {
	i := w.next
	if i == len(w.changes) || compareKey(&w.changes[i], row) != 0 {
		var found bool
		i, found = sort.Find(len(w.changes), func(i int) int { return -compareKey(&w.changes[i], row) })
		if !found {
			return nil, errUnexpectedRow
		}
	}
	w.next = i + 1
	w.applied[i] = true
	w.remaining--
	return &w.changes[i], nil
}

// compareKey compares a change's key with a row's key, in the order of Coalesce.
func compareKey(c *storage.StateChange, row [][]byte) int {
	for i, s := range [...]string{c.User.Tenant, c.User.UserID, c.Subject.Biz, c.Subject.BizID} {
		if by := strings.Compare(s, string(row[i])); by != 0 {
			return by
		}
	}
	return 0
}

// remainingKeys returns the keys and the indices of the changes that were not written.
func (w *stateWrites) remainingKeys() (columns, []int) {
	rows, at := newColumns(4, 0, w.remaining), make([]int, 0, w.remaining)
	for i := range w.changes {
		if c := &w.changes[i]; !w.applied[i] {
			rows.add([]string{c.User.Tenant, c.User.UserID, c.Subject.Biz, c.Subject.BizID})
			at = append(at, i)
		}
	}
	return rows, at
}

// upsertReactions leaves the columns state and version unchanged if a clear does not
// apply. If it returns null in the column clears, the stored row equals the row that was
// sent. Element 0 of an array and all elements of a null array are null. A comparison
// with null yields null, which does not count as true.
const upsertReactions = `
INSERT INTO user_reaction AS s (tenant, user_id, biz, biz_id, state, prev_state, version, clears)
SELECT k.tenant, k.user_id, k.biz, k.biz_id, k.state, 0, k.version,
    CASE WHEN k.unlike > 0 OR k.undislike > 0 THEN ARRAY[k.unlike, k.undislike] END
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, biz, biz_id, state, version, unlike, undislike, ord)
ORDER BY k.ord
ON CONFLICT (tenant, user_id, biz, biz_id) DO UPDATE SET prev_state = s.state,
    state = CASE
        WHEN s.version < excluded.version THEN CASE WHEN s.clears[excluded.state] > excluded.version THEN 0 ELSE excluded.state END
        WHEN excluded.clears[s.state] > s.version THEN 0 ELSE s.state END,
    version = greatest(s.version, excluded.version),
    clears = CASE WHEN greatest(s.clears[1], s.clears[2], excluded.clears[1], excluded.clears[2]) > greatest(s.version, excluded.version)
        THEN ARRAY[greatest(s.clears[1], excluded.clears[1]), greatest(s.clears[2], excluded.clears[2])] END
WHERE s.version < greatest(excluded.version, excluded.clears[1], excluded.clears[2])
RETURNING tenant, user_id, biz, biz_id, prev_state, clears, state, version`

const clearsColumn = 5 // an index into the columns that upsertReactions returns

// react applies actions of KindReaction.
func react(b *pgx.Batch, actions []storage.Action) *stateWrites {
	w := newStateWrites(actions)
	if len(actions) == 0 {
		return w
	}
	rows := newColumns(4, 4, len(w.changes))
	for i := range w.changes {
		c := &w.changes[i]
		r := &c.Register
		rows.add([]string{c.User.Tenant, c.User.UserID, c.Subject.Biz, c.Subject.BizID}, int64(r.Value), r.Set, r.Clears[0], r.Clears[1])
	}
	b.Queue(upsertReactions, rows.args()...).Query(eachRow(func(row pgx.Rows) error {
		c, err := w.match(row.RawValues())
		if err != nil {
			return err
		}
		if row.RawValues()[clearsColumn] == nil {
			return row.Scan(nil, nil, nil, nil, &c.OldReaction, nil, nil, nil)
		}
		var clears []int64
		var r storage.Register
		if err := row.Scan(nil, nil, nil, nil, &c.OldReaction, &clears, &r.Value, &r.Set); err != nil {
			return err
		}
		copy(r.Clears[:], clears)
		c.Register = storage.Register{}
		c.Include(r)
		return nil
	}))
	return w
}

// normalize removes the clear of a like or dislike if the version of the clear is not
// above the version of the reaction. The column named clears holds both clears or none,
// so one of the two may be obsolete.
func normalize(r storage.Register) storage.Register { return storage.Register{}.Join(r) }

const upsertCollections = `
INSERT INTO user_collection AS s (tenant, user_id, biz, biz_id, state, prev_state, version)
SELECT k.tenant, k.user_id, k.biz, k.biz_id, k.state, '', k.version
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, biz, biz_id, state, version, ord)
ORDER BY k.ord
ON CONFLICT (tenant, user_id, biz, biz_id) DO UPDATE SET prev_state = s.state, state = excluded.state, version = excluded.version
WHERE s.version < excluded.version
RETURNING tenant, user_id, biz, biz_id, prev_state`

// collect applies actions of KindCollection. The folders must exist.
func collect(b *pgx.Batch, actions []storage.Action) *stateWrites {
	w := newStateWrites(actions)
	if len(actions) == 0 {
		return w
	}
	rows := newColumns(5, 1, len(actions))
	for i := range actions {
		a := &actions[i]
		rows.add([]string{a.User.Tenant, a.User.UserID, a.Subject.Biz, a.Subject.BizID, a.FolderID}, a.Version)
	}
	b.Queue(upsertCollections, rows.args()...).Query(eachRow(func(row pgx.Rows) error {
		c, err := w.match(row.RawValues())
		if err == nil {
			err = row.Scan(nil, nil, nil, nil, &c.OldFolderID)
		}
		return err
	}))
	return w
}

const upsertFollows = `
INSERT INTO user_follow AS s (tenant, user_id, biz, biz_id, state, prev_state, version)
SELECT k.tenant, k.user_id, k.biz, k.biz_id, k.state, 0, k.version
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, biz, biz_id, state, version, ord)
ORDER BY k.ord
ON CONFLICT (tenant, user_id, biz, biz_id) DO UPDATE SET prev_state = s.state, state = excluded.state, version = excluded.version
WHERE s.version < excluded.version
RETURNING tenant, user_id, biz, biz_id, prev_state`

// follow applies actions of KindFollow.
func follow(b *pgx.Batch, actions []storage.Action) *stateWrites {
	w := newStateWrites(actions)
	if len(actions) == 0 {
		return w
	}
	rows := newColumns(4, 2, len(actions))
	for i := range actions {
		a := &actions[i]
		rows.add([]string{a.User.Tenant, a.User.UserID, a.Subject.Biz, a.Subject.BizID}, sqlstore.BoolToInt(a.Following), a.Version)
	}
	b.Queue(upsertFollows, rows.args()...).Query(eachRow(func(row pgx.Rows) error {
		c, err := w.match(row.RawValues())
		if err != nil {
			return err
		}
		var before int64
		err = row.Scan(nil, nil, nil, nil, &before)
		c.OldFollowing = before == 1
		return err
	}))
	return w
}

const (
	selectReactions = `
SELECT k.ord, s.state, s.version, coalesce(s.clears[1], 0), coalesce(s.clears[2], 0)
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS k (tenant, user_id, biz, biz_id, ord)
CROSS JOIN LATERAL (SELECT state, version, clears FROM user_reaction s
    WHERE s.tenant = k.tenant AND s.user_id = k.user_id AND s.biz = k.biz AND s.biz_id = k.biz_id LIMIT 1) s`

	selectFollows = `
SELECT k.ord, s.state, s.version
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS k (tenant, user_id, biz, biz_id, ord)
CROSS JOIN LATERAL (SELECT state, version FROM user_follow s
    WHERE s.tenant = k.tenant AND s.user_id = k.user_id AND s.biz = k.biz AND s.biz_id = k.biz_id LIMIT 1) s`

	selectCollections = `
SELECT k.ord, s.state, s.version
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS k (tenant, user_id, biz, biz_id, ord)
CROSS JOIN LATERAL (SELECT state, version FROM user_collection s
    WHERE s.tenant = k.tenant AND s.user_id = k.user_id AND s.biz = k.biz AND s.biz_id = k.biz_id LIMIT 1) s`
)

// loadRemaining fills in the current states of changes that were not written. The rows of
// these states are locked, because an upsert also locks the rows that it leaves
// unchanged.
func (t *tx) loadRemaining(reacted, collected, followed *stateWrites) error {
	if reacted.remaining+collected.remaining+followed.remaining == 0 {
		return nil
	}
	b := t.batch()
	if reacted.remaining > 0 {
		keys, at := reacted.remainingKeys()
		b.Queue(selectReactions, keys.args()...).Query(eachRow(func(row pgx.Rows) error {
			var i int
			var r storage.Register
			if err := row.Scan(&i, &r.Value, &r.Set, &r.Clears[0], &r.Clears[1]); err != nil {
				return err
			}
			c := &reacted.changes[at[i-1]]
			c.Register = storage.Register{}
			c.Include(r)
			c.OldReaction = c.Reaction
			return nil
		}))
	}
	if collected.remaining > 0 {
		keys, at := collected.remainingKeys()
		b.Queue(selectCollections, keys.args()...).Query(eachRow(func(row pgx.Rows) error {
			var i int
			var state string
			var version int64
			if err := row.Scan(&i, &state, &version); err != nil {
				return err
			}
			c := &collected.changes[at[i-1]]
			c.OldFolderID, c.FolderID, c.Version = state, state, version
			return nil
		}))
	}
	if followed.remaining > 0 {
		keys, at := followed.remainingKeys()
		b.Queue(selectFollows, keys.args()...).Query(eachRow(func(row pgx.Rows) error {
			var i int
			var state, version int64
			if err := row.Scan(&i, &state, &version); err != nil {
				return err
			}
			c := &followed.changes[at[i-1]]
			c.Following, c.Version = state == 1, version
			c.OldFollowing = c.Following
			return nil
		}))
	}
	return t.send(b)
}

const upsertReads = `
INSERT INTO user_read AS s (tenant, user_id, biz, biz_id, times, first_read, version)
SELECT k.tenant, k.user_id, k.biz, k.biz_id, k.times, k.first_read, k.version
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, biz, biz_id, times, first_read, version, ord)
ORDER BY k.ord
ON CONFLICT (tenant, user_id, biz, biz_id) DO UPDATE SET times = s.times + excluded.times,
    first_read = least(s.first_read, excluded.first_read), version = greatest(s.version, excluded.version)
RETURNING tenant, user_id, biz, biz_id, times`

// addReads applies actions of KindRead. Rows are returned in the order sent.
func addReads(b *pgx.Batch, of *sqlstore.ByKind) {
	if len(of.Reads) == 0 {
		return
	}
	rows := newColumns(4, 3, len(of.Reads))
	for i := range of.Reads {
		a := &of.Reads[i]
		rows.add([]string{a.User.Tenant, a.User.UserID, a.Subject.Biz, a.Subject.BizID}, a.Times, a.First, a.Version)
	}
	next := 0
	b.Queue(upsertReads, rows.args()...).Query(eachRow(func(row pgx.Rows) error {
		if next == len(of.Reads) || !isRowOf(&of.Reads[next], row.RawValues()) {
			return errUnexpectedRow
		}
		var times int64
		if err := row.Scan(nil, nil, nil, nil, &times); err != nil {
			return err
		}
		of.AddReadRow(&of.Reads[next], times)
		next++
		return nil
	}))
}

// isRowOf reports whether the first four columns of a row are the key of an action.
func isRowOf(a *storage.Action, row [][]byte) bool {
	return a.User.Tenant == string(row[0]) && a.User.UserID == string(row[1]) && a.Subject.Biz == string(row[2]) && a.Subject.BizID == string(row[3])
}

func stateKeys(of []storage.StateKey) columns {
	keys := newColumns(4, 0, len(of))
	for _, k := range of {
		keys.add([]string{k.User.Tenant, k.User.UserID, k.Subject.Biz, k.Subject.BizID})
	}
	return keys
}

// rowsAffected returns a function that sets *n to the number of rows that a statement
// changed.
func rowsAffected(n *int64) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		*n = tag.RowsAffected()
		return nil
	}
}
