package sqlstore

import (
	"slices"

	"ovation/storage"
)

// ErasedUsers is a set of users who were erased.
type ErasedUsers map[storage.User]bool

// NamedUsers returns the users whom messages name, as users, as subjects or as authors. A
// user may be named several times.
func NamedUsers(messages []storage.Message) []storage.User {
	var out []storage.User
	add := func(u storage.User) {
		if !u.Anonymous() && (len(out) == 0 || out[len(out)-1] != u) {
			out = append(out, u)
		}
	}
	for i := range messages {
		for j := range messages[i].Actions {
			a := &messages[i].Actions[j]
			add(a.User)
			add(person(a.Subject))
			add(storage.User{Tenant: a.Subject.Tenant, UserID: a.Author})
		}
		for j := range messages[i].Comments {
			add(messages[i].Comments[j].User)
			add(person(messages[i].Comments[j].Subject))
		}
	}
	return out
}

// person returns the user that a subject stands for, or the anonymous user.
func person(s storage.Subject) storage.User {
	if s.Biz != storage.BizUser {
		return storage.User{}
	}
	return storage.User{Tenant: s.Tenant, UserID: s.BizID}
}

// Drop removes the actions and comments that name erased users. Reads of these users
// become reads of the anonymous users. Drop returns the dropped states as cleared, with the
// versions of the actions, so that they are no longer shown as queued.
func (e ErasedUsers) Drop(n *NewAndSkipped) (cleared []storage.StateChange) {
	if len(e) == 0 {
		return nil
	}
	var kept, dropped []storage.Action
	for _, a := range n.Actions {
		about := e[person(a.Subject)] || e[storage.User{Tenant: a.Subject.Tenant, UserID: a.Author}]
		switch {
		case a.Kind.AddsUp() && !about:
			if e[a.User] {
				a.User.UserID = ""
			}
			kept = append(kept, a)
		case !about && !e[a.User]:
			kept = append(kept, a)
		case !a.Kind.AddsUp() && a.Kind != storage.KindAuthor:
			dropped = append(dropped, a.Cleared())
		}
	}
	n.Actions = storage.Coalesce(kept)
	n.Comments = slices.DeleteFunc(slices.Clone(n.Comments), func(c storage.PastComment) bool {
		return e[c.User] || e[person(c.Subject)]
	})
	return storage.ChangesOf(storage.Coalesce(dropped))
}

// Refuse returns storage.ErrErased if one of the users was erased.
func (e ErasedUsers) Refuse(users ...storage.User) error {
	if slices.ContainsFunc(users, func(u storage.User) bool { return e[u] }) {
		return storage.ErrErased
	}
	return nil
}

// NewErasure returns a Sweep that clears what a user has done and what others have done to
// the user. Its store adds the user's states and comments to the candidates, and the
// user's works to Withdrawn, and then calls Unique.
func NewErasure(user storage.User, limit int, now int64) *Sweep {
	person := DeletedSubject{Subject: user.Subject(), Marked: true}
	return &Sweep{Limit: limit, Now: now, Subjects: []DeletedSubject{person}}
}

// Withdraw adds the declaration that a work of the user has no author.
func (s *Sweep) Withdraw(w storage.Work) {
	s.Withdrawn = append(s.Withdrawn, Withdraw(w.Subject, max(s.Now, w.Since+1)))
}

// Unique removes duplicates among the states: of a user who has liked the own page, for
// example. It returns the number of candidates.
func (s *Sweep) Unique() int {
	for _, list := range []*[]storage.StateKey{&s.Reactions, &s.Collections, &s.Follows} {
		slices.SortFunc(*list, CompareStateKeys)
		*list = slices.Compact(*list)
	}
	return len(s.Reactions) + len(s.Collections) + len(s.Follows) + len(s.Comments) + len(s.Withdrawn)
}

// Removed is a removed row of a state, as Outcome.Applied holds it.
func Removed(kind storage.Kind, user storage.User, subject storage.Subject) storage.StateChange {
	return storage.StateChange{Kind: kind, User: user, Subject: subject}
}

// RemovedReads returns the changes to the counts of a subject from which rows of reads
// are removed.
func RemovedReads(of storage.Subject, reads, readers int64) Tally {
	t := NewTally()
	counts := t.subject(of)
	counts.ReadCount, counts.ReaderCount = -reads, -readers
	return t
}

// RemovedMessages holds messages to remove from a conversation, the newest ones.
type RemovedMessages struct {
	Pair Pair
	// FromLow and FromHigh hold the numbers of the messages by their senders.
	FromLow, FromHigh []int64
}

// Scan adds a message: message_id and from_low.
func (r *RemovedMessages) Scan(scan func(...any) error) error {
	var id int64
	var fromLow bool
	err := scan(&id, &fromLow)
	if fromLow {
		r.FromLow = append(r.FromLow, id)
	} else {
		r.FromHigh = append(r.FromHigh, id)
	}
	return err
}

// Len is the number of messages.
func (r *RemovedMessages) Len() int { return len(r.FromLow) + len(r.FromHigh) }

// Received calls the function do for both users' conversations, in the order of their
// keys, with the numbers of the removed messages that the owner has received.
func (r *RemovedMessages) Received(do func(owner, peer storage.User, numbers []int64) error) error {
	if err := do(r.Pair.Low, r.Pair.High, r.FromHigh); err != nil {
		return err
	}
	return do(r.Pair.High, r.Pair.Low, r.FromLow)
}
