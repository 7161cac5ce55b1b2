package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
)

// repairBatch is how many wrong subjects or folders are held in memory before
// they are repaired.
const repairBatch = 1000

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
	v := verification{report: report, mend: func(*damage) error { return nil }, damage: newDamage(), now: storage.Micros(s.now())}
	if repair {
		v.mend = func(d *damage) error { return s.repair(ctx, d) }
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
		if err := v.subjects(t); err != nil {
			return err
		}
		if err := v.folders(t); err != nil {
			return err
		}
		return v.mend(v.damage)
	})
	if err != nil {
		return v.compared, fmt.Errorf("verify: %w", err)
	}
	return v.compared, nil
}

// damage is what a recount found wrong: by how much counts must move, the
// owners of folders whose counts must move, and folders that do not exist and
// yet hold items, but for default ones, which are made.
type damage struct {
	tally

	owners   map[storage.User]int64
	homeless []storage.FolderKey
}

func newDamage() *damage { return &damage{tally: newTally(), owners: map[storage.User]int64{}} }

type verification struct {
	report   func(storage.Difference) error
	mend     func(*damage) error
	damage   *damage
	now      int64
	compared int64
}

// stream runs one statement whose rows go by one by one.
func (t *tx) stream(query string, row func(pgx.Rows) error) error {
	var ours error // of row: not the server's
	rows, err := t.begun.Query(t.ctx, query)
	if err == nil {
		err = each(func(rows pgx.Rows) error {
			ours = row(rows)
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

func (v *verification) subjects(t *tx) error {
	return t.stream(recountSubjects, func(row pgx.Rows) error {
		var s storage.Subject
		var stored, counted storage.Counts
		if err := row.Scan(&s.Tenant, &s.Biz, &s.BizID, &stored.ReadCount, &counted.ReadCount,
			&stored.LikeCount, &counted.LikeCount, &stored.DislikeCount, &counted.DislikeCount,
			&stored.CollectCount, &counted.CollectCount); err != nil {
			return err
		}
		by := storage.Counts{
			ReadCount:    counted.ReadCount - stored.ReadCount,
			LikeCount:    counted.LikeCount - stored.LikeCount,
			DislikeCount: counted.DislikeCount - stored.DislikeCount,
			CollectCount: counted.CollectCount - stored.CollectCount,
		}
		v.compared += 4
		if by == (storage.Counts{}) {
			return nil
		}
		for _, d := range []storage.Difference{
			{Subject: s, Count: "readCount", Stored: stored.ReadCount, Counted: counted.ReadCount},
			{Subject: s, Count: "likeCount", Stored: stored.LikeCount, Counted: counted.LikeCount},
			{Subject: s, Count: "dislikeCount", Stored: stored.DislikeCount, Counted: counted.DislikeCount},
			{Subject: s, Count: "collectCount", Stored: stored.CollectCount, Counted: counted.CollectCount},
		} {
			if d.Stored == d.Counted {
				continue
			}
			if err := v.report(d); err != nil {
				return err
			}
		}
		*v.damage.subject(s) = by
		return v.flush()
	})
}

const recountFolders = `
SELECT tenant, user_id, folder_id, sum(made)::bigint, sum(stored)::bigint, sum(counted)::bigint
FROM (
    SELECT tenant, user_id, folder_id, 1 AS made, item_count AS stored, 0 AS counted FROM folder
    UNION ALL
    SELECT tenant, user_id, state, 0, 0, count(*) FROM user_collection
    WHERE state <> '' GROUP BY tenant, user_id, state
) s
GROUP BY tenant, user_id, folder_id ORDER BY tenant, user_id, folder_id`

func (v *verification) folders(t *tx) error {
	return t.stream(recountFolders, func(row pgx.Rows) error {
		d := storage.Difference{Count: "itemCount"}
		var made int64
		if err := row.Scan(&d.Folder.Owner.Tenant, &d.Folder.Owner.UserID, &d.Folder.FolderID,
			&made, &d.Stored, &d.Counted); err != nil {
			return err
		}
		v.compared++
		if made == 1 && d.Stored == d.Counted {
			return nil
		}
		if made == 0 {
			d.Count = "folder"
		}
		if made == 0 && d.Folder.FolderID != storage.DefaultFolderID {
			v.damage.homeless = append(v.damage.homeless, d.Folder)
		} else {
			v.damage.owners[d.Folder.Owner] = v.now
			v.damage.folders[d.Folder] = d.Counted - d.Stored
		}
		if err := v.report(d); err != nil {
			return err
		}
		return v.flush()
	})
}

// flush repairs what has piled up.
func (v *verification) flush() error {
	if len(v.damage.subjects)+len(v.damage.folders)+len(v.damage.homeless) < repairBatch {
		return nil
	}
	full := v.damage
	v.damage = newDamage()
	return v.mend(full)
}

// repair sets the counts right and moves homeless items into the default
// folders of their owners.
func (s *Store) repair(ctx context.Context, d *damage) error {
	err := s.change(ctx, "repair counts", func(t *tx) error {
		if err := t.begin(d.owners); err != nil {
			return err
		}
		_, err := t.settle(d.tally, nil)
		return err
	})
	for _, key := range d.homeless {
		for n := repairBatch; err == nil && n == repairBatch; {
			err = s.change(ctx, "move items of a folder that does not exist", func(t *tx) error {
				if err := t.begin(map[storage.User]int64{key.Owner: storage.Micros(s.now())}); err != nil {
					return err
				}
				moved, err := t.take(key, storage.DefaultFolderID, repairBatch)
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
