package sqlstore

import (
	"fmt"
	"slices"

	"ovation/storage"
)

// Validate returns an error for the first message that is invalid.
func Validate(messages []storage.Message) error {
	for _, m := range messages {
		if err := m.Validate(); err != nil {
			return fmt.Errorf("persist message %q: %w", m.ID, err)
		}
	}
	return nil
}

// Divide returns the coalesced actions of the messages whose ids are in fresh,
// which it empties, and the other messages.
func Divide(messages []storage.Message, fresh map[string]bool) (actions []storage.Action, skipped []storage.Message) {
	room := 0
	for i := range messages {
		room += len(messages[i].Actions)
	}
	actions = make([]storage.Action, 0, room)
	for _, m := range messages {
		if fresh[m.ID] {
			actions = append(actions, m.Actions...)
			delete(fresh, m.ID) // a second one of the same call is a repeat
		} else {
			skipped = append(skipped, m)
		}
	}
	return storage.Coalesce(actions), skipped
}

// Unmoved returns the subjects of skipped messages whose counts do not move.
func Unmoved(skipped []storage.Message, moved Tally) []storage.Subject {
	var out []storage.Subject
	seen := make(map[storage.Subject]bool)
	for _, m := range skipped {
		for i := range m.Actions {
			if s := m.Actions[i].Subject; moved.Subjects[s] == nil && !seen[s] {
				seen[s] = true
				out = append(out, s)
			}
		}
	}
	return out
}

// Split splits coalesced actions by their kind.
func Split(actions []storage.Action) (reactions, collections, reads []storage.Action) {
	reactions, rest := cut(actions, storage.KindReaction)
	collections, reads = cut(rest, storage.KindCollection)
	return reactions, collections, reads
}

// cut splits off the leading actions of a kind.
func cut(actions []storage.Action, kind storage.Kind) (of, rest []storage.Action) {
	n := slices.IndexFunc(actions, func(a storage.Action) bool { return a.Kind != kind })
	if n < 0 {
		n = len(actions)
	}
	return actions[:n], actions[n:]
}
