package sqlite

import (
	"context"
	"time"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

var _ storage.EventLog = (*Store)(nil)

const (
	advanceStream = `UPDATE event_stream SET last = last + ? RETURNING last`
	insertEvents  = `INSERT INTO event_log (last, events, at, data) VALUES (?, ?, ?, ?)`

	selectStream = `SELECT id, pruned + 1, last FROM event_stream`

	// selectEvents reads rows until they hold the requested number of events.
	selectEvents = `
SELECT last, data FROM (
    SELECT last, data, sum(events) OVER (ORDER BY last) - events AS before
    FROM (SELECT last, events, data FROM event_log WHERE last > ?1 ORDER BY last LIMIT ?2))
WHERE before < ?2 ORDER BY last`

	// deleteEvents deletes rows from the beginning up to the first row that is kept.
	deleteEvents = `
DELETE FROM event_log WHERE last < coalesce((SELECT last FROM event_log WHERE at >= ? ORDER BY last LIMIT 1), ?) RETURNING last, events`
	setPruned = `UPDATE event_stream SET pruned = ?`

	upsertConsumer = `
INSERT INTO event_consumer AS c (name, holder, until, position) SELECT ?1, ?2, ?3, pruned FROM event_stream WHERE true
ON CONFLICT DO UPDATE SET holder = excluded.holder, until = excluded.until WHERE c.holder = excluded.holder OR c.until <= ?4
RETURNING position`
	savePosition    = `UPDATE event_consumer SET position = ? WHERE name = ? AND holder = ?`
	releaseConsumer = `UPDATE event_consumer SET holder = '', until = 0 WHERE name = ? AND holder = ?`

	insertDeadEvent = `INSERT INTO dead_event (consumer, position, at, reason, data) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	countDeadEvents = `SELECT count(*) FROM dead_event WHERE consumer = ?`
	pruneDeadEvents = `DELETE FROM dead_event WHERE position <= ?`

	selectDeadEvents = `
SELECT consumer, position, at, reason, data FROM dead_event WHERE ?1 = '' OR consumer = ?1 ORDER BY at, consumer, position LIMIT ?2`
	deleteDeadEvent = `DELETE FROM dead_event WHERE position = ?2 AND (?1 = '' OR consumer = ?1)`
)

// logEvents writes the events of the transaction to the log. As there is one writer,
// positions are in the order of the commits.
func (t tx) logEvents(now int64) error {
	batches, total := t.events.Take(), int64(0)
	for _, b := range batches {
		total += b.Count
	}
	if total == 0 {
		return nil
	}
	last := int64(0)
	if err := t.query(advanceStream, []any{total}, func(scan func(...any) error) error { return scan(&last) }); err != nil {
		return err
	}
	last -= total
	for _, b := range batches {
		last += b.Count
		if _, err := t.exec(insertEvents, last, b.Count, now, b.Data); err != nil {
			return err
		}
	}
	return nil
}

// EventStream describes the log of events.
func (s *Store) EventStream(ctx context.Context) (stream storage.EventStream, err error) {
	err = s.read(ctx, "look up the log of events", func(t tx) error {
		stream, err = t.stream()
		return err
	})
	return stream, err
}

func (t tx) stream() (stream storage.EventStream, err error) {
	return stream, t.query(selectStream, nil, func(scan func(...any) error) error {
		return scan(&stream.ID, &stream.First, &stream.Last)
	})
}

// Events reads events in one snapshot.
func (s *Store) Events(ctx context.Context, query storage.EventsQuery) (storage.EventPage, error) {
	page := sqlstore.NewEventsPage(query)
	var stream storage.EventStream
	err := s.read(ctx, "read events", func(t tx) (err error) {
		if stream, err = t.stream(); err != nil {
			return err
		}
		return t.query(selectEvents, []any{query.After, page.Limit()}, func(scan func(...any) error) error {
			var last int64
			var data []byte
			if err := scan(&last, &data); err != nil {
				return err
			}
			return page.Row(last, data)
		})
	})
	if err != nil {
		return storage.EventPage{}, err
	}
	return page.Page(stream)
}

// PruneEvents removes old events in one transaction.
func (s *Store) PruneEvents(ctx context.Context, age time.Duration) (n int64, err error) {
	now := s.now()
	err = s.write(ctx, "prune events", func(t tx) error {
		n = 0
		stream, err := t.stream()
		if err != nil {
			return err
		}
		pruned := int64(0)
		args := []any{storage.Micros(now.Add(-age)), stream.Last + 1}
		if err := t.query(deleteEvents, args, func(scan func(...any) error) error {
			var last, events int64
			err := scan(&last, &events)
			n, pruned = n+events, max(pruned, last)
			return err
		}); err != nil || n == 0 {
			return err
		}
		if _, err := t.exec(setPruned, pruned); err != nil {
			return err
		}
		_, err = t.exec(pruneDeadEvents, pruned)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// LeaseEvents takes or extends a lease.
func (s *Store) LeaseEvents(ctx context.Context, consumer, holder string, until time.Duration) (storage.EventLease, error) {
	if err := sqlstore.ValidateConsumer(consumer, holder, until); err != nil {
		return storage.EventLease{}, err
	}
	lease, taken := storage.EventLease{Consumer: consumer, Holder: holder}, false
	err := s.write(ctx, "lease events", func(t tx) error {
		now := s.now()
		args := []any{consumer, holder, storage.Micros(now.Add(until)), storage.Micros(now)}
		return t.query(upsertConsumer, args, func(scan func(...any) error) error {
			taken = true
			return scan(&lease.Position)
		})
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
	return s.write(ctx, "save the position of events", func(t tx) error {
		n, err := t.exec(savePosition, position, lease.Consumer, lease.Holder)
		if err == nil && n == 0 {
			err = storage.ErrLeaseLost
		}
		if err != nil || len(dead) == 0 {
			return err
		}
		for i := range dead {
			d := &dead[i]
			if _, err := t.exec(insertDeadEvent, lease.Consumer, d.Event.Position, d.At, d.Reason, sqlstore.EncodeEvent(&d.Event)); err != nil {
				return err
			}
		}
		n = 0
		err = t.query(countDeadEvents, []any{lease.Consumer}, func(scan func(...any) error) error { return scan(&n) })
		if err == nil && n > storage.MaxDeadEvents {
			err = storage.ErrDeadEventsFull
		}
		return err
	})
}

// DeadEvents returns the dead events of a consumer, or of all.
func (s *Store) DeadEvents(ctx context.Context, consumer string, limit int) (dead []storage.DeadEvent, err error) {
	err = s.read(ctx, "list dead events", func(t tx) error {
		dead = nil
		return t.query(selectDeadEvents, []any{consumer, limit}, func(scan func(...any) error) error {
			var d storage.DeadEvent
			var position int64
			var data string
			err := scan(&d.Consumer, &position, &d.At, &d.Reason, &data)
			if err == nil {
				d.Event, err = sqlstore.DecodeEvent(position, data)
			}
			dead = append(dead, d)
			return err
		})
	})
	return dead, err
}

// DropDeadEvent removes a dead event of a consumer, or of all.
func (s *Store) DropDeadEvent(ctx context.Context, consumer string, position int64) (n int64, err error) {
	err = s.write(ctx, "drop a dead event", func(t tx) (err error) {
		n, err = t.exec(deleteDeadEvent, consumer, position)
		return err
	})
	return n, err
}

// ReleaseEvents gives up a lease.
func (s *Store) ReleaseEvents(ctx context.Context, lease storage.EventLease) error {
	return s.write(ctx, "release events", func(t tx) error {
		_, err := t.exec(releaseConsumer, lease.Consumer, lease.Holder)
		return err
	})
}
