package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

const (
	upsertConsumer = `
INSERT INTO event_consumer AS c (name, holder, until, position) SELECT $1, $2, ` + transactionTime + ` + $3, pruned FROM event_stream
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until WHERE c.holder = excluded.holder OR c.until <= ` + transactionTime + `
RETURNING position`

	savePosition    = `UPDATE event_consumer SET position = $1 WHERE name = $2 AND holder = $3`
	releaseConsumer = `UPDATE event_consumer SET holder = '', until = 0 WHERE name = $1 AND holder = $2`

	insertDeadEvents = `
INSERT INTO dead_event (consumer, reason, data, position, at)
SELECT k.consumer, k.reason, k.data, k.position, k.at
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[]) AS k (consumer, reason, data, position, at) ON CONFLICT DO NOTHING`
	countDeadEvents = `SELECT count(*) FROM dead_event WHERE consumer = $1`
	pruneDeadEvents = `DELETE FROM dead_event d USING event_stream s WHERE d.position <= s.pruned`

	selectDeadEvents = `
SELECT consumer, position, at, reason, data FROM dead_event WHERE $1::text = '' OR consumer = $1 ORDER BY at, consumer, position LIMIT $2`
	deleteDeadEvent = `DELETE FROM dead_event WHERE position = $2 AND ($1::text = '' OR consumer = $1)`
)

// LeaseEvents takes or extends a lease.
func (s *Store) LeaseEvents(ctx context.Context, consumer, holder string, until time.Duration) (storage.EventLease, error) {
	if err := sqlstore.ValidateConsumer(consumer, holder, until); err != nil {
		return storage.EventLease{}, err
	}
	lease, taken := storage.EventLease{Consumer: consumer, Holder: holder}, false
	err := s.change(ctx, "lease events", func(t *tx) error {
		taken = false
		b := t.batch()
		b.Queue(upsertConsumer, consumer, holder, until.Microseconds()).Query(eachRow(func(row pgx.Rows) error {
			taken = true
			return row.Scan(&lease.Position)
		}))
		return t.send(b)
	})
	if err == nil && !taken {
		err = storage.ErrLeaseLost
	}
	if err != nil {
		return storage.EventLease{}, err
	}
	return lease, nil
}

// SaveEvents saves the position of a consumer, and its new dead events.
func (s *Store) SaveEvents(ctx context.Context, lease storage.EventLease, position int64, dead ...storage.DeadEvent) error {
	rows := newColumns(3, 2, len(dead))
	for i := range dead {
		d := &dead[i]
		rows.add([]string{lease.Consumer, d.Reason, sqlstore.EncodeEvent(&d.Event)}, d.Event.Position, d.At)
	}
	return s.change(ctx, "save the position of events", func(t *tx) error {
		var n, total int64
		b := t.batch()
		b.Queue(savePosition, position, lease.Consumer, lease.Holder).Exec(rowsAffected(&n))
		if len(dead) > 0 {
			b.Queue(insertDeadEvents, rows.args()...)
			b.Queue(countDeadEvents, lease.Consumer).Query(eachRow(func(row pgx.Rows) error { return row.Scan(&total) }))
		}
		switch err := t.send(b); {
		case err != nil:
			return err
		case n == 0:
			return storage.ErrLeaseLost
		case total > storage.MaxDeadEvents:
			return storage.ErrDeadEventsFull
		}
		return nil
	})
}

// ReleaseEvents gives up a lease.
func (s *Store) ReleaseEvents(ctx context.Context, lease storage.EventLease) error {
	return s.change(ctx, "release events", func(t *tx) error {
		b := t.batch()
		b.Queue(releaseConsumer, lease.Consumer, lease.Holder)
		return t.send(b)
	})
}

// DeadEvents returns the dead events of a consumer, or of all.
func (s *Store) DeadEvents(ctx context.Context, consumer string, limit int) (dead []storage.DeadEvent, err error) {
	err = s.read(ctx, "list dead events", selectDeadEvents, []any{consumer, limit}, func(row pgx.Rows) error {
		var d storage.DeadEvent
		var position int64
		var data string
		err := row.Scan(&d.Consumer, &position, &d.At, &d.Reason, &data)
		if err == nil {
			d.Event, err = sqlstore.DecodeEvent(position, data)
		}
		dead = append(dead, d)
		return err
	})
	return dead, err
}

// DropDeadEvent removes a dead event of a consumer, or of all.
func (s *Store) DropDeadEvent(ctx context.Context, consumer string, position int64) (n int64, err error) {
	err = s.change(ctx, "drop a dead event", func(t *tx) error {
		b := t.batch()
		b.Queue(deleteDeadEvent, consumer, position).Exec(rowsAffected(&n))
		return t.send(b)
	})
	return n, err
}
