package sqlite

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ovation/storage"
	"ovation/storage/mirror"
)

// Persist applies what is new of the messages in one transaction. The number
// of its statements does not depend on that of the actions.
func (s *Store) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	for _, m := range messages {
		if err := m.Validate(); err != nil {
			return storage.Outcome{}, fmt.Errorf("persist message %q: %w", m.ID, err)
		}
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
		outcome, err = t.apply(storage.Coalesce(actions))
		if err != nil {
			return err
		}
		outcome.Epoch, outcome.Skipped, outcome.Expired = epoch, len(skipped), expired
		if outcome.Counts, err = t.recall(outcome.Counts, skipped); err != nil {
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
	for _, m := range messages {
		if fresh[m.ID] {
			actions = append(actions, m.Actions...)
			delete(fresh, m.ID) // a second one of the same call is a repeat
		} else {
			skipped = append(skipped, m)
		}
	}
	return actions, skipped, err
}

// recall adds the counts of the subjects of skipped messages.
func (t tx) recall(counts []storage.SubjectCounts, skipped []storage.Message) ([]storage.SubjectCounts, error) {
	known := make(map[storage.Subject]bool, len(counts))
	for i := range counts {
		known[counts[i].Subject] = true
	}
	var missing []storage.Interactive
	for _, m := range skipped {
		for i := range m.Actions {
			if subject := m.Actions[i].Subject; !known[subject] {
				known[subject] = true
				missing = append(missing, storage.Interactive{Subject: subject})
			}
		}
	}
	if len(missing) == 0 {
		return counts, nil
	}
	if err := t.counts(missing); err != nil {
		return nil, err
	}
	for i := range missing {
		if missing[i].Version > 0 {
			counts = append(counts, storage.SubjectCounts{Subject: missing[i].Subject, Counts: missing[i].Counts})
		}
	}
	slices.SortFunc(counts, func(a, b storage.SubjectCounts) int { return bySubject(a.Subject, b.Subject) })
	return counts, nil
}

// apply writes coalesced actions and moves the counts by what they change.
func (t tx) apply(actions []storage.Action) (outcome storage.Outcome, err error) {
	reactions, rest := cut(actions, storage.KindReaction)
	collections, reads := cut(rest, storage.KindCollection)

	changed := newTally()
	changes, err := t.react(reactions)
	if err != nil {
		return outcome, err
	}
	moves, err := t.collect(collections)
	if err != nil {
		return outcome, err
	}
	if err := t.addReads(reads); err != nil {
		return outcome, err
	}
	outcome.Applied = slices.Concat(changes, moves)
	for i := range outcome.Applied {
		changed.state(&outcome.Applied[i])
	}
	for i := range reads {
		changed.subject(reads[i].Subject).ReadCount += reads[i].Times
	}
	outcome.Counts, err = t.settle(changed, 1)
	return outcome, err
}

// cut splits off the leading actions of a kind.
func cut(actions []storage.Action, kind storage.Kind) (of, rest []storage.Action) {
	n := slices.IndexFunc(actions, func(a storage.Action) bool { return a.Kind != kind })
	if n < 0 {
		n = len(actions)
	}
	return actions[:n], actions[n:]
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
