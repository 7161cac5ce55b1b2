package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/mirror"
)

const (
	lockEpochShared    = `LOCK TABLE mirror IN ROW SHARE MODE`
	lockEpochExclusive = `LOCK TABLE mirror IN EXCLUSIVE MODE`
	clock              = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`
	// history identifies the line of commits that the database is on, by the ids of the
	// server, the timeline, the database and the table mirror. Every promotion and every
	// point-in-time recovery changes the timeline. On a primary, the timeline is the
	// first part of the current WAL segment's name. pg_restore changes the id of the
	// table.
	history = `(concat_ws('/', (SELECT system_identifier FROM pg_control_system()), substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
    (SELECT oid FROM pg_database WHERE datname = current_database()), mirror.tableoid))`
	rewound     = `(history <> '' AND history <> ` + history + `)`
	selectEpoch = `
SELECT epoch, open, ` + clock + ` - changed_at, free_at - ` + clock + `, holder, ` + clock + ` - held_at, ` + history + `, ` + rewound + `, ` + clock + `
FROM mirror WHERE one`
	closeEpoch = `
UPDATE mirror SET open = FALSE, changed_at = ` + clock + `, free_at = ` + clock + ` + $2, history = ` + history + `
WHERE one AND epoch = $1 AND (open OR ` + rewound + `)`
	nextEpoch = `
UPDATE mirror SET epoch = $3, open = TRUE, changed_at = ` + clock + `, holder = $4, held_at = ` + clock + `, history = ` + history + `,
    free_at = CASE WHEN open OR ` + rewound + ` THEN ` + clock + ` + $2 ELSE free_at END,
    barrier = CASE WHEN epoch = 1 THEN barrier ELSE ` + nextBarrier + ` END,
    raised_at = CASE WHEN epoch = 1 THEN raised_at ELSE ` + clock + ` END
WHERE one AND epoch = $1`
	// With asyncCommit, a commit does not wait for the disk or a standby. It is used
	// where the loss of the transaction is harmless.
	asyncCommit   = `SET LOCAL synchronous_commit = off`
	hold          = `UPDATE mirror SET held_at = ` + clock + ` WHERE one AND epoch = $1 AND held_at < ` + clock + ` - $2`
	selectBarrier = `
SELECT barrier, ` + clock + ` - raised_at, barrier = 0 OR EXISTS (
    SELECT FROM watermark w WHERE w.barrier = mirror.barrier GROUP BY w.partitions HAVING count(*) = w.partitions)
FROM mirror WHERE one`
	// nextBarrier is the number of a new barrier. It is at least the current time, so
	// that a restored database does not reuse the number of a barrier that may still be
	// queued.
	nextBarrier  = `greatest(barrier + 1, ` + clock + `)`
	raiseBarrier = `UPDATE mirror SET barrier = ` + nextBarrier + `, raised_at = ` + clock + ` WHERE one`
	// recordWatermarks records only the latest barrier. A barrier with another number was
	// raised earlier. Its number may nevertheless be higher, if the clock of the server
	// that raised it was ahead and the server has lost its last commits. Workers of
	// different partitions may record barriers concurrently, so the rows are locked in
	// the order of their keys.
	recordWatermarks = `
INSERT INTO watermark (partitions, partition, barrier)
SELECT partitions, partition, max(b.barrier) FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS b (partitions, partition, barrier)
WHERE b.barrier = (SELECT barrier FROM mirror WHERE one) GROUP BY partitions, partition ORDER BY partitions, partition
ON CONFLICT (partitions, partition) DO UPDATE SET barrier = excluded.barrier`
)

// readEpoch queues a query that fills in the epoch, except for the fields that
// readBarrier fills in.
func readEpoch(b *pgx.Batch, to *mirror.Epoch) {
	b.Queue(selectEpoch).QueryRow(func(row pgx.Row) error {
		var age, wait, silence, now int64
		err := row.Scan(&to.Number, &to.Open, &age, &wait, &to.Holder, &silence, &to.History, &to.Rewound, &now)
		to.Silence = time.Duration(silence) * time.Microsecond
		to.Age, to.Wait = time.Duration(age)*time.Microsecond, time.Duration(wait)*time.Microsecond
		to.Clock.Time = storage.Time(now)
		return err
	})
}

// readBarrier queues a query that fills in the fields of the barrier.
func readBarrier(b *pgx.Batch, to *mirror.Epoch) {
	b.Queue(selectBarrier).QueryRow(func(row pgx.Row) error {
		var age int64
		err := row.Scan(&to.Barrier, &age, &to.Drained)
		to.BarrierAge = time.Duration(age) * time.Microsecond
		return err
	})
}

// recordBarriers queues a statement that records barriers as passed.
func recordBarriers(b *pgx.Batch, barriers []storage.Barrier) {
	if len(barriers) == 0 {
		return
	}
	rows := newColumns(0, 3, len(barriers))
	for _, barrier := range barriers {
		rows.add(nil, int64(barrier.Partitions), int64(barrier.Partition), barrier.Number)
	}
	b.Queue(recordWatermarks, rows.args()...)
}

// pinEpoch queues statements that lock the epoch until the transaction ends, and read the
// epoch. A separate statement takes the lock, so that the epoch is read after the lock
// has been granted. Once the batch is sent, the result holds the epoch.
func pinEpoch(b *pgx.Batch) *mirror.Epoch {
	e := new(mirror.Epoch)
	b.Queue(lockEpochShared)
	readEpoch(b, e)
	return e
}

// Epoch returns the current epoch. If the epoch is being changed, Epoch waits for the
// change, so that it never returns an epoch that has already ended.
func (s *Store) Epoch(ctx context.Context) (epoch mirror.Epoch, err error) {
	err = s.write(ctx, "read the epoch", func(t *tx) error {
		b := t.batch()
		e := pinEpoch(b)
		readBarrier(b, e)
		e.Clock.Before = s.now()
		err := t.send(b)
		e.Clock.After = s.now()
		epoch = *e
		return err
	})
	return epoch, err
}

// CloseEpoch closes an epoch.
func (s *Store) CloseEpoch(ctx context.Context, number int64) (mirror.Epoch, error) {
	return s.changeEpoch(ctx, "close the epoch", closeEpoch, number)
}

// NextEpoch begins an epoch.
func (s *Store) NextEpoch(ctx context.Context, number int64, next mirror.NewEpoch) (mirror.Epoch, error) {
	return s.changeEpoch(ctx, "begin the next epoch", nextEpoch, number, next.Number, next.Holder)
}

// Hold records that the mirror is in use.
func (s *Store) Hold(ctx context.Context, number int64) error {
	return s.write(ctx, "hold the epoch", func(t *tx) error {
		b := t.batch()
		b.Queue(asyncCommit)
		b.Queue(shortLockTimeout)
		b.Queue(hold, number, mirror.HoldTime.Microseconds())
		return t.send(b)
	})
}

// RaiseBarrier raises the barrier.
func (s *Store) RaiseBarrier(ctx context.Context) (epoch mirror.Epoch, err error) {
	err = s.write(ctx, "raise the barrier", func(t *tx) error {
		b := t.batch()
		b.Queue(shortLockTimeout)
		b.Queue(raiseBarrier)
		readEpoch(b, &epoch)
		readBarrier(b, &epoch)
		return t.send(b)
	})
	return epoch, err
}

// shortLockTimeout bounds how long a change to the epoch waits for its lock. While the
// change waits for one writer, all other writers wait for the change. The caller retries.
const shortLockTimeout = `SET LOCAL lock_timeout = '1s'`

func (s *Store) changeEpoch(ctx context.Context, what, update string, number int64, more ...any) (epoch mirror.Epoch, err error) {
	err = s.write(ctx, what, func(t *tx) error {
		b := t.batch()
		b.Queue(shortLockTimeout)
		b.Queue(lockEpochExclusive)
		b.Queue(update, append([]any{number, mirror.EpochGrace.Microseconds()}, more...)...)
		readEpoch(b, &epoch)
		readBarrier(b, &epoch)
		return t.send(b)
	})
	return epoch, err
}
