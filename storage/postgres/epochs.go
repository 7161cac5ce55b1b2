package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
)

const (
	holdEpoch  = `LOCK TABLE mirror IN ROW SHARE MODE`
	seizeEpoch = `LOCK TABLE mirror IN EXCLUSIVE MODE`
	clock      = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`
	// history names the server, its timeline (which every promotion and every
	// recovery to a point in time changes; of a primary, the name of the segment that
	// is being written has it first), the database and the table (which pg_restore
	// makes anew).
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
    free_at = CASE WHEN open OR ` + rewound + ` THEN ` + clock + ` + $2 ELSE free_at END
WHERE one AND epoch = $1`
	// The commit waits for no disk and no standby: nothing depends on it for long.
	quickCommit = `SET LOCAL synchronous_commit = off`
	hold        = `UPDATE mirror SET held_at = ` + clock + ` WHERE one AND epoch = $1 AND held_at < ` + clock + ` - $2`
)

// readEpoch fills the epoch in once the batch is sent.
func readEpoch(b *pgx.Batch, to *storage.Epoch) {
	b.Queue(selectEpoch).QueryRow(func(row pgx.Row) error {
		var age, wait, silence, now int64
		err := row.Scan(&to.Number, &to.Open, &age, &wait, &to.Holder, &silence, &to.History, &to.Rewound, &now)
		to.Silence = time.Duration(silence) * time.Microsecond
		to.Age, to.Wait = time.Duration(age)*time.Microsecond, time.Duration(wait)*time.Microsecond
		to.Clock.Time = storage.Time(now)
		return err
	})
}

// enter keeps the epoch from changing until the transaction ends. The lock is
// a statement of its own: what reads the row then sees all that was committed
// before the lock was granted.
func enter(b *pgx.Batch) *storage.Epoch {
	e := new(storage.Epoch)
	b.Queue(holdEpoch)
	readEpoch(b, e)
	return e
}

// Epoch looks the epoch up. It waits for a change under way, so that nobody
// reads an old epoch once the change has got its time.
func (s *Store) Epoch(ctx context.Context) (epoch storage.Epoch, err error) {
	err = s.write(ctx, "read the epoch", func(t *tx) error {
		b := t.batch()
		e := enter(b)
		e.Clock.Before = s.now()
		err := t.send(b)
		e.Clock.After = s.now()
		epoch = *e
		return err
	})
	return epoch, err
}

// CloseEpoch closes an epoch.
func (s *Store) CloseEpoch(ctx context.Context, number int64) (storage.Epoch, error) {
	return s.changeEpoch(ctx, "close the epoch", closeEpoch, number)
}

// NextEpoch begins an epoch.
func (s *Store) NextEpoch(ctx context.Context, number int64, next storage.NewEpoch) (storage.Epoch, error) {
	return s.changeEpoch(ctx, "begin the next epoch", nextEpoch, number, next.Number, next.Holder)
}

// Hold notes that the mirror is used.
func (s *Store) Hold(ctx context.Context, number int64) error {
	return s.write(ctx, "hold the epoch", func(t *tx) error {
		b := t.batch()
		b.Queue(quickCommit)
		b.Queue(soonOrNever)
		b.Queue(hold, number, storage.HoldTime.Microseconds())
		return t.send(b)
	})
}

// All who write wait behind a change that waits for one of them: not for long,
// since whoever wants it tries again.
const soonOrNever = `SET LOCAL lock_timeout = '1s'`

func (s *Store) changeEpoch(ctx context.Context, what, update string, number int64, more ...any) (epoch storage.Epoch, err error) {
	err = s.write(ctx, what, func(t *tx) error {
		b := t.batch()
		b.Queue(soonOrNever)
		b.Queue(seizeEpoch)
		b.Queue(update, append([]any{number, storage.EpochGrace.Microseconds()}, more...)...)
		readEpoch(b, &epoch)
		return t.send(b)
	})
	return epoch, err
}
