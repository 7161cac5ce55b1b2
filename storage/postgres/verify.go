package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// ErrRepairing says that a repair is under way. Two of them at once would mend
// the same count twice.
var ErrRepairing = errors.New("another repair of this database is under way; wait for it to end")

// Verify recounts on a snapshot, while others read and write.
//
// A count that is wrong there is wrong by the same number later, whatever was
// written in between, for every transaction moves counts by what it changes.
// So a repair adds that number, in transactions of a bounded size, and locks
// no more rows than it mends. Those that were mended before an error stay so.
// One repair runs at a time: the other has ErrRepairing.
func (s *Store) Verify(ctx context.Context, repair bool, report func(storage.Difference) error) (int64, error) {
	now := storage.Micros(s.now())
	v := sqlstore.Recount{Report: report, Mend: func(*sqlstore.Damage) error { return nil }}
	if repair {
		v.Mend = func(d *sqlstore.Damage) error { return s.repair(ctx, d) }
	}
	// A default folder that is missing is made; items of any other move into it.
	v.Misplaced = func(d *sqlstore.Damage, folder storage.FolderKey, by int64, exists bool) {
		if !exists && folder.FolderID != storage.DefaultFolderID {
			d.Homeless = append(d.Homeless, folder)
			return
		}
		d.Owners[folder.Owner], d.Folders[folder] = now, by
	}
	err := s.transact(ctx, ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(t *tx) error {
		b := t.batch()
		if repair {
			// Before the first statement that reads, with which the snapshot
			// begins. Nobody else takes this lock.
			b.Queue(`LOCK TABLE secret IN SHARE UPDATE EXCLUSIVE MODE NOWAIT`)
		}
		for _, setting := range []string{
			"statement_timeout = 0", "idle_in_transaction_session_timeout = 0",
			"enable_seqscan = on", "enable_bitmapscan = on", "work_mem = '64MB'",
		} {
			b.Queue("SET LOCAL " + setting)
		}
		if err := t.send(b); err != nil {
			if is(err, lockTimeout) {
				return ErrRepairing
			}
			return err
		}
		if err := t.stream(recountSubjects, v.Subject); err != nil {
			return err
		}
		if err := t.stream(recountFolders, v.Folder); err != nil {
			return err
		}
		return v.End()
	})
	if err != nil {
		return v.Compared, fmt.Errorf("verify: %w", err)
	}
	return v.Compared, nil
}

// stream runs one statement whose rows go by one by one.
func (t *tx) stream(query string, row func(scan func(...any) error) error) error {
	var ours error // of row: not the server's
	rows, err := t.begun.Query(t.ctx, query)
	if err == nil {
		err = each(func(rows pgx.Rows) error {
			ours = row(rows.Scan)
			return ours
		})(rows)
	}
	if ours != nil {
		return ours
	}
	return fault(t.ctx, err, t.conn)
}

const recountSubjects = `
SELECT tenant, biz, biz_id,
    sum(read_count)::bigint, sum(times)::bigint, sum(like_count)::bigint, sum(likes)::bigint,
    sum(dislike_count)::bigint, sum(dislikes)::bigint, sum(collect_count)::bigint, sum(collected)::bigint
FROM (
    SELECT tenant, biz, biz_id, read_count, 0 AS times, like_count, 0 AS likes,
        dislike_count, 0 AS dislikes, collect_count, 0 AS collected FROM interactive
    UNION ALL
    SELECT tenant, biz, biz_id, 0, sum(times), 0, 0, 0, 0, 0, 0 FROM user_read GROUP BY tenant, biz, biz_id
    UNION ALL
    SELECT tenant, biz, biz_id, 0, 0, 0, count(*) FILTER (WHERE state = 1), 0, count(*) FILTER (WHERE state = 2), 0, 0
    FROM user_reaction WHERE state <> 0 GROUP BY tenant, biz, biz_id
    UNION ALL
    SELECT tenant, biz, biz_id, 0, 0, 0, 0, 0, 0, 0, count(*) FROM user_collection
    WHERE state <> '' GROUP BY tenant, biz, biz_id
) s
GROUP BY tenant, biz, biz_id ORDER BY tenant, biz, biz_id`

const recountFolders = `
SELECT tenant, user_id, folder_id, sum(made)::bigint, sum(stored)::bigint, sum(counted)::bigint
FROM (
    SELECT tenant, user_id, folder_id, 1 AS made, item_count AS stored, 0 AS counted FROM folder
    UNION ALL
    SELECT tenant, user_id, state, 0, 0, count(*) FROM user_collection
    WHERE state <> '' GROUP BY tenant, user_id, state
) s
GROUP BY tenant, user_id, folder_id ORDER BY tenant, user_id, folder_id`

// repair sets the counts right and moves homeless items into the default
// folders of their owners.
func (s *Store) repair(ctx context.Context, d *sqlstore.Damage) error {
	err := s.change(ctx, "repair counts", func(t *tx) error {
		if err := t.begin(d.Owners); err != nil {
			return err
		}
		_, err := t.settle(d.Tally, nil)
		return err
	})
	for _, key := range d.Homeless {
		for n := sqlstore.RepairBatch; err == nil && n == sqlstore.RepairBatch; {
			err = s.change(ctx, "move items of a folder that does not exist", func(t *tx) error {
				if err := t.begin(map[storage.User]int64{key.Owner: storage.Micros(s.now())}); err != nil {
					return err
				}
				moved, err := t.take(key, storage.DefaultFolderID, sqlstore.RepairBatch)
				n = len(moved.Applied)
				return err
			})
		}
	}
	return err
}

// begin enters the epoch and guards the owners.
func (t *tx) begin(owners map[storage.User]int64) error {
	b := t.batch()
	epoch := enter(b)
	guard(b, owners)
	if err := t.send(b); err != nil {
		return err
	}
	_, err := epoch.Enter()
	return err
}
