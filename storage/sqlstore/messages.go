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
		if m.Request != (storage.ActionRequest{}) && len(messages) > 1 {
			return fmt.Errorf("persist message %q: %w", m.ID, &storage.InvalidError{Field: "request", Reason: "must be that of the only message"})
		}
	}
	return nil
}

// NewAndSkipped holds the messages of one call, separated into new and skipped ones.
type NewAndSkipped struct {
	Actions  []storage.Action      // of the new messages, coalesced
	Comments []storage.PastComment // of the new messages
	Skipped  []storage.Message     // persisted before, or repeated in the same call

	refuseDeleted bool // one of the new messages has RefuseDeleted set
}

// Refuse returns a *storage.DeletedError if the messages are to be refused because an
// author of a deleted subject was to be declared. The transaction must then be rolled back.
func (n NewAndSkipped) Refuse(by Tally) error {
	for i := range n.Actions {
		if n.refuseDeleted && by.Refused[n.Actions[i].Subject] {
			return &storage.DeletedError{Subject: n.Actions[i].Subject}
		}
	}
	return nil
}

// SplitNew separates new messages from all others, and empties the set fresh, which holds
// the ids of the new messages.
func SplitNew(messages []storage.Message, fresh map[string]bool) (out NewAndSkipped) {
	room := 0
	for i := range messages {
		room += len(messages[i].Actions)
	}
	actions := make([]storage.Action, 0, room)
	for _, m := range messages {
		if fresh[m.ID] {
			actions = append(actions, m.Actions...)
			out.Comments = append(out.Comments, m.Comments...)
			out.refuseDeleted = out.refuseDeleted || m.RefuseDeleted
			delete(fresh, m.ID) // a repeated id in the same call counts as skipped
		} else {
			out.Skipped = append(out.Skipped, m)
		}
	}
	out.Actions = storage.Coalesce(actions)
	return out
}

// UnchangedSubjects returns the subjects of skipped messages, without duplicates and
// without those that are in moved.
func UnchangedSubjects(skipped []storage.Message, moved Tally) []storage.Subject {
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

// SplitByKind splits coalesced actions by kind.
func SplitByKind(actions []storage.Action) (of ByKind) {
	of.Reactions, actions = cutKind(actions, storage.KindReaction)
	of.Collections, actions = cutKind(actions, storage.KindCollection)
	of.Reads, actions = cutKind(actions, storage.KindRead)
	of.Follows, actions = cutKind(actions, storage.KindFollow)
	of.Authors, _ = cutKind(actions, storage.KindAuthor)
	return of
}

// ByKind holds the actions of one batch by kind.
type ByKind struct {
	Reactions, Collections, Reads, Follows, Authors []storage.Action
	// NewReaders holds the subject of each element of Reads by a user who had not read
	// that subject before. It is set when the reads are written.
	NewReaders []storage.Subject
	Events     *Events // receives the reads when they are written
}

// AddReadRow notes the number of times that is stored for an element of Reads, now that
// it is written. If that is the number that was added, the row is new.
func (of *ByKind) AddReadRow(written *storage.Action, stored int64) {
	of.Events.read(written, stored)
	if stored == written.Times && !written.User.Anonymous() {
		of.NewReaders = append(of.NewReaders, written.Subject)
	}
}

// cutKind splits actions into the leading actions of the given kind and the rest.
func cutKind(actions []storage.Action, kind storage.Kind) (of, rest []storage.Action) {
	n := slices.IndexFunc(actions, func(a storage.Action) bool { return a.Kind != kind })
	if n < 0 {
		n = len(actions)
	}
	return actions[:n], actions[n:]
}
