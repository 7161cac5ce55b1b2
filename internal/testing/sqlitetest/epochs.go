package sqlitetest

import (
	"context"
	"database/sql"
	"time"

	"ovation/storage"
	"ovation/storage/mirror"
)

const (
	selectEpoch = `SELECT epoch, open, changed_at, free_at, holder, held_at, barrier, raised_at, barrier = 0 OR EXISTS (
    SELECT 1 FROM watermark w WHERE w.barrier = mirror.barrier GROUP BY w.partitions HAVING count(*) = w.partitions)
FROM mirror`
	closeEpoch = `UPDATE mirror SET open = FALSE, changed_at = ?1, free_at = ?1 + ?2 WHERE epoch = ?3 AND open`
	nextEpoch  = `
UPDATE mirror SET epoch = ?4, open = TRUE, changed_at = ?1, free_at = iif(open, ?1 + ?2, free_at), holder = ?5, held_at = ?1,
    barrier = iif(epoch = 1, barrier, max(barrier + 1, ?1)), raised_at = iif(epoch = 1, raised_at, ?1)
WHERE epoch = ?3`
	holdEpoch       = `UPDATE mirror SET held_at = ?1 WHERE epoch = ?3 AND held_at < ?1 - ?2`
	raiseBarrier    = `UPDATE mirror SET barrier = max(barrier + 1, ?1), raised_at = ?1`
	recordWatermark = `
INSERT INTO watermark (partitions, partition, barrier) SELECT ?1, ?2, barrier FROM mirror WHERE barrier = ?3
ON CONFLICT (partitions, partition) DO UPDATE SET barrier = excluded.barrier`
)

// Epoch returns the current epoch.
func (d *Database) Epoch(ctx context.Context) (mirror.Epoch, error) {
	now := time.Now()
	epoch, err := epochAt(ctx, d.db, now)
	epoch.Clock = mirror.ClockReading{Time: now, Before: now, After: now} // there is only one clock
	return epoch, unavailable(ctx, err)
}

func epochAt(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, now time.Time,
) (e mirror.Epoch, err error) {
	var changed, free, held, raised int64
	err = db.QueryRowContext(ctx, selectEpoch).Scan(&e.Number, &e.Open, &changed, &free, &e.Holder, &held, &e.Barrier, &raised, &e.Drained)
	e.Silence, e.BarrierAge = now.Sub(storage.Time(held)), now.Sub(storage.Time(raised))
	e.Age, e.Wait = now.Sub(storage.Time(changed)), storage.Time(free).Sub(now)
	return e, err
}

// CloseEpoch closes an epoch.
func (d *Database) CloseEpoch(ctx context.Context, number int64) (mirror.Epoch, error) {
	return d.updateEpoch(ctx, closeEpoch, number)
}

// NextEpoch begins an epoch.
func (d *Database) NextEpoch(ctx context.Context, number int64, next mirror.NewEpoch) (mirror.Epoch, error) {
	return d.updateEpoch(ctx, nextEpoch, number, next.Number, next.Holder)
}

// Hold records that the mirror is in use. It fails if a transaction blocks it for more
// than 10 ms.
func (d *Database) Hold(ctx context.Context, number int64) error {
	_, err := d.shortWait.ExecContext(ctx, holdEpoch, storage.Micros(time.Now()), mirror.HoldTime.Microseconds(), number)
	return unavailable(ctx, err)
}

// RaiseBarrier raises the barrier.
func (d *Database) RaiseBarrier(ctx context.Context) (mirror.Epoch, error) {
	return d.updateEpoch(ctx, raiseBarrier)
}

// updateEpoch runs a statement that updates the epoch. If a transaction is in progress,
// it waits, because SQLite has one writer at a time. The first two arguments of every
// update are the time and the grace period.
func (d *Database) updateEpoch(ctx context.Context, update string, args ...any) (mirror.Epoch, error) {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return mirror.Epoch{}, unavailable(ctx, err)
	}
	defer func() { _ = tx.Rollback() }()
	now := time.Now()
	_, err = tx.ExecContext(ctx, update, append([]any{storage.Micros(now), mirror.EpochGrace.Microseconds()}, args...)...)
	if err != nil {
		return mirror.Epoch{}, unavailable(ctx, err)
	}
	epoch, err := epochAt(ctx, tx, now)
	if err == nil {
		err = tx.Commit()
	}
	return epoch, unavailable(ctx, err)
}
