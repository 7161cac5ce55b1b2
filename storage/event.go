package storage

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// EventType is a kind of change that an Event reports. The values are stored.
type EventType string

// The types of events. Unless stated otherwise, the user of an event is the user whose
// state has changed, and its subject is the subject of that state.
//
// Reactions: Before and After are LIKE, DISLIKE or empty. A like that replaces a dislike
// is one event, EventLiked.
//
// Collections: Before and After are ids of folders, or empty.
//
// Follows: Before and After are FOLLOWING or empty.
//
// Reads: the reads that one transaction persists are one event for each user and subject.
// Before and After are decimal numbers: how often the user, or anonymous users, had read
// the subject. A user who removes a subject from the read history makes an
// EventReadCleared: the Times reads still count, as reads of the anonymous users; Before
// is that number, and After is 0.
//
// Comments: the subject is what was commented on, the user is the author of the comment,
// and Object is the id of the comment. The text is not in the log.
//
// Videos: the subject is the video, and the user is its author.
//
// Authors of subjects: there is no user; Before and After are the ids of authors, or
// empty. The publication and the deletion of a video also change its author.
//
// Folders: the user is the owner, the subject is the owner as a subject, and Object is the
// id of the folder. Default folders are created without an event. Changes to a folder's
// items have events of their own.
const (
	EventLiked          EventType = "liked"
	EventUnliked        EventType = "unliked"
	EventDisliked       EventType = "disliked"
	EventUndisliked     EventType = "undisliked"
	EventCollected      EventType = "collected"
	EventUncollected    EventType = "uncollected"
	EventMoved          EventType = "moved"
	EventFollowed       EventType = "followed"
	EventUnfollowed     EventType = "unfollowed"
	EventRead           EventType = "read"
	EventReadCleared    EventType = "read_cleared"
	EventCommented      EventType = "commented"
	EventCommentEdited  EventType = "comment_edited"
	EventCommentDeleted EventType = "comment_deleted"
	EventVideoPublished EventType = "video_published"
	EventVideoDeleted   EventType = "video_deleted"
	EventAuthorChanged  EventType = "author_changed"
	EventFolderCreated  EventType = "folder_created"
	EventFolderUpdated  EventType = "folder_updated"
	EventFolderDeleted  EventType = "folder_deleted"
)

// Event is one effective change to the stored data. An action that changes nothing has no
// event. Direct messages and accounts have no events, because they are private.
type Event struct {
	// Position is the position in the log: 1 for the first event, and one more than the
	// position of the event before.
	Position int64
	Type     EventType
	Subject  Subject
	User     User // of the subject's tenant; without UserID for anonymous users
	// Before and After are the values before and after the change, as the type defines.
	Before, After string
	Object        string // the id of the comment or folder; otherwise empty
	Times         int64  // the number of reads; otherwise 0
	At            int64  // when the change was made, in microseconds since 1970
}

// EventStream describes a log of events.
type EventStream struct {
	// ID is a random id of 32 hexadecimal digits that is created with the tables.
	// Together with a position, it identifies an event; events of another log with the
	// same position are different events.
	ID string
	// First is the position of the oldest event that is kept, and Last is that of the
	// newest event. If no event is kept, First is Last+1.
	First, Last int64
}

// Check returns an error if no reader can continue after the given position: ErrEventsPruned
// if events after it were pruned, and ErrEventsAhead if the log does not reach it. The
// latter happens if the database was restored from a backup.
func (s EventStream) Check(after int64) error {
	switch {
	case after < s.First-1:
		return fmt.Errorf("%w: the oldest event that is kept has position %d, and position %d was asked for", ErrEventsPruned, s.First, after+1)
	case after > s.Last:
		return fmt.Errorf("%w: the newest event has position %d, and events after %d were asked for", ErrEventsAhead, s.Last, after)
	}
	return nil
}

// Errors of an EventLog.
var (
	// ErrEventsPruned means that events after the given position were pruned.
	ErrEventsPruned = errors.New("events were pruned")
	// ErrEventsAhead means that the log has not reached the given position.
	ErrEventsAhead = errors.New("the position is ahead of the log")
	// ErrDeadEventsFull means that a consumer has MaxDeadEvents dead events already.
	ErrDeadEventsFull = errors.New("there are too many dead events")
	// ErrLeaseLost means that another holder has taken the lease of a consumer.
	ErrLeaseLost = errors.New("the lease was lost")
)

// MaxEvents is the maximum number of events that one call of EventLog.Events returns.
const MaxEvents = 1000

// EventsQuery selects events.
type EventsQuery struct {
	After  int64  // a position; 0 is the beginning of the log
	Limit  int    // from 1 to MaxEvents; other values are MaxEvents
	Tenant string // if set, only events of this tenant
	Biz    string // if set, only events of subjects of this biz
}

// Selects reports whether an event passes the filters.
func (q *EventsQuery) Selects(e *Event) bool {
	return (q.Tenant == "" || e.Subject.Tenant == q.Tenant) && (q.Biz == "" || e.Subject.Biz == q.Biz)
}

// EventPage is a part of the log.
type EventPage struct {
	Stream string  // the id of the log
	Events []Event // in the order of their positions
	// Next is the position to continue after. It may be ahead of the last event, because
	// the filters can reject any number of events. If Next is the position that was given,
	// there are no more events at present.
	Next int64
}

// EventLease is the right to read the log for a consumer.
type EventLease struct {
	Consumer string
	Holder   string
	Position int64 // the position that was saved last; 0 if none was ever saved
}

// DeadEvent is an event that a consumer could not handle, and has set aside.
type DeadEvent struct {
	Consumer string
	Event    Event
	Reason   string
	At       int64 // when it was set aside, in microseconds since 1970
}

// MaxDeadEvents is the maximum number of dead events of one consumer.
const MaxDeadEvents = 10_000

// EventLog is the log of all changes to a database, in the order in which they became
// visible. It holds the events of transactions that were committed while events were
// switched on (the option Events of a store).
//
//   - The events of a transaction are committed with it, and are in the log at once or
//     after the next call of any method that returns positions.
//   - An event keeps its position, and no event is ever inserted before another. A reader
//     that continues after EventPage.Next therefore misses none.
//   - Events of one subject's states, and those of its comments, are in the order in which
//     the changes were committed. So Before of an event is After of the previous event of
//     the same user, subject and kind, provided that events were switched on all the time.
//
// A consumer that saves positions gets every event at least once. Consumers have names. A
// lease of a consumer lets one process at a time work for it; times are measured by the
// database's clock.
type EventLog interface {
	// EventStream describes the log.
	EventStream(ctx context.Context) (EventStream, error)
	// Events returns the next events. A call examines a bounded number of events, so a
	// page may be empty although more events follow. Errors: ErrEventsPruned,
	// ErrEventsAhead.
	Events(ctx context.Context, query EventsQuery) (EventPage, error)
	// LeaseEvents takes or extends the lease of a consumer, and returns it with the
	// position that was saved last. Errors: ErrLeaseLost if another holder has the lease;
	// it can be taken when it has expired.
	LeaseEvents(ctx context.Context, consumer, holder string, until time.Duration) (EventLease, error)
	// SaveEvents saves the position up to which the consumer has handled events, and with
	// it those that it has dead-lettered. Errors: ErrLeaseLost if the holder does not have
	// the lease any more; ErrDeadEventsFull if the consumer would have more than
	// MaxDeadEvents dead events. Nothing is saved then.
	SaveEvents(ctx context.Context, lease EventLease, position int64, dead ...DeadEvent) error
	// DeadEvents returns the dead events of a consumer, or of all if consumer is empty, in
	// the order in which they were dead-lettered, at most limit.
	DeadEvents(ctx context.Context, consumer string, limit int) ([]DeadEvent, error)
	// DropDeadEvent removes the dead event at a position from those of a consumer, or of
	// all if consumer is empty, and returns how many there were.
	DropDeadEvent(ctx context.Context, consumer string, position int64) (int64, error)
	// ReleaseEvents gives up a lease, so that another process can take it at once. It does
	// nothing if the lease was lost.
	ReleaseEvents(ctx context.Context, lease EventLease) error
	// PruneEvents removes events that have been in the log for longer than age, and
	// returns how many. Consumers do not hold it up. Dead events are removed with them.
	PruneEvents(ctx context.Context, age time.Duration) (int64, error)
}

// EventOptions switches on events in a store.
type EventOptions struct {
	// Log selects, by their tenant and biz, the subjects whose changes are logged. If it is
	// nil, nothing is logged. An existing log can be read nevertheless.
	Log func(tenant, biz string) bool
	// Keep is how long events are kept, from their commit; the default is EventsKeep. The
	// method Prune of a store also prunes events.
	Keep time.Duration
}

// EventsKeep is the default of EventOptions.Keep.
const EventsKeep = 7 * 24 * time.Hour
