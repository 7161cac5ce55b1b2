package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/sqlstore"
)

// Persist applies new messages in one transaction. It takes one round trip for the inbox
// and the folders, one for the states, one for the counts and totals, and one to commit.
// It takes further round trips in some cases:
//
//   - one if newer states are already stored
//   - one if authors are declared
//   - one if messages may have expired
//   - one for each time that collections into deleted folders are redirected
//   - three if there are comments, and one for each attempt to find free ids
//   - all of them again if states were to be set on deleted subjects
//   - one if a request is recorded
func (s *Store) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	if err := sqlstore.Validate(messages); err != nil {
		return storage.Outcome{}, err
	}
	deleted := sqlstore.DeletedSubjects{}
	for {
		var outcome storage.Outcome
		err := retryRaced(func() error {
			return s.change(ctx, "persist", func(t *tx) (err error) {
				outcome, err = t.persist(messages, deleted, s.now())
				if err != nil {
					return err
				}
				return mirror.Mark(t.ctx, mark, &outcome)
			})
		})
		switch {
		case err == nil:
			return outcome, nil
		case !deleted.Learn(err):
			return storage.Outcome{}, err
		}
	}
}

// persist applies messages. It fails if one of the actions sets a state on a deleted
// subject that is not in the set.
func (t *tx) persist(messages []storage.Message, deleted sqlstore.DeletedSubjects, now time.Time) (outcome storage.Outcome, err error) {
	messages, outcome.Expired, err = t.expire(messages, now)
	if err != nil || len(messages) == 0 {
		return outcome, err
	}
	b := t.batch()
	epoch := pinEpoch(b)
	barriers, messages := mirror.SplitBarriers(messages)
	recordBarriers(b, barriers)
	fresh, request := receive(b, messages), sqlstore.ActionRequestOf(messages)
	lookUpRequests(b, &request.RequestLog)
	folders := lockCollectionOwners(b, messages)
	clears := lookUpClears(b, messages)
	erased := lookUpErased(b, sqlstore.NamedUsers(messages)...)
	if err := t.send(b); err != nil {
		return outcome, err
	}
	if outcome.Epoch, err = epoch.Enter(); err != nil {
		return outcome, err
	}
	if err := request.Begin(fresh, &outcome); err != nil {
		return outcome, err
	}
	received := sqlstore.SplitNew(messages, fresh)
	outcome.Skipped = len(received.Skipped)
	dropped := erased.Drop(&received)
	deleted.Clear(received.Actions)
	if err := sqlstore.ResolveFolders(received.Actions, folders, t.fetchFolders); err != nil {
		return outcome, err
	}
	of := sqlstore.SplitByKind(received.Actions)
	of.Events = t.events
	of.HideReads(clears)
	if outcome.Applied, err = t.apply(&of); err != nil {
		return outcome, err
	}
	t.events.States(outcome.Applied, 0)
	writers, err := t.addPast(received.Comments)
	if err != nil {
		return outcome, err
	}
	moved := sqlstore.TallyOf(outcome.Applied, of)
	moved.AddComments(writers)
	if outcome.Counts, err = t.applyTally(moved, of.Authors, received.Skipped); err != nil {
		return outcome, err
	}
	outcome.Applied = append(outcome.Applied, dropped...)
	if err := received.Refuse(moved); err != nil {
		return outcome, err
	}
	if err := deleted.Check(received.Actions, outcome.Counts); err != nil {
		return outcome, err
	}
	request.Finish(of.Reads, &outcome)
	return outcome, t.recordRequest(request)
}

// recordRequest writes the request of a new message.
func (t *tx) recordRequest(of *sqlstore.ActionRequest) error {
	if len(of.New) == 0 {
		return nil
	}
	b := t.batch()
	raced := recordRequests(b, &of.RequestLog)
	if err := t.send(b); err != nil {
		return err
	}
	return raced()
}

// transactionTime is the time at which the transaction began, by the database's clock, in
// microseconds since 1970.
const transactionTime = `(extract(epoch FROM now()) * 1000000)::bigint`

const selectExpired = `
SELECT k.id FROM unnest($1::text[], $2::bigint[]) AS k (id, published)
LEFT JOIN LATERAL (SELECT TRUE AS seen FROM inbox i WHERE i.id = k.id LIMIT 1) i ON TRUE
WHERE i.seen IS NULL AND k.published < ` + transactionTime + ` - $3`

// expire returns the messages that have not expired, and the ids of the messages that
// have expired.
func (t *tx) expire(messages []storage.Message, now time.Time) (rest []storage.Message, expired []string, err error) {
	rows := newColumns(1, 1, 0)
	for i := range messages {
		if m := &messages[i]; m.MayExpire(now) {
			rows.add([]string{m.ID}, m.Published)
		}
	}
	if len(rows.texts[0]) == 0 {
		return messages, nil, nil
	}
	b := t.batch()
	b.Queue(selectExpired, rows.args(storage.MaxMessageAge.Microseconds())...).Query(eachRow(func(row pgx.Rows) error {
		var id string
		if err := row.Scan(&id); err != nil {
			return err
		}
		expired = append(expired, id)
		return nil
	}))
	if err := t.send(b); err != nil {
		return nil, nil, err
	}
	return storage.Without(messages, expired), expired, nil
}

// The DO UPDATE of insertInbox changes nothing; it locks the row of a message that was
// persisted before. The lock is written to the WAL, so that even the commit of a
// transaction that skips everything waits for a synchronous standby. This is necessary
// because the commit of the transaction that persisted the message may have been
// acknowledged too early, or not at all.
const insertInbox = `
INSERT INTO inbox AS i (id, persisted)
SELECT DISTINCT ON (k.id COLLATE "C") k.id, CASE WHEN k.forever = 0 THEN ` + transactionTime + ` END
FROM unnest($1::text[], $2::bigint[]) AS k (id, forever) ORDER BY k.id COLLATE "C"
ON CONFLICT (id) DO UPDATE SET persisted = i.persisted WHERE FALSE
RETURNING id`

// receive queues a statement that inserts messages into the inbox. Once the batch is
// sent, the result contains the ids of the new messages.
func receive(b *pgx.Batch, messages []storage.Message) map[string]bool {
	rows := newColumns(1, 1, len(messages))
	for _, m := range messages {
		forever := int64(0)
		if m.Forever {
			forever = 1
		}
		rows.add([]string{m.ID}, forever)
	}
	fresh := make(map[string]bool, len(messages))
	b.Queue(insertInbox, rows.args()...).Query(eachRow(func(row pgx.Rows) error {
		var id string
		if err := row.Scan(&id); err != nil {
			return err
		}
		fresh[id] = true
		return nil
	}))
	return fresh
}

// apply writes actions, except those of KindAuthor, and sets of.NewReaders. It returns the
// resulting states, except those of KindRead.
func (t *tx) apply(of *sqlstore.ByKind) ([]storage.StateChange, error) {
	b := t.batch()
	reacted := react(b, of.Reactions)
	collected := collect(b, of.Collections)
	addReads(b, of)
	followed := follow(b, of.Follows)
	if b.Len() == 0 {
		return nil, nil
	}
	if err := t.send(b); err != nil {
		return nil, err
	}
	if err := t.loadRemaining(reacted, collected, followed); err != nil {
		return nil, err
	}
	return slices.Concat(reacted.changes, collected.changes, followed.changes), nil
}

const selectSeen = `
SELECT k.ord FROM unnest($1::text[]) WITH ORDINALITY AS k (id, ord)
CROSS JOIN LATERAL (SELECT FROM inbox i WHERE i.id = k.id LIMIT 1) i`

// Seen looks up message ids in the inbox.
func (s *Store) Seen(ctx context.Context, ids []string) ([]bool, error) {
	out := make([]bool, len(ids))
	keys := newColumns(1, 0, len(ids))
	for _, id := range ids {
		keys.add([]string{id})
	}
	err := s.read(ctx, "look up messages", selectSeen, keys.args(), func(row pgx.Rows) error {
		var i int
		if err := row.Scan(&i); err != nil {
			return err
		}
		out[i-1] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// pruneBatch is the maximum number of rows that one transaction deletes from a table.
const pruneBatch = 10_000

// The statements of Prune skip rows that another process is deleting.
const deleteInbox = `
DELETE FROM inbox WHERE id = ANY (ARRAY(
    SELECT id FROM inbox WHERE persisted < ` + transactionTime + ` - $1 ORDER BY persisted LIMIT $2 FOR UPDATE SKIP LOCKED))`

const deleteDeleted = `
DELETE FROM deleted_folder WHERE (tenant, user_id, folder_id) IN (
    SELECT tenant, user_id, folder_id FROM deleted_folder
    WHERE version < ` + transactionTime + ` - $1 ORDER BY version LIMIT $2 FOR UPDATE SKIP LOCKED)`

const deleteCleared = `
DELETE FROM cleared_read WHERE (tenant, user_id, biz, biz_id) IN (
    SELECT tenant, user_id, biz, biz_id FROM cleared_read
    WHERE version < ` + transactionTime + ` - $1 ORDER BY version LIMIT $2 FOR UPDATE SKIP LOCKED)`

const deleteErased = `
DELETE FROM erased_user WHERE digest IN (
    SELECT digest FROM erased_user
    WHERE finished > 0 AND finished < ` + transactionTime + ` - $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`

const deleteRequests = `
DELETE FROM request WHERE (tenant, user_id, request_id) IN (
    SELECT tenant, user_id, request_id FROM request
    WHERE at < ` + transactionTime + ` - $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED)`

// Prune deletes old message ids, and old records of deleted folders, of clears, of erased
// users, of requests and of events, in transactions of bounded size.
func (s *Store) Prune(ctx context.Context, age time.Duration) (total int64, err error) {
	for {
		var n, requests int64
		err := s.change(ctx, "prune the inbox", func(t *tx) error {
			b := t.batch()
			b.Queue(deleteInbox, age.Microseconds(), pruneBatch).Exec(rowsAffected(&n))
			b.Queue(deleteDeleted, age.Microseconds(), pruneBatch)
			b.Queue(deleteCleared, age.Microseconds(), pruneBatch)
			b.Queue(deleteErased, storage.ErasedAge.Microseconds(), pruneBatch)
			b.Queue(deleteRequests, storage.RequestAge.Microseconds(), pruneBatch).Exec(rowsAffected(&requests))
			return t.send(b)
		})
		if err != nil {
			return total, err
		}
		total += n
		if max(n, requests) < pruneBatch {
			_, err := s.PruneEvents(ctx, cmp.Or(s.events.Keep, storage.EventsKeep))
			return total, err
		}
	}
}
