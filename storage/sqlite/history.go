package sqlite

import (
	"context"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

const (
	selectClears = `
SELECT k.key, c.version FROM jsonb_each(?) k CROSS JOIN cleared_read c
WHERE c.tenant = k.value ->> 0 AND c.user_id = k.value ->> 1 AND c.biz IN ('', k.value ->> 2) AND c.biz_id IN ('', k.value ->> 3)`

	upsertClear = `
INSERT INTO cleared_read AS c (tenant, user_id, biz, biz_id, version) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET version = max(c.version, excluded.version)`

	selectHistoryRows = `
SELECT biz, biz_id, times, first_read, version FROM user_read
WHERE tenant = ? AND user_id = ? AND first_read <= ? AND (biz, biz_id) >= (?, ?) AND (biz, biz_id) < (?, ?)
ORDER BY biz, biz_id LIMIT ?`

	deleteHistoryRows = `
DELETE FROM user_read
WHERE tenant = ? AND user_id = ? AND first_read <= ? AND (biz, biz_id) >= (?, ?) AND (biz, biz_id) <= (?, ?)`
)

// hideReads hides reads that users have cleared from their histories.
func (t tx) hideReads(of *sqlstore.ByKind) error {
	keys := make([]storage.StateKey, len(of.Reads))
	for i := range of.Reads {
		keys[i] = storage.StateKey{User: of.Reads[i].User, Subject: of.Reads[i].Subject}
	}
	clears, err := t.clears(keys)
	of.HideReads(clears)
	return err
}

// clears maps those of the given reads that users have cleared to the highest version that a
// clear covers.
func (t tx) clears(reads []storage.StateKey) (map[storage.StateKey]int64, error) {
	if len(reads) == 0 {
		return nil, nil //nolint:nilnil // none is cleared
	}
	clears := map[storage.StateKey]int64{}
	return clears, t.query(selectClears, []any{stateKeys(reads)}, func(scan func(...any) error) error {
		var i int
		var version int64
		err := scan(&i, &version)
		clears[reads[i]] = max(clears[reads[i]], version)
		return err
	})
}

// BeginClear records a clear.
func (s *Store) BeginClear(ctx context.Context, clearing storage.ReadsClear) error {
	if err := clearing.Validate(); err != nil {
		return err
	}
	return s.write(ctx, "record a clear", func(t tx) error {
		if err := t.refuseErased(clearing.User); err != nil {
			return err
		}
		_, err := t.exec(upsertClear, clearing.User.Tenant, clearing.User.UserID, clearing.Biz, clearing.BizID, clearing.Until)
		return err
	})
}

// ClearReads moves rows of a user to the anonymous users.
func (s *Store) ClearReads(ctx context.Context, clearing storage.ReadsClear, limit int, mark storage.Mark) (int, storage.Outcome, error) {
	if err := clearing.Validate(); err != nil {
		return 0, storage.Outcome{}, err
	}
	var n int
	var outcome storage.Outcome
	err := s.write(ctx, "clear a read history", func(t tx) (err error) {
		outcome = storage.Outcome{}
		if n, err = t.clearReads(clearing, limit, &outcome); err != nil {
			return err
		}
		return callMark(ctx, mark, outcome)
	})
	if err != nil {
		return 0, storage.Outcome{}, err
	}
	return n, outcome, nil
}

// clearReads moves up to limit rows of a user to the anonymous users, and returns their
// number.
func (t tx) clearReads(clearing storage.ReadsClear, limit int, outcome *storage.Outcome) (int, error) {
	var found sqlstore.ClearedReads
	from, to := sqlstore.RowRange(clearing)
	args := []any{clearing.User.Tenant, clearing.User.UserID, clearing.Until, from[0], from[1], to[0], to[1], limit}
	err := t.query(selectHistoryRows, args, func(scan func(...any) error) error { return found.Scan(clearing.User, scan) })
	if err != nil || len(found.Rows) == 0 {
		return 0, err
	}
	t.events.Cleared(&found, clearing.Until)
	first, last := found.Bounds()
	if _, err := t.exec(deleteHistoryRows, clearing.User.Tenant, clearing.User.UserID, clearing.Until, first[0], first[1], last[0], last[1]); err != nil {
		return 0, err
	}
	if err := t.addReads(found.Hidden()); err != nil {
		return 0, err
	}
	outcome.Counts, err = t.applyTally(found.Tally(), nil)
	return len(found.Rows), err
}
