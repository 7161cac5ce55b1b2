package sqlite

import (
	"context"
	"time"

	"ovation/storage"
	"ovation/storage/mirror"
)

const (
	selectEpoch = `SELECT epoch, open, changed_at, free_at, holder, held_at, barrier, raised_at, barrier = 0 OR EXISTS (
    SELECT 1 FROM watermark w WHERE w.barrier = mirror.barrier GROUP BY w.partitions HAVING count(*) = w.partitions)
FROM mirror`
	closeEpoch = `UPDATE mirror SET open = FALSE, changed_at = ?2, free_at = ?2 + ?3 WHERE epoch = ?1 AND open`
	nextEpoch  = `
UPDATE mirror SET epoch = ?4, open = TRUE, changed_at = ?2, free_at = iif(open, ?2 + ?3, free_at), holder = ?5, held_at = ?2,
    barrier = iif(epoch = 1, barrier, max(barrier + 1, ?2)), raised_at = iif(epoch = 1, raised_at, ?2)
WHERE epoch = ?1`
	hold            = `UPDATE mirror SET held_at = ?2 WHERE epoch = ?1 AND held_at < ?2 - ?3`
	raiseBarrier    = `UPDATE mirror SET barrier = max(barrier + 1, ?1), raised_at = ?1`
	recordWatermark = `
INSERT INTO watermark (partitions, partition, barrier) SELECT ?1, ?2, barrier FROM mirror WHERE barrier = ?3
ON CONFLICT (partitions, partition) DO UPDATE SET barrier = excluded.barrier`
)

func (t tx) epoch(now time.Time) (e mirror.Epoch, err error) {
	err = t.query(selectEpoch, nil, func(scan func(...any) error) error {
		var changed, free, held, raised int64
		err := scan(&e.Number, &e.Open, &changed, &free, &e.Holder, &held, &e.Barrier, &raised, &e.Drained)
		e.Silence, e.BarrierAge = now.Sub(storage.Time(held)), now.Sub(storage.Time(raised))
		e.Age, e.Wait = now.Sub(storage.Time(changed)), storage.Time(free).Sub(now)
		return err
	})
	return e, err
}

// Epoch looks the epoch up.
func (s *Store) Epoch(ctx context.Context) (epoch mirror.Epoch, err error) {
	err = s.read(ctx, "read the epoch", func(t tx) (err error) {
		now := s.now()
		epoch, err = t.epoch(now)
		epoch.Clock = mirror.ClockReading{Time: now, Before: now, After: now} // the one clock there is
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

// Hold notes that the mirror is used, unless another transaction keeps it waiting.
func (s *Store) Hold(ctx context.Context, number int64) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	return s.write(ctx, "hold the epoch", func(t tx) error {
		_, err := t.exec(hold, number, storage.Micros(s.now()), mirror.HoldTime.Microseconds())
		return err
	})
}

// RaiseBarrier raises the barrier.
func (s *Store) RaiseBarrier(ctx context.Context) (epoch mirror.Epoch, err error) {
	err = s.write(ctx, "raise the barrier", func(t tx) (err error) {
		if _, err := t.exec(raiseBarrier, storage.Micros(s.now())); err != nil {
			return err
		}
		epoch, err = t.epoch(s.now())
		return err
	})
	return epoch, err
}

// pass records barriers as passed.
func (t tx) pass(barriers []storage.Barrier) error {
	for _, b := range barriers {
		if _, err := t.exec(recordWatermark, b.Partitions, b.Partition, b.Number); err != nil {
			return err
		}
	}
	return nil
}

// changeEpoch waits for the transaction under way: one writes at a time.
func (s *Store) changeEpoch(ctx context.Context, what, update string, number int64, more ...any) (epoch mirror.Epoch, err error) {
	err = s.write(ctx, what, func(t tx) (err error) {
		if _, err := t.exec(update, append([]any{number, storage.Micros(s.now()), mirror.EpochGrace.Microseconds()}, more...)...); err != nil {
			return err
		}
		epoch, err = t.epoch(s.now())
		return err
	})
	return epoch, err
}

// enter returns the epoch in which the transaction commits.
func (t tx) enter(now time.Time) (int64, error) {
	epoch, err := t.epoch(now)
	if err != nil {
		return 0, err
	}
	return epoch.Enter()
}
