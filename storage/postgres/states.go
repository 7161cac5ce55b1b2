package postgres

import (
	"errors"
	"sort"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ovation/storage"
)

// written are actions of one kind, in the order of Coalesce, under way to the
// states.
type written struct {
	changes []storage.StateChange
	done    []bool // what is not written in the end is not: what is stored is newer
	next    int    // that a row is expected of: they come in the order in which they are sent
	left    int
}

func newWritten(actions []storage.Action) *written {
	changes := storage.ChangesOf(actions)
	return &written{changes: changes, done: make([]bool, len(changes)), left: len(changes)}
}

// errStrangeRow is of a row whose state was not sent.
var errStrangeRow = errors.New("the database has answered what it was not asked")

// take returns the change that a returned row is of, by its first four columns.
func (w *written) take(row [][]byte) (*storage.StateChange, error) {
	i := w.next
	if i == len(w.changes) || compareKey(&w.changes[i], row) != 0 {
		var found bool
		i, found = sort.Find(len(w.changes), func(i int) int { return -compareKey(&w.changes[i], row) })
		if !found {
			return nil, errStrangeRow
		}
	}
	w.next = i + 1
	w.done[i] = true
	w.left--
	return &w.changes[i], nil
}

// compareKey compares the state with that of a row, in the order of Coalesce.
func compareKey(c *storage.StateChange, row [][]byte) int {
	for i, s := range [...]string{c.User.Tenant, c.User.UserID, c.Subject.Biz, c.Subject.BizID} {
		if by := strings.Compare(s, string(row[i])); by != 0 {
			return by
		}
	}
	return 0
}

// keys are the keys of what was not written, and where its change stands.
func (w *written) keys() (columns, []int) {
	rows, at := newColumns(4, 0, w.left), make([]int, 0, w.left)
	for i := range w.changes {
		if c := &w.changes[i]; !w.done[i] {
			rows.add([]string{c.User.Tenant, c.User.UserID, c.Subject.Biz, c.Subject.BizID})
			at = append(at, i)
		}
	}
	return rows, at
}

// A clear that does not apply leaves state and version as they are. Where clears
// is null after all, the row is what was sent. An array has no element 0 and a
// null one has none at all, so that what compares with it is null, and not so.
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

const clearsColumn = 5 // of what upsertReactions returns

// react applies actions of KindReaction.
func react(b *pgx.Batch, actions []storage.Action) *written {
	w := newWritten(actions)
	if len(actions) == 0 {
		return w
	}
	rows := newColumns(4, 4, len(w.changes))
	for i := range w.changes {
		c := &w.changes[i]
		r := &c.Register
		rows.add([]string{c.User.Tenant, c.User.UserID, c.Subject.Biz, c.Subject.BizID}, int64(r.Value), r.Set, r.Clears[0], r.Clears[1])
	}
	b.Queue(upsertReactions, rows.args()...).Query(each(func(row pgx.Rows) error {
		c, err := w.take(row.RawValues())
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

// normal drops the clear that is not above the reaction: a column holds both or
// none.
func normal(r storage.Register) storage.Register { return storage.Register{}.Join(r) }

const upsertCollections = `
INSERT INTO user_collection AS s (tenant, user_id, biz, biz_id, state, prev_state, version)
SELECT k.tenant, k.user_id, k.biz, k.biz_id, k.state, '', k.version
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, biz, biz_id, state, version, ord)
ORDER BY k.ord
ON CONFLICT (tenant, user_id, biz, biz_id) DO UPDATE SET prev_state = s.state, state = excluded.state, version = excluded.version
WHERE s.version < excluded.version
RETURNING tenant, user_id, biz, biz_id, prev_state`

// collect applies actions of KindCollection, whose folders exist.
func collect(b *pgx.Batch, actions []storage.Action) *written {
	w := newWritten(actions)
	if len(actions) == 0 {
		return w
	}
	rows := newColumns(5, 1, len(actions))
	for i := range actions {
		a := &actions[i]
		rows.add([]string{a.User.Tenant, a.User.UserID, a.Subject.Biz, a.Subject.BizID, a.FolderID}, a.Version)
	}
	b.Queue(upsertCollections, rows.args()...).Query(each(func(row pgx.Rows) error {
		c, err := w.take(row.RawValues())
		if err == nil {
			err = row.Scan(nil, nil, nil, nil, &c.OldFolderID)
		}
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

	selectCollections = `
SELECT k.ord, s.state, s.version
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS k (tenant, user_id, biz, biz_id, ord)
CROSS JOIN LATERAL (SELECT state, version FROM user_collection s
    WHERE s.tenant = k.tenant AND s.user_id = k.user_id AND s.biz = k.biz AND s.biz_id = k.biz_id LIMIT 1) s`
)

// lookUp fills in the latest word on the states that were not written. They
// are locked: the upsert locks what it leaves as it is, too.
func (t *tx) lookUp(reacted, collected *written) error {
	if reacted.left+collected.left == 0 {
		return nil
	}
	b := t.batch()
	if reacted.left > 0 {
		keys, at := reacted.keys()
		b.Queue(selectReactions, keys.args()...).Query(each(func(row pgx.Rows) error {
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
	if collected.left > 0 {
		keys, at := collected.keys()
		b.Queue(selectCollections, keys.args()...).Query(each(func(row pgx.Rows) error {
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
	return t.send(b)
}

const upsertReads = `
INSERT INTO user_read AS s (tenant, user_id, biz, biz_id, times, first_read, version)
SELECT k.tenant, k.user_id, k.biz, k.biz_id, k.times, k.first_read, k.version
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[])
    WITH ORDINALITY AS k (tenant, user_id, biz, biz_id, times, first_read, version, ord)
ORDER BY k.ord
ON CONFLICT (tenant, user_id, biz, biz_id) DO UPDATE SET times = s.times + excluded.times,
    first_read = least(s.first_read, excluded.first_read), version = greatest(s.version, excluded.version)`

// addReads applies actions of KindRead.
func addReads(b *pgx.Batch, actions []storage.Action) {
	if len(actions) == 0 {
		return
	}
	rows := newColumns(4, 3, len(actions))
	for i := range actions {
		a := &actions[i]
		rows.add([]string{a.User.Tenant, a.User.UserID, a.Subject.Biz, a.Subject.BizID}, a.Times, a.First, a.Version)
	}
	b.Queue(upsertReads, rows.args()...)
}

func stateKeys(of []storage.StateKey) columns {
	keys := newColumns(4, 0, len(of))
	for _, k := range of {
		keys.add([]string{k.User.Tenant, k.User.UserID, k.Subject.Biz, k.Subject.BizID})
	}
	return keys
}

// count makes a function that notes how many rows a statement changed.
func count(n *int64) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		*n = tag.RowsAffected()
		return nil
	}
}
