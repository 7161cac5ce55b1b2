package storage

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind tells the three things that are remembered of one user on one subject.
type Kind uint8

// The kinds of state. Each is written and versioned on its own.
const (
	KindReaction   Kind = iota + 1 // like, dislike or none
	KindCollection                 // a folder or none
	KindRead                       // how often, first and last
)

// Kinds is a set of Kind.
type Kinds uint8

// AllKinds holds every kind.
const AllKinds = Kinds(1<<KindReaction | 1<<KindCollection | 1<<KindRead)

// KindsOf makes a set.
func KindsOf(kinds ...Kind) Kinds {
	var set Kinds
	for _, k := range kinds {
		set |= 1 << k
	}
	return set
}

// Has reports whether k is in the set.
func (s Kinds) Has(k Kind) bool { return s&(1<<k) != 0 }

// Reaction is what a user thinks of a subject. The numbers are stored.
type Reaction uint8

// The reactions.
const (
	NoReaction Reaction = 0
	Like       Reaction = 1
	Dislike    Reaction = 2
)

// Durability says where an acknowledged action is.
type Durability string

// The two places. Both survive the death of any one process.
const (
	Queued    Durability = "QUEUED"    // confirmed by the broker
	Persisted Durability = "PERSISTED" // in the database
)

// Action is one thing a user did to one subject. Version orders the actions
// on one state (the Kind of one user on one subject): the state is what they
// make of it in that order, whatever the order in which they arrive (see
// Register). It is also the time of the action, in microseconds since 1970, UTC.
//
// Reads add up instead: Times of them happened from First to Version. They
// have no order, and anonymous ones (no UserID) are remembered together.
type Action struct {
	User     User
	Subject  Subject // of the same tenant as User
	Kind     Kind
	Reaction Reaction // KindReaction: the new one, NoReaction clears it
	// If makes a clear conditional (KindReaction with NoReaction): it removes
	// this reaction and no other. NoReaction: the clear is unconditional.
	If       Reaction
	FolderID string // KindCollection: the new one, empty uncollects
	Times    int64  // KindRead: how many reads, at least 1
	First    int64  // KindRead: the time of the first of them
	Version  int64
}

// Validate returns an *InvalidError that says what no store could persist.
func (a Action) Validate() error {
	if err := a.User.Validate(); err != nil {
		return err
	}
	if err := a.Subject.Validate(); err != nil {
		return err
	}
	switch {
	case a.User.Tenant != a.Subject.Tenant:
		return &InvalidError{Field: "tenant", Reason: "must be the same for user and subject"}
	case a.Version <= 0:
		return &InvalidError{Field: "version", Reason: "must be above 0"}
	case a.User.Anonymous() && a.Kind != KindRead:
		return &InvalidError{Field: "userId", Reason: "must not be empty: anonymous visitors only read"}
	}
	if a.Kind != KindReaction && (a.Reaction != NoReaction || a.If != NoReaction) ||
		a.Kind != KindCollection && a.FolderID != "" ||
		a.Kind != KindRead && (a.Times != 0 || a.First != 0) {
		return &InvalidError{Field: "kind", Reason: "must be the one that reaction, folderId, times and first belong to"}
	}
	switch a.Kind {
	case KindReaction:
		if a.Reaction > Dislike {
			return &InvalidError{Field: "reaction", Reason: fmt.Sprintf("has no value %d", a.Reaction)}
		}
		if a.If > Dislike || a.If != NoReaction && a.Reaction != NoReaction {
			return &InvalidError{Field: "if", Reason: "must be a like or a dislike, and only of a clear"}
		}
	case KindCollection:
		if len(a.FolderID) > MaxFolderIDBytes {
			return &InvalidError{Field: "folderId", Reason: "is too long"}
		}
	case KindRead:
		if a.Times < 1 || a.First <= 0 || a.First > a.Version {
			return &InvalidError{Field: "times", Reason: "must be at least 1, from first to version"}
		}
	default:
		return &InvalidError{Field: "kind", Reason: fmt.Sprintf("has no value %d", a.Kind)}
	}
	return nil
}

// StateKey is what one user may have done to one subject.
type StateKey struct {
	User    User
	Subject Subject
}

// Message is a group of actions that is queued and persisted as one. ID makes
// it unique: a store that has persisted a message skips every other of its ID.
type Message struct {
	ID      string // 1 to 64 printable characters of ASCII
	Actions []Action
	// Forever keeps the ID from ever being forgotten. Without it an ID is
	// remembered for InboxAge.
	Forever bool
	// Published is when the message was first put into a queue, in microseconds
	// since 1970; 0 where its age does not matter (see Outcome.Expired).
	Published int64
	// Barrier makes the message a barrier instead, without actions.
	Barrier Barrier
}

// Barrier is a mark in one partition of a queue. A store that persists it
// records that the partition has passed Number, if it is the latest: every message
// that was queued there before is persisted or rejected. The zero Barrier is none.
type Barrier struct {
	Number     int64 // see Epochs.RaiseBarrier
	Partition  int   // from 0 to Partitions-1
	Partitions int
}

// InboxAge is how long a store remembers the ids of messages that it has
// persisted.
const InboxAge = 7 * 24 * time.Hour

// MaxMessageAge is how long after its publication a message with reads is
// persisted. The hour less than InboxAge is for clocks that differ.
const MaxMessageAge = InboxAge - time.Hour

// MayExpire reports whether a store has to look at the age of the message: its
// ID may have been forgotten since it was persisted, and its reads would then
// count again. All other actions are told by their version. now may be off by
// days.
func (m Message) MayExpire(now time.Time) bool {
	return m.Published > 0 && !m.Forever && now.Sub(Time(m.Published)) > MaxMessageAge/2 &&
		slices.ContainsFunc(m.Actions, func(a Action) bool { return a.Kind == KindRead })
}

// Without returns the messages but those of the ids.
func Without(messages []Message, ids []string) []Message {
	left := make(map[string]bool, len(ids))
	for _, id := range ids {
		left[id] = true
	}
	return slices.DeleteFunc(slices.Clone(messages), func(m Message) bool { return left[m.ID] })
}

// MaxMessageIDBytes bounds the id of a message.
const MaxMessageIDBytes = 64

// Validate returns an *InvalidError that says what no store could persist of
// the message or of one of its actions.
func (m Message) Validate() error {
	unfit := func(r rune) bool { return r <= ' ' || r > '~' }
	if m.ID == "" || len(m.ID) > MaxMessageIDBytes || strings.ContainsFunc(m.ID, unfit) {
		return &InvalidError{Field: "message id", Reason: fmt.Sprintf(
			"must be 1 to %d printable characters of ASCII without a space", MaxMessageIDBytes)}
	}
	if b := m.Barrier; b != (Barrier{}) && (b.Number < 1 || b.Partition < 0 || b.Partition >= b.Partitions || len(m.Actions) > 0) {
		return &InvalidError{Field: "barrier", Reason: "must have a number, one of its partitions and no actions"}
	}
	for _, a := range m.Actions {
		if err := a.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// SplitBarriers returns the messages that are barriers, and the others. It does
// not change the argument, and allocates only if there are any.
func SplitBarriers(messages []Message) (barriers []Barrier, others []Message) {
	isBarrier := func(m Message) bool { return m.Barrier != (Barrier{}) }
	if !slices.ContainsFunc(messages, isBarrier) {
		return nil, messages
	}
	for _, m := range messages {
		if isBarrier(m) {
			barriers = append(barriers, m.Barrier)
		}
	}
	return barriers, slices.DeleteFunc(slices.Clone(messages), isBarrier)
}

// Micros is t as a version: microseconds since 1970.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// Time is a version as a time, in UTC.
func Time(version int64) time.Time { return time.UnixMicro(version).UTC() }
