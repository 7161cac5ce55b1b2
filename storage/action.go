package storage

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind is a kind of state. A state belongs to one user and one subject, except that a
// state of KindAuthor belongs to a subject alone.
type Kind uint8

// The kinds of state. States of different kinds are written and versioned independently.
// The numbers are stored in queues.
const (
	KindReaction   Kind = iota + 1 // like, dislike or none
	KindCollection                 // a folder or none
	KindRead                       // how often, and when first and last
	KindFollow                     // following or none
	KindAuthor                     // the author of a subject, or none; never queued
)

// AddsUp reports whether every action of the kind counts, in any order. Only KindRead
// adds up. Actions of all other kinds set a state: the latest action wins, and a repeated
// action changes nothing. A kind that adds up has no StateChange, no lock in the recorder
// and no entry in the mirror. Only the id of the message keeps the actions in it from
// being counted twice.
func (k Kind) AddsUp() bool { return k == KindRead }

// Kinds is a set of Kind.
type Kinds uint8

// AllKinds is the set of all kinds of state that belong to a user.
const AllKinds = Kinds(1<<KindReaction | 1<<KindCollection | 1<<KindRead | 1<<KindFollow)

// KindsOf returns the set of the given kinds.
func KindsOf(kinds ...Kind) Kinds {
	var set Kinds
	for _, k := range kinds {
		set |= 1 << k
	}
	return set
}

// Has reports whether k is in the set.
func (s Kinds) Has(k Kind) bool { return s&(1<<k) != 0 }

// Reaction is a like, a dislike or none. The numbers are stored.
type Reaction uint8

// The reactions.
const (
	NoReaction Reaction = 0
	Like       Reaction = 1
	Dislike    Reaction = 2
)

// Durability is where an acknowledged action is stored.
type Durability string

// The values of Durability. With either value, an action survives the failure of any
// single process.
const (
	Queued    Durability = "QUEUED"    // confirmed by the broker
	Persisted Durability = "PERSISTED" // in the database
)

// Action is one action by a user on a subject. Version is the time of the action, in
// microseconds since 1970, UTC. It also orders the actions on one state (one Kind of one
// user on one subject): the state is the result of these actions in the order of their
// versions, regardless of the order in which they arrive (see Register).
//
// An Action of a kind that adds up (Kind.AddsUp) stands for Times actions that were made
// from First to Version. Their order does not matter. The actions of all anonymous users
// (no UserID) on a subject are stored together.
//
// A declaration (KindAuthor) has no user; it sets the author of the subject as of
// Version. The declaration with the highest version wins; if several have that version,
// the one that was persisted last wins.
type Action struct {
	User     User
	Subject  Subject // of the same tenant as User
	Kind     Kind
	Reaction Reaction // KindReaction: the new reaction; NoReaction clears it
	// If is the condition of a clear (KindReaction with Reaction NoReaction): the clear
	// removes this reaction and no other. The value NoReaction means that the clear is
	// unconditional.
	If        Reaction
	FolderID  string // KindCollection: the new folder, or empty to uncollect
	Times     int64  // for a kind that adds up: the number of actions, at least 1
	First     int64  // for a kind that adds up: the time of the first action
	Following bool   // KindFollow: whether the user follows the subject from now on
	Author    string // KindAuthor: the id of the author, or empty if there is none
	Version   int64
}

// Validate returns an *InvalidError if no store could persist the action.
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
	case a.User.Anonymous() && a.Kind != KindRead && a.Kind != KindAuthor:
		return &InvalidError{Field: "userId", Reason: "must not be empty: anonymous visitors only read"}
	}
	if a.Kind != KindReaction && (a.Reaction != NoReaction || a.If != NoReaction) ||
		a.Kind != KindCollection && a.FolderID != "" ||
		!a.Kind.AddsUp() && (a.Times != 0 || a.First != 0) ||
		a.Kind != KindFollow && a.Following ||
		a.Kind != KindAuthor && a.Author != "" {
		return &InvalidError{Field: "kind", Reason: "must be the one that reaction, folderId, times, first, following and author belong to"}
	}
	return a.validateKind()
}

// validateKind checks the fields that belong to the action's kind.
func (a Action) validateKind() error {
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
	case KindFollow:
		if a.Following && a.Subject == a.User.Subject() {
			return &InvalidError{Field: "bizId", Reason: "must not be the user's own: users cannot follow themselves"}
		}
	case KindAuthor:
		if !a.User.Anonymous() {
			return &InvalidError{Field: "userId", Reason: "must be empty: a declaration is of no user"}
		}
		if a.Author != "" {
			return validateID("author", a.Author)
		}
	default:
		return &InvalidError{Field: "kind", Reason: fmt.Sprintf("has no value %d", a.Kind)}
	}
	return nil
}

// StateKey identifies the states of one user on one subject. There may be none.
type StateKey struct {
	User    User
	Subject Subject
}

// Message is a group of actions that is queued and persisted as a unit. A store that has
// persisted a message skips any further message with the same ID.
type Message struct {
	ID      string // 1 to 64 printable characters of ASCII
	Actions []Action
	// Comments are added with the actions. They are imported and never queued.
	Comments []PastComment
	// Forever keeps the ID in the inbox forever. Otherwise, the ID is kept for InboxAge.
	Forever bool
	// Published is when the message was first put into a queue, in microseconds since
	// 1970, or 0 if the age of the message does not matter (see Outcome.Expired).
	Published int64
	// If Barrier is set, the message is a barrier and has no actions. Only a
	// mirror.Database records barriers; any other store treats the message as empty.
	Barrier Barrier
	// If Cover is set, the message is a job that creates the cover of this video, and has
	// no actions. A store treats the message as empty.
	Cover VideoKey
	// Forced is set on a message that an operator has replayed. A cover is then tried
	// although it is dead-lettered.
	Forced bool
	// RefuseDeleted makes Persist return a *DeletedError, and persist nothing, if an
	// action declares an author of a deleted subject. Such messages are never queued.
	RefuseDeleted bool
	// Request, if set, is recorded with the message, and Outcome.Changed is set. The
	// message must be the only one in its call of Persist. Such messages are queued without
	// their Request.
	Request ActionRequest
}

// Barrier is a marker in one partition of a queue. Once it is persisted, every message
// that was queued before it in the partition has been persisted or rejected. The zero
// Barrier means that there is none.
type Barrier struct {
	Number     int64 // see mirror.Epochs.RaiseBarrier
	Partition  int   // from 0 to Partitions-1
	Partitions int
}

// InboxAge is how long a store keeps the ids of messages that it has persisted.
const InboxAge = 7 * 24 * time.Hour

// MaxMessageAge is the age, counted from Message.Published, up to which a message with
// actions that add up is still persisted. It is an hour less than InboxAge to allow for
// clock skew.
const MaxMessageAge = InboxAge - time.Hour

// MayExpire reports whether a store has to check the age of the message. The age matters
// because actions that add up would count again if the ID was pruned after the message
// was persisted. Other actions are idempotent by their versions. The given time may be
// off by days.
func (m Message) MayExpire(now time.Time) bool {
	return m.Published > 0 && !m.Forever && now.Sub(Time(m.Published)) > MaxMessageAge/2 &&
		slices.ContainsFunc(m.Actions, func(a Action) bool { return a.Kind.AddsUp() })
}

// Without returns the messages except those with the given ids.
func Without(messages []Message, ids []string) []Message {
	left := make(map[string]bool, len(ids))
	for _, id := range ids {
		left[id] = true
	}
	return slices.DeleteFunc(slices.Clone(messages), func(m Message) bool { return left[m.ID] })
}

// MaxMessageIDBytes is the maximum length of the id of a message.
const MaxMessageIDBytes = 64

// Validate returns an *InvalidError if no store could persist the message, one of its
// actions or one of its comments.
func (m Message) Validate() error {
	unfit := func(r rune) bool { return r <= ' ' || r > '~' }
	if m.ID == "" || len(m.ID) > MaxMessageIDBytes || strings.ContainsFunc(m.ID, unfit) {
		return &InvalidError{Field: "message id", Reason: fmt.Sprintf(
			"must be 1 to %d printable characters of ASCII without a space", MaxMessageIDBytes)}
	}
	if b := m.Barrier; b != (Barrier{}) && (b.Number < 1 || b.Partition < 0 || b.Partition >= b.Partitions || len(m.Actions)+len(m.Comments) > 0) {
		return &InvalidError{Field: "barrier", Reason: "must have a number, one of its partitions and neither actions nor comments"}
	}
	if m.Cover != (VideoKey{}) {
		if len(m.Actions)+len(m.Comments) > 0 || m.Barrier != (Barrier{}) {
			return &InvalidError{Field: "cover", Reason: "must be the only thing in its message"}
		}
		if err := m.Cover.Validate(); err != nil {
			return err
		}
	}
	if m.Request != (ActionRequest{}) {
		if err := m.Request.Validate(); err != nil {
			return err
		}
	}
	for _, a := range m.Actions {
		if err := a.Validate(); err != nil {
			return err
		}
	}
	for i := range m.Comments {
		if _, err := m.Comments[i].Check(); err != nil {
			return err
		}
	}
	return nil
}

// Micros returns t as a version: microseconds since 1970.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// Time returns a version as a time, in UTC.
func Time(version int64) time.Time { return time.UnixMicro(version).UTC() }
