package importer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"ovation/storage"
)

// parser turns rows into blocks.
type parser struct {
	rows        rowReader
	mapping     Mapping
	byEvent     map[string]action // the action of each event, or 0 if its rows are skipped
	fixed       action            // the action of every row; 0 if the event decides
	times       timeReader
	folderNames map[string]string // see Options
	tenant      string
	strict      bool
	bytesRead   func() int64
	stop        func() // interrupts a blocked read

	blocks [seriesCount]*blockBuilder // under construction
	ties   tieBreaker

	read       int64
	bad        int64
	badRows    []RowError
	skipped    map[Skipped]int64
	anonymous  int64         // actions whose user is a word such as NULL
	authorless int64         // declarations whose author is such a word
	counting   []countColumn // of a table of counts
	counted    []countsRow   // rows of such a table that are not compared yet
	shown      []Understood
	dry        *[actionEnd]int64 // if not nil, actions are counted here and not added to a block

	remedies  map[Suggestion]int64 // for each suggestion, the number of bad rows that it would fix
	ambiguous int64                // rows whose time fits several formats
}

// The streams into which a file is divided.
const (
	actionStream = iota
	commentStream
	seriesCount
)

func newParser(src *Source, o Options) (*parser, error) {
	times, err := newTimeReader(&o.Mapping)
	if err != nil {
		return nil, err
	}
	rows, err := newRowReader(src, &o.Mapping)
	if err != nil {
		return nil, err
	}
	p := &parser{
		rows: rows, mapping: o.Mapping, times: times, folderNames: o.FolderNames, tenant: o.Tenant, strict: o.Strict, bytesRead: src.read.Load, stop: src.stop,
		byEvent: make(map[string]action, len(o.Mapping.Events)), fixed: actionNames[o.Mapping.All],
		skipped: make(map[Skipped]int64), remedies: make(map[Suggestion]int64),
	}
	p.blocks[actionStream] = newBlockBuilder(o.Tenant, &stream{size: cmp.Or(o.block, blockActions)}, sha256.Sum256([]byte("ovation import 1")))
	p.blocks[commentStream] = newBlockBuilder(o.Tenant,
		&stream{comments: true, size: cmp.Or(o.block, blockComments), placeholder: o.Mapping.Placeholder}, sha256.Sum256([]byte("ovation import comments 1")))
	p.counting = countColumns(o.Mapping.Counts)
	for event, name := range o.Mapping.Events {
		p.byEvent[event] = actionNames[name] // 0 to skip
	}
	return p, nil
}

// run sends blocks until the end of the file, and then returns nil. If reading fails, run
// first sends everything that was read, and then returns the error.
func (p *parser) run(ctx context.Context, to chan<- block) error {
	for {
		full, readErr := p.fill()
		ready := []int{full}
		if readErr != nil {
			ready = []int{actionStream, commentStream} // both streams, with their incomplete blocks
		}
		for _, i := range ready {
			if i == commentStream && len(p.blocks[i].actions) == 0 {
				continue
			}
			select {
			case to <- p.take(i):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if errors.Is(readErr, io.EOF) {
			return nil
		}
		if readErr != nil {
			return readErr
		}
	}
}

// fill reads rows until a block is full or an error occurs. It returns the index of the
// stream whose block is full.
func (p *parser) fill() (full int, err error) {
	for {
		if err := p.next(); err != nil {
			return 0, err
		}
		for i, b := range p.blocks {
			if len(b.actions) == b.stream.size {
				return i, nil
			}
		}
	}
}

// take returns the block of stream i and starts the next block of that stream.
func (p *parser) take(i int) block {
	built := p.blocks[i]
	p.blocks[i] = newBlockBuilder(p.tenant, built.stream, built.chain)
	built.rows, built.bytes = p.read, p.bytesRead()
	for _, b := range p.blocks {
		built.rows -= int64(len(b.actions)) // rows of an incomplete block count when that block is taken
	}
	return built.finish()
}

// next reads a row and adds its action to a block. Skipped and bad rows add nothing.
func (p *parser) next() error {
	var r row
	err := p.rows.next(&r)
	if err == nil {
		p.read++
		if err = p.parse(&r); err == nil {
			return nil
		}
		at := p.rows.place()
		bad := RowError{Line: at.line, Item: at.item, Reason: err.Error()}
		if wrong, is := errors.AsType[*timeError](err); is {
			bad.Remedies = wrong.remedies
		}
		switch {
		case errors.Is(err, errNoText):
			bad.Remedies = []Suggestion{{"text", ""}}
		case errors.Is(err, errUnmapped):
			bad.Remedies = []Suggestion{{"events", clip(r[colEvent]) + "=" + commonEvents[plainName(r[colEvent])]}}
		}
		p.show(&r, 0, nil, folder{}, "bad: "+bad.Reason)
		return p.reject(bad)
	}
	if bad, is := errors.AsType[*RowError](err); is {
		p.read++
		p.show(&r, 0, nil, folder{}, "bad: "+bad.Reason)
		return p.reject(*bad)
	}
	return err
}

// reject records a bad row. In strict mode it also returns the row as an error.
func (p *parser) reject(bad RowError) error {
	p.bad++
	p.countSuggestions(bad.Remedies)
	if len(p.badRows) < maxBadRows {
		p.badRows = append(p.badRows, bad)
	}
	if p.strict {
		return &bad
	}
	return nil
}

func (p *parser) parse(r *row) error {
	if p.counting != nil {
		return p.parseCounts(r)
	}
	does := p.fixed
	if does == 0 {
		var mapped bool
		does, mapped = p.byEvent[r[colEvent]]
		if does == 0 && !mapped && p.mapping.Unmapped == reject {
			return p.inColumn(colEvent, r, errUnmapped)
		}
		if does == 0 {
			p.skip(r, mapped)
			return nil
		}
	}
	at, err := p.times.read(r[colTime], p.read, p.bad < maxGuesses)
	if err == nil && does == actionAuthor {
		err = notInFuture(at, time.Now())
	}
	if err != nil {
		return p.inColumn(colTime, r, err)
	}
	deleted, at, err := p.deletion(r[colDeleted], at)
	if err != nil {
		return p.inColumn(colDeleted, r, err)
	}
	if deleted {
		if does = undoes[does]; does == 0 {
			p.count(r, Skipped{Event: clip(r[colEvent]), Reason: "deleted"})
			return nil
		}
	}
	switch {
	case p.mapping.UserID != "":
		r[colUser] = p.mapping.UserID
	case r[colUser] != "" && isNothing(r[colUser]):
		r[colUser] = ""
		if does == actionAuthor {
			p.authorless++
		} else {
			p.anonymous++
		}
	}
	if r[colSubject] != "" && isNothing(r[colSubject]) {
		return p.inColumn(colSubject, r, errMissing)
	}
	biz := p.mapping.Biz
	if biz == "" {
		biz = r[colBiz]
	}
	var a storage.Action
	a.User = storage.User{Tenant: p.tenant, UserID: r[colUser]}
	a.Subject = storage.Subject{Tenant: p.tenant, Biz: biz, BizID: r[colSubject]}
	does.apply(&a, at)
	if does == actionComment {
		return p.comment(&a, r)
	}
	if err := a.Validate(); err != nil {
		return p.invalid(r, err)
	}
	var in folder
	if does == actionCollect {
		if in, err = p.folderOf(r); err != nil {
			return p.inColumn(colFolder, r, err)
		}
	}
	if p.dry != nil {
		p.dry[does]++
		p.show(r, does, &a, in, "")
		return nil
	}
	if !a.Kind.AddsUp() && a.Kind != storage.KindAuthor && p.times.fixed == 0 { // of declarations with the same time, the last in the file wins
		a.Version = p.ties.versionOf(&a)
	}
	p.blocks[actionStream].add(&a, does, in, "")
	return nil
}

// maxGuesses is the number of bad rows after which no remedies are looked for.
const maxGuesses = 1000

var (
	errMissing  = errors.New("stands for a missing value")
	errUnmapped = errors.New("is mapped to no action")
)

// columnError is an error about the value of a column.
type columnError struct {
	column, value string
	error
}

func (e *columnError) Error() string {
	if e.value == "" {
		return fmt.Sprintf("column %s: %v", quote(e.column), e.error)
	}
	return fmt.Sprintf("column %s, %s: %v", quote(e.column), quote(e.value), e.error)
}

func (e *columnError) Unwrap() error { return e.error }

// inColumn returns err with the name and the value of a column. An error about a time
// contains the value already.
func (p *parser) inColumn(column int, r *row, err error) error {
	name := columnsOf(&p.mapping)[column]
	if name == "" { // a value that the mapping gives for every row
		return err
	}
	if column == colTime || column == colText {
		return &columnError{name, "", err}
	}
	return &columnError{name, r[column], err}
}

// columnOf holds the columns of the fields that a storage.InvalidError names.
var columnOf = map[string]int{"bizId": colSubject, "userId": colUser, "author": colUser, "biz": colBiz, "text": colText}

// invalid returns an error about an action with the column that it concerns, if known.
func (p *parser) invalid(r *row, err error) error {
	if invalid, is := errors.AsType[*storage.InvalidError](err); is {
		if column, known := columnOf[invalid.Field]; known {
			return p.inColumn(column, r, err)
		}
	}
	return err
}

var errNoText = errors.New("a comment needs a text: name its column (text), or what stands for it (placeholder)")

// comment adds a comment to a block. If the text is empty, the mapping's placeholder is
// stored instead.
func (p *parser) comment(a *storage.Action, r *row) error {
	text := strings.TrimSpace(r[colText])
	if text == "" && p.mapping.Text == "" && p.mapping.Placeholder == "" {
		return errNoText
	}
	c := storage.PastComment{User: a.User, Subject: a.Subject, Text: cmp.Or(text, p.mapping.Placeholder), At: a.Version}
	c, err := c.Check()
	if err != nil {
		return p.invalid(r, err)
	}
	if p.dry != nil {
		p.dry[actionComment]++
		p.show(r, actionComment, a, folder{}, "")
		return nil
	}
	if text != "" {
		text = c.Text
	}
	p.blocks[commentStream].add(a, actionComment, folder{}, text)
	return nil
}

// named returns the user id in the row of an action.
func named(a *storage.Action) string {
	if a.Kind == storage.KindAuthor {
		return a.Author
	}
	return a.User.UserID
}

// notMapped is the reason for skipping a row whose event the mapping does not contain.
const notMapped = "not mapped to an action"

// skip counts a row that has no action. There is one count for each pair of an event and
// a reason. Once there are maxSkipped pairs, the rows of all further pairs are counted
// together.
func (p *parser) skip(r *row, mapped bool) {
	event := r[colEvent]
	if !mapped && p.read < maxGuesses { // the rows may be imported once the event is mapped
		if _, err := p.times.read(r[colTime], p.read, true); err != nil {
			if wrong, is := errors.AsType[*timeError](err); is {
				p.countSuggestions(wrong.remedies)
			}
		}
	}
	s := Skipped{Event: clip(event), Reason: notMapped}
	if mapped {
		s.Reason = "mapped to " + skip
	}
	p.count(r, s)
}

// count counts a skipped row.
func (p *parser) count(r *row, s Skipped) {
	if _, known := p.skipped[s]; !known {
		if len(p.skipped) >= maxSkipped {
			s = Skipped{Reason: notMapped + ", under further names"}
		}
		s.Event = strings.Clone(s.Event)
	}
	p.skipped[s]++
	p.show(r, 0, nil, folder{}, "skipped: "+s.Reason)
}

// tieBreaker assigns increasing versions, in the order of the file, to actions on the
// same state that have the same time. It remembers at least the latest rememberedTies
// keys, and at most about twice as many. If two actions on the same state that have the
// same time are further apart than that, the earlier row wins.
type tieBreaker struct {
	recent, older map[tieKey]int64 // the next free version of each key
}

const rememberedTies = 100_000

type tieKey struct {
	key  storage.StateKey
	kind storage.Kind
	at   int64
}

func (t *tieBreaker) versionOf(a *storage.Action) int64 {
	version := a.Version
	for next, taken := t.next(a, version); taken; next, taken = t.next(a, version) {
		version = next
	}
	if len(t.recent) >= rememberedTies || t.recent == nil {
		t.older, t.recent = t.recent, make(map[tieKey]int64)
	}
	kept := *a // a copy that does not keep the row in memory
	kept.User.UserID, kept.Subject.Biz, kept.Subject.BizID = strings.Clone(a.User.UserID), strings.Clone(a.Subject.Biz), strings.Clone(a.Subject.BizID)
	for _, at := range []int64{a.Version, version} {
		t.recent[tieKeyOf(&kept, at)] = version + 1
	}
	return version
}

func (t *tieBreaker) next(a *storage.Action, at int64) (next int64, taken bool) {
	key := tieKeyOf(a, at)
	if next, taken = t.recent[key]; !taken {
		next, taken = t.older[key]
	}
	return next, taken
}

func tieKeyOf(a *storage.Action, at int64) tieKey {
	return tieKey{storage.StateKey{User: a.User, Subject: a.Subject}, a.Kind, at}
}

// skippedEvents returns the skipped events, the most frequent first.
func (p *parser) skippedEvents() []Skipped {
	out := make([]Skipped, 0, len(p.skipped))
	if rows, is := p.rows.(*jsonReader); is {
		out = rows.further(out)
	}
	for s, rows := range p.skipped {
		s.Rows = rows
		out = append(out, s)
	}
	slices.SortFunc(out, compareSkipped)
	return out
}
