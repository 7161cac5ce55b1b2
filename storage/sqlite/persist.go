package sqlite

import (
	"context"
	"slices"
	"time"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/sqlstore"
)

// Persist applies what is new of the messages in one transaction. The number
// of its statements does not depend on that of the actions.
func (s *Store) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	if err := sqlstore.Validate(messages); err != nil {
		return storage.Outcome{}, err
	}
	var outcome storage.Outcome
	err := s.write(ctx, "persist", func(t tx) error {
		epoch, err := t.enter(s.now())
		if err != nil {
			return err
		}
		barriers, others := storage.SplitBarriers(messages)
		if err := t.pass(barriers); err != nil {
			return err
		}
		now := s.now()
		fresh, expired, err := t.expire(others, now)
		if err != nil {
			return err
		}
		actions, skipped, err := t.receive(fresh, storage.Micros(now))
		if err != nil {
			return err
		}
		outcome = storage.Outcome{Epoch: epoch, Skipped: len(skipped), Expired: expired}
		if err := t.apply(&outcome, actions, skipped); err != nil {
			return err
		}
		return mirror.Mark(ctx, mark, &outcome)
	})
	if err != nil {
		return storage.Outcome{}, err
	}
	return outcome, nil
}

const insertInbox = `
INSERT INTO inbox (id, persisted)
SELECT value ->> 0, nullif(value ->> 1, 0) FROM jsonb_each(?) WHERE true
ON CONFLICT DO NOTHING RETURNING id`

// receive puts the messages into the inbox and returns the actions of those
// that were not there, and the others.
func (t tx) receive(messages []storage.Message, now int64) (actions []storage.Action, skipped []storage.Message, err error) {
	var rows tuples
	for _, m := range messages {
		persisted := now
		if m.Forever {
			persisted = 0
		}
		rows.add([]string{m.ID}, persisted)
	}
	fresh := make(map[string]bool, len(messages))
	err = t.query(insertInbox, []any{rows.json()}, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		fresh[id] = true
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	actions, skipped = sqlstore.Divide(messages, fresh)
	return actions, skipped, nil
}

// apply writes coalesced actions and moves the counts by what they change. The
// counts of the subjects of skipped messages come back too.
func (t tx) apply(outcome *storage.Outcome, actions []storage.Action, skipped []storage.Message) error {
	reactions, collections, reads := sqlstore.Split(actions)
	changes, err := t.react(reactions)
	if err != nil {
		return err
	}
	moves, err := t.collect(collections)
	if err != nil {
		return err
	}
	if err := t.addReads(reads); err != nil {
		return err
	}
	outcome.Applied = slices.Concat(changes, moves)
	moved := sqlstore.TallyOf(outcome.Applied, reads)
	if outcome.Counts, err = t.settle(moved, 1); err != nil {
		return err
	}
	return t.recall(&outcome.Counts, sqlstore.Unmoved(skipped, moved))
}

// recall adds the counts of subjects.
func (t tx) recall(to *[]storage.SubjectCounts, subjects []storage.Subject) error {
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

// Seen looks the ids up in the inbox.
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

// expire returns the messages that have not expired, and the ids of the others.
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

// Prune forgets old messages and deleted folders.
func (s *Store) Prune(ctx context.Context, age time.Duration) (n int64, err error) {
	before := storage.Micros(s.now().Add(-age))
	err = s.write(ctx, "prune the inbox", func(t tx) error {
		if n, err = t.exec(`DELETE FROM inbox WHERE persisted < ?`, before); err != nil {
			return err
		}
		_, err = t.exec(`DELETE FROM deleted_folder WHERE version < ?`, before)
		return err
	})
	return n, err
}
