package sqlite

import (
	"cmp"
	"context"
	"slices"
	"time"

	"ovation/storage"
	"ovation/storage/sqlstore"
)

// Persist applies new messages in one transaction. The number of statements does not
// depend on the number of actions.
func (s *Store) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	if err := sqlstore.Validate(messages); err != nil {
		return storage.Outcome{}, err
	}
	deleted := sqlstore.DeletedSubjects{}
	for {
		outcome, err := s.persist(ctx, messages, deleted, mark)
		if !deleted.Learn(err) {
			return outcome, err
		}
	}
}

// persist is one attempt at Persist. It fails if one of the actions sets a state on a
// deleted subject that is not in the set.
func (s *Store) persist(
	ctx context.Context, messages []storage.Message, deleted sqlstore.DeletedSubjects, mark storage.Mark,
) (outcome storage.Outcome, err error) {
	err = s.write(ctx, "persist", func(t tx) error {
		now := s.now()
		unexpired, expired, err := t.expire(messages, now)
		if err != nil {
			return err
		}
		outcome = storage.Outcome{Expired: expired}
		request := sqlstore.ActionRequestOf(unexpired)
		received, err := t.split(unexpired, request, &outcome, storage.Micros(now))
		if err != nil {
			return err
		}
		erased, err := t.erased(sqlstore.NamedUsers(unexpired)...)
		if err != nil {
			return err
		}
		dropped := erased.Drop(&received)
		deleted.Clear(received.Actions)
		if err := t.apply(&outcome, received, storage.Micros(now)); err != nil {
			return err
		}
		outcome.Applied = append(outcome.Applied, dropped...)
		if err := deleted.Check(received.Actions, outcome.Counts); err != nil {
			return err
		}
		request.Finish(sqlstore.SplitByKind(received.Actions).Reads, &outcome)
		if err := t.recordRequests(&request.RequestLog, storage.Micros(now)); err != nil {
			return err
		}
		return callMark(ctx, mark, outcome)
	})
	if err != nil {
		return storage.Outcome{}, err
	}
	return outcome, nil
}

// callMark calls mark, unless it is nil.
func callMark(ctx context.Context, mark storage.Mark, outcome storage.Outcome) error {
	if mark == nil {
		return nil
	}
	return mark(ctx, outcome)
}

const insertInbox = `
INSERT INTO inbox (id, persisted)
SELECT value ->> 0, nullif(value ->> 1, 0) FROM jsonb_each(?) WHERE true
ON CONFLICT DO NOTHING RETURNING id`

// split inserts the messages into the inbox, looks up their request, and separates the new
// messages from the messages that are skipped.
func (t tx) split(
	messages []storage.Message, request *sqlstore.ActionRequest, outcome *storage.Outcome, now int64,
) (sqlstore.NewAndSkipped, error) {
	fresh, err := t.receive(messages, now)
	if err == nil {
		err = t.lookUpRequests(&request.RequestLog, now)
	}
	if err == nil {
		err = request.Begin(fresh, outcome)
	}
	if err != nil {
		return sqlstore.NewAndSkipped{}, err
	}
	received := sqlstore.SplitNew(messages, fresh)
	outcome.Skipped = len(received.Skipped)
	return received, nil
}

// receive inserts the messages into the inbox and returns the ids of the new messages.
func (t tx) receive(messages []storage.Message, now int64) (map[string]bool, error) {
	var rows tuples
	for _, m := range messages {
		persisted := now
		if m.Forever {
			persisted = 0
		}
		rows.add([]string{m.ID}, persisted)
	}
	fresh := make(map[string]bool, len(messages))
	err := t.query(insertInbox, []any{rows.json()}, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		fresh[id] = true
		return err
	})
	return fresh, err
}

// apply writes actions and comments, and adjusts counts accordingly. The counts in the
// outcome include the counts of the subjects of skipped messages.
func (t tx) apply(outcome *storage.Outcome, received sqlstore.NewAndSkipped, now int64) error {
	of := sqlstore.SplitByKind(received.Actions)
	of.Events = t.events
	changes, err := t.react(of.Reactions)
	if err != nil {
		return err
	}
	moves, err := t.collect(of.Collections)
	if err != nil {
		return err
	}
	if err := t.hideReads(&of); err != nil {
		return err
	}
	if err := t.addReads(&of); err != nil {
		return err
	}
	follows, err := t.follow(of.Follows)
	if err != nil {
		return err
	}
	outcome.Applied = slices.Concat(changes, moves, follows)
	t.events.States(outcome.Applied, 0)
	writers, err := t.addPast(received.Comments, now)
	if err != nil {
		return err
	}
	moved := sqlstore.TallyOf(outcome.Applied, of)
	moved.AddComments(writers)
	if outcome.Counts, err = t.applyTally(moved, of.Authors); err != nil {
		return err
	}
	if err := received.Refuse(moved); err != nil {
		return err
	}
	return t.lookUpCounts(&outcome.Counts, sqlstore.UnchangedSubjects(received.Skipped, moved))
}

// lookUpCounts appends the counts of subjects to a list and sorts the list.
func (t tx) lookUpCounts(to *[]storage.SubjectCounts, subjects []storage.Subject) error {
	if len(subjects) == 0 {
		return nil
	}
	found := make([]storage.Interactive, len(subjects))
	for i, s := range subjects {
		found[i].Subject = s
	}
	if err := t.counts(found); err != nil {
		return err
	}
	for i := range found {
		if found[i].Version > 0 {
			*to = append(*to, storage.SubjectCounts{Subject: found[i].Subject, Counts: found[i].Counts})
		}
	}
	sqlstore.SortCounts(*to)
	return nil
}

const selectSeen = `
SELECT k.key FROM jsonb_each(?) k CROSS JOIN inbox i WHERE i.id = k.value ->> 0`

// Seen looks up message ids in the inbox.
func (s *Store) Seen(ctx context.Context, ids []string) ([]bool, error) {
	var out []bool
	err := s.read(ctx, "look up messages", func(t tx) (err error) {
		out, err = t.seen(ids)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (t tx) seen(ids []string) ([]bool, error) {
	out := make([]bool, len(ids))
	var keys tuples
	for _, id := range ids {
		keys.add([]string{id})
	}
	return out, t.query(selectSeen, []any{keys.json()}, func(scan func(...any) error) error {
		var i int
		if err := scan(&i); err != nil {
			return err
		}
		out[i] = true
		return nil
	})
}

// expire returns the messages that have not expired, and the ids of the messages that
// have expired.
func (t tx) expire(messages []storage.Message, now time.Time) (rest []storage.Message, expired []string, err error) {
	var old []string
	for i := range messages {
		if m := &messages[i]; m.MayExpire(now) && now.Sub(storage.Time(m.Published)) > storage.MaxMessageAge {
			old = append(old, m.ID)
		}
	}
	if len(old) == 0 {
		return messages, nil, nil
	}
	seen, err := t.seen(old)
	if err != nil {
		return nil, nil, err
	}
	for i := range old {
		if !seen[i] {
			expired = append(expired, old[i])
		}
	}
	return storage.Without(messages, expired), expired, nil
}

// Prune deletes old message ids, and old records of deleted folders, of clears, of erased
// users, of requests and of events.
func (s *Store) Prune(ctx context.Context, age time.Duration) (n int64, err error) {
	before := storage.Micros(s.now().Add(-age))
	err = s.write(ctx, "prune the inbox", func(t tx) error {
		if n, err = t.exec(`DELETE FROM inbox WHERE persisted < ?`, before); err != nil {
			return err
		}
		if _, err = t.exec(`DELETE FROM deleted_folder WHERE version < ?`, before); err != nil {
			return err
		}
		if _, err = t.exec(`DELETE FROM cleared_read WHERE version < ?`, before); err != nil {
			return err
		}
		if _, err = t.exec(`DELETE FROM erased_user WHERE finished > 0 AND finished < ?`, storage.Micros(s.now().Add(-storage.ErasedAge))); err != nil {
			return err
		}
		_, err = t.exec(`DELETE FROM request WHERE at < ?`, storage.Micros(s.now().Add(-storage.RequestAge)))
		return err
	})
	if err != nil {
		return n, err
	}
	_, err = s.PruneEvents(ctx, cmp.Or(s.events.Keep, storage.EventsKeep))
	return n, err
}
