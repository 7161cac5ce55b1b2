package sqlstore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"ovation/storage"
)

// maxBatchEvents is the maximum number of events in an EventBatch.
const maxBatchEvents = 200

// EventBatch is a row of the log: consecutive events of one transaction.
type EventBatch struct {
	Count int64
	Data  string // a JSON array of arrays (see eventRow)
}

// Events collects the events of a transaction. The methods that add events may be called
// on a nil *Events, which collects nothing.
type Events struct {
	log     func(tenant, biz string) bool
	batches []EventBatch
	buf     []byte // the events of the current batch
	count   int64
}

// NewEvents returns an empty collection, or nil if the function log is nil.
func NewEvents(log func(tenant, biz string) bool) *Events {
	if log == nil {
		return nil
	}
	return &Events{log: log}
}

// Take returns the collected events, and empties the collection.
func (e *Events) Take() []EventBatch {
	if e == nil {
		return nil
	}
	e.cut()
	out := e.batches
	e.batches = nil
	return out
}

// cut ends the current batch.
func (e *Events) cut() {
	if e.count == 0 {
		return
	}
	e.batches = append(e.batches, EventBatch{Count: e.count, Data: string(append(e.buf, ']'))})
	e.buf, e.count = e.buf[:0], 0
}

// Add adds an event.
func (e *Events) Add(of *storage.Event) {
	if e == nil || !e.log(of.Subject.Tenant, of.Subject.Biz) {
		return
	}
	b := e.buf
	if e.count == 0 {
		b = append(b, '[')
	} else {
		b = append(b, ',')
	}
	b = append(b, '[')
	for _, text := range [...]string{string(of.Type), of.Subject.Tenant, of.Subject.Biz, of.Subject.BizID, of.User.UserID, of.Before, of.After, of.Object} {
		b = append(AppendText(b, text), ',')
	}
	b = append(strconv.AppendInt(b, of.Times, 10), ',')
	e.buf = append(strconv.AppendInt(b, of.At, 10), ']')
	if e.count++; e.count == maxBatchEvents {
		e.cut()
	}
}

// States adds the changes to states. The parameter at is the time of the changes, in
// microseconds since 1970, or 0 if it is the version of each.
func (e *Events) States(changes []storage.StateChange, at int64) {
	if e == nil {
		return
	}
	for i := range changes {
		c := &changes[i]
		of := storage.Event{Subject: c.Subject, User: c.User, At: cmp.Or(at, c.Version)}
		switch c.Kind {
		case storage.KindReaction:
			of.Type, of.Before, of.After = reactionEvent(c), reactionName(c.OldReaction), reactionName(c.Reaction)
		case storage.KindCollection:
			of.Type, of.Before, of.After = collectionEvent(c), c.OldFolderID, c.FolderID
		case storage.KindFollow:
			of.Type, of.Before, of.After = storage.EventUnfollowed, followName(c.OldFollowing), followName(c.Following)
			if c.Following {
				of.Type = storage.EventFollowed
			}
		default:
		}
		if of.Before != of.After {
			e.Add(&of)
		}
	}
}

func reactionEvent(c *storage.StateChange) storage.EventType {
	switch {
	case c.Reaction == storage.Like:
		return storage.EventLiked
	case c.Reaction == storage.Dislike:
		return storage.EventDisliked
	case c.OldReaction == storage.Dislike:
		return storage.EventUndisliked
	}
	return storage.EventUnliked
}

func collectionEvent(c *storage.StateChange) storage.EventType {
	switch {
	case c.FolderID == "":
		return storage.EventUncollected
	case c.OldFolderID == "":
		return storage.EventCollected
	}
	return storage.EventMoved
}

func reactionName(r storage.Reaction) string {
	switch r {
	case storage.Like:
		return "LIKE"
	case storage.Dislike:
		return "DISLIKE"
	case storage.NoReaction:
	}
	return ""
}

func followName(following bool) string {
	if following {
		return "FOLLOWING"
	}
	return ""
}

// read adds reads, given how many are stored now.
func (e *Events) read(a *storage.Action, stored int64) {
	if e == nil {
		return
	}
	e.Add(&storage.Event{
		Type: storage.EventRead, Subject: a.Subject, User: a.User, Times: a.Times, At: a.Version,
		Before: strconv.FormatInt(stored-a.Times, 10), After: strconv.FormatInt(stored, 10),
	})
}

// Cleared adds the rows that a user removes from the read history.
func (e *Events) Cleared(of *ClearedReads, at int64) {
	if e == nil {
		return
	}
	for i := range of.Rows {
		r := &of.Rows[i]
		e.Add(&storage.Event{
			Type: storage.EventReadCleared, Subject: r.Subject, User: r.User, Times: r.Times, At: at,
			Before: strconv.FormatInt(r.Times, 10), After: "0",
		})
	}
}

// Declared adds those declarations that change an author, given the rows before them.
func (e *Events) Declared(changed []storage.Action, rows map[storage.Subject]Authored) {
	if e == nil {
		return
	}
	for i := range changed {
		a := &changed[i]
		if before := rows[a.Subject].AuthorID; before != a.Author {
			e.Add(&storage.Event{
				Type: storage.EventAuthorChanged, Subject: a.Subject, User: storage.User{Tenant: a.Subject.Tenant},
				Before: before, After: a.Author, At: a.Version,
			})
		}
	}
}

// Comments adds events about comments that have an author, at the given time or, if that
// is 0, at the time when each was written.
func (e *Events) Comments(is storage.EventType, comments []*storage.Comment, at int64) {
	if e == nil {
		return
	}
	for _, c := range comments {
		e.Add(&storage.Event{Type: is, Subject: c.Subject, User: c.User, Object: c.CommentID(), At: cmp.Or(at, c.Created)})
	}
}

// CommentChange adds an event about a comment that was edited or deleted.
func (e *Events) CommentChange(before, after *storage.Comment) {
	if after.Deleted() {
		e.Comments(storage.EventCommentDeleted, []*storage.Comment{before}, after.DeletedAt)
	} else {
		e.Comments(storage.EventCommentEdited, []*storage.Comment{before}, after.Edited)
	}
}

// Video adds an event about a video.
func (e *Events) Video(is storage.EventType, v *storage.Video, at int64) {
	if e != nil {
		e.Add(&storage.Event{Type: is, Subject: v.Key().Subject(), User: v.Author, At: at})
	}
}

// Folder adds an event about a folder.
func (e *Events) Folder(is storage.EventType, key storage.FolderKey, at int64) {
	if e != nil {
		e.Add(&storage.Event{Type: is, Subject: key.Owner.Subject(), User: key.Owner, Object: key.FolderID, At: at})
	}
}

// EventsPage collects one page of events from the rows of the log.
type EventsPage struct {
	query storage.EventsQuery
	page  storage.EventPage
}

// NewEventsPage returns an empty page.
func NewEventsPage(query storage.EventsQuery) *EventsPage {
	if query.Limit < 1 || query.Limit > storage.MaxEvents {
		query.Limit = storage.MaxEvents
	}
	return &EventsPage{query: query, page: storage.EventPage{Next: query.After}}
}

// Limit is the maximum number of events on the page. A store reads rows until they hold
// that many events.
func (p *EventsPage) Limit() int { return p.query.Limit }

func (p *EventsPage) full() bool { return len(p.page.Events) == p.query.Limit }

// Row adds the events of a row that follow the query's position, until the page is full.
// The parameter last is the position of the row's last event.
func (p *EventsPage) Row(last int64, data []byte) error {
	var rows []eventRow
	if err := json.Unmarshal(data, &rows); err != nil {
		return fmt.Errorf("the row of events up to %d: %w", last, err)
	}
	for i := range rows {
		position := last - int64(len(rows)-1-i)
		if position <= p.page.Next || p.full() {
			continue // the row may begin before the page, or end after it
		}
		p.page.Next = position
		e := storage.Event(rows[i])
		if e.Position = position; p.query.Selects(&e) {
			p.page.Events = append(p.page.Events, e)
		}
	}
	return nil
}

// Page returns the page of a log, or the error of its method Check.
func (p *EventsPage) Page(stream storage.EventStream) (storage.EventPage, error) {
	if err := stream.Check(p.query.After); err != nil {
		return storage.EventPage{}, err
	}
	p.page.Stream = stream.ID
	return p.page, nil
}

// EncodeEvent returns an event, without its position, as the data of a row.
func EncodeEvent(e *storage.Event) string {
	one := NewEvents(func(string, string) bool { return true })
	one.Add(e)
	return one.Take()[0].Data
}

// DecodeEvent returns the event that EncodeEvent has encoded, at the given position.
func DecodeEvent(position int64, data string) (storage.Event, error) {
	p := NewEventsPage(storage.EventsQuery{After: position - 1})
	if err := p.Row(position, []byte(data)); err != nil || len(p.page.Events) != 1 {
		return storage.Event{}, cmp.Or(err, fmt.Errorf("the dead event %d is malformed: %q", position, data))
	}
	return p.page.Events[0], nil
}

// eventRow is an event without its position, as stored: type, tenant, biz, bizId, userId,
// before, after, object, times and at.
type eventRow storage.Event

// UnmarshalJSON implements json.Unmarshaler. A longer array is of a later release and is
// accepted.
func (r *eventRow) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &[]any{
		&r.Type, &r.Subject.Tenant, &r.Subject.Biz, &r.Subject.BizID, &r.User.UserID, &r.Before, &r.After, &r.Object, &r.Times, &r.At,
	}); err != nil {
		return err
	}
	r.User.Tenant = r.Subject.Tenant
	return nil
}

// ValidateConsumer checks the name of a consumer and that of a holder.
func ValidateConsumer(consumer, holder string, until time.Duration) error {
	const limit = 200
	switch {
	case consumer == "" || len(consumer) > limit:
		return &storage.InvalidError{Field: "consumer", Reason: fmt.Sprintf("must be 1 to %d bytes long", limit)}
	case holder == "" || len(holder) > limit:
		return &storage.InvalidError{Field: "holder", Reason: fmt.Sprintf("must be 1 to %d bytes long", limit)}
	case until <= 0:
		return &storage.InvalidError{Field: "until", Reason: "must be above 0"}
	}
	return nil
}
