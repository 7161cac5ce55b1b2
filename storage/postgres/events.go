package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

var _ storage.EventLog = (*Store)(nil)

// insertEvents takes the numbers of events. A transaction runs it while it holds the locks
// on the rows that it has changed, so of two changes to a row, the later one gets the
// higher number.
const insertEvents = `
INSERT INTO event_outbox (number, events, data)
SELECT nextval('event_number'), k.events, k.data
FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS k (data, events, ord) ORDER BY k.ord`

// queueEvents queues a statement that writes the events collected so far to the outbox.
func queueEvents(b *pgx.Batch, events *sqlstore.Events) (queued bool) {
	batches := events.Take()
	if len(batches) == 0 {
		return false
	}
	rows := newColumns(1, 1, len(batches))
	for _, e := range batches {
		rows.add([]string{e.Data}, e.Count)
	}
	b.Queue(insertEvents, rows.args()...)
	return true
}

// logEvents writes the events that the transaction has not written yet. It takes a round
// trip if there are any; frequent changes queue their events with other statements.
func (t *tx) logEvents() error {
	if b := t.batch(); queueEvents(b, t.events) {
		return t.send(b)
	}
	return nil
}

const (
	lockStream = `SELECT FROM event_stream FOR UPDATE`

	// sealEvents moves rows from the outbox to the log and gives them positions. It sees
	// the rows that were committed before it began, and takes them in the order of their
	// numbers. A transaction that commits later gets later positions, even if its number
	// is lower. The transaction holds the lock on event_stream.
	sealEvents = `
WITH taken AS (
    DELETE FROM event_outbox WHERE number = ANY (ARRAY(SELECT number FROM event_outbox ORDER BY number LIMIT $1))
    RETURNING number, events, data),
written AS (
    INSERT INTO event_log (last, events, at, data)
    SELECT s.last + (sum(t.events) OVER (ORDER BY t.number))::bigint, t.events, ` + transactionTime + `, t.data
    FROM taken t CROSS JOIN event_stream s RETURNING last)
UPDATE event_stream SET last = w.last FROM (SELECT max(last) AS last, count(*) AS n FROM written) w WHERE w.n > 0
RETURNING w.n`
)

// sealRows is the maximum number of rows that one transaction moves to the log.
const sealRows = 500

// seal gives positions to all events that were committed before the call.
func (s *Store) seal(ctx context.Context) error {
	for {
		var moved int
		err := s.change(ctx, "seal events", func(t *tx) error {
			moved = 0
			b := t.batch()
			b.Queue(lockStream)
			b.Queue(sealEvents, sealRows).Query(eachRow(func(row pgx.Rows) error { return row.Scan(&moved) }))
			return t.send(b)
		})
		if err != nil || moved < sealRows {
			return err
		}
	}
}

const (
	selectStream = `SELECT id, pruned + 1, last, EXISTS (SELECT FROM event_outbox) FROM event_stream`

	// selectEvents reads rows until they hold the requested number of events, in one
	// snapshot with the stream.
	selectEvents = `
SELECT s.id, s.pruned + 1, s.last, EXISTS (SELECT FROM event_outbox), l.last, l.data
FROM event_stream s LEFT JOIN LATERAL (
    SELECT last, data, sum(events) OVER (ORDER BY last) - events AS before
    FROM (SELECT last, events, data FROM event_log WHERE last > $1 ORDER BY last LIMIT $2) e) l ON l.before < $2
ORDER BY l.last`
)

// EventStream seals and describes the log of events.
func (s *Store) EventStream(ctx context.Context) (storage.EventStream, error) {
	stream, unsealed, err := s.stream(ctx)
	if err == nil && unsealed {
		if err = s.seal(ctx); err == nil {
			stream, _, err = s.stream(ctx)
		}
	}
	return stream, err
}

func (s *Store) stream(ctx context.Context) (stream storage.EventStream, unsealed bool, err error) {
	err = s.read(ctx, "look up the log of events", selectStream, nil, func(row pgx.Rows) error {
		return row.Scan(&stream.ID, &stream.First, &stream.Last, &unsealed)
	})
	return stream, unsealed, err
}

// Events reads events. It seals the log first if it would not fill the page otherwise.
func (s *Store) Events(ctx context.Context, query storage.EventsQuery) (storage.EventPage, error) {
	stream, page, unsealed, err := s.readEvents(ctx, query)
	if err == nil && unsealed && stream.Last-query.After < int64(page.Limit()) {
		if err = s.seal(ctx); err == nil {
			stream, page, _, err = s.readEvents(ctx, query)
		}
	}
	if err != nil {
		return storage.EventPage{}, err
	}
	return page.Page(stream)
}

// readEvents reads a page of the log, and reports whether there are events that are not in
// the log yet.
func (s *Store) readEvents(ctx context.Context, query storage.EventsQuery) (stream storage.EventStream, page *sqlstore.EventsPage, unsealed bool, err error) {
	page = sqlstore.NewEventsPage(query)
	err = s.read(ctx, "read events", selectEvents, []any{query.After, page.Limit()}, func(row pgx.Rows) error {
		var last *int64
		var data []byte
		if err := row.Scan(&stream.ID, &stream.First, &stream.Last, &unsealed, &last, &data); err != nil || last == nil {
			return err
		}
		return page.Row(*last, data)
	})
	return stream, page, unsealed, err
}

// deleteEvents deletes rows from the beginning up to the first row that is kept.
const deleteEvents = `
WITH oldest AS (SELECT e.last, e.at FROM event_stream s CROSS JOIN LATERAL (
    SELECT last, at FROM event_log WHERE last > s.pruned ORDER BY last LIMIT $2) e),
deleted AS (DELETE FROM event_log WHERE last = ANY (ARRAY(
    SELECT last FROM (SELECT last, bool_and(at < ` + transactionTime + ` - $1) OVER (ORDER BY last) AS old FROM oldest) o WHERE old))
    RETURNING last, events)
UPDATE event_stream SET pruned = d.last FROM (SELECT max(last) AS last, sum(events)::bigint AS events, count(*) AS n FROM deleted) d
WHERE d.n > 0 RETURNING d.events, d.n`

// pruneEventRows is the maximum number of rows of the log that one transaction deletes.
const pruneEventRows = 1000

// PruneEvents seals the log and removes old events, in transactions of bounded size.
func (s *Store) PruneEvents(ctx context.Context, age time.Duration) (total int64, err error) {
	if _, err := s.EventStream(ctx); err != nil {
		return 0, err
	}
	for {
		var events, rows int64
		err := s.change(ctx, "prune events", func(t *tx) error {
			events, rows = 0, 0
			b := t.batch()
			b.Queue(lockStream)
			b.Queue(deleteEvents, age.Microseconds(), pruneEventRows).Query(eachRow(func(row pgx.Rows) error {
				return row.Scan(&events, &rows)
			}))
			b.Queue(pruneDeadEvents)
			return t.send(b)
		})
		total += events
		if err != nil || rows < pruneEventRows {
			return total, err
		}
	}
}
