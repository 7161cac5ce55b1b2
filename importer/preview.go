package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"ovation/storage"
)

// Understood is a row as it is understood.
type Understood struct {
	Line      int
	Item      int    // in a JSON document: its position in the list, counted from 1
	User      string // empty if the user is anonymous
	Biz       string
	BizID     string
	Action    string // empty if the row is not imported
	At        time.Time
	Folder    string // of a collection: the name, or empty for the default folder
	Event     string // the value of the column of the event, if there is one
	NotAction string // why the row is not imported
	Counts    string // of a row of a table of counts, which has no user, action and time: read 7, like 1
}

// Preview reads src to its end and returns what Import would do, and the first most rows
// as they are understood. It writes nothing; Result.Imported counts the rows that Import
// would write if none of them were written before. Errors: those of Import.
func Preview(ctx context.Context, src *Source, o Options, most int) (Result, []Understood, error) {
	start := time.Now()
	defer context.AfterFunc(ctx, src.stop)()
	parser, err := prepare(src, &o)
	if err != nil {
		return Result{}, nil, err
	}
	var counts [actionEnd]int64
	parser.dry, parser.shown = &counts, make([]Understood, 0, most)
	for err == nil {
		if err = parser.next(); ctx.Err() != nil {
			err = ctx.Err()
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return parser.result(start, &counts), parser.shown, err
}

// prepare validates the options and returns a parser.
func prepare(src *Source, o *Options) (*parser, error) {
	if o.Tenant == "" {
		o.Tenant = storage.DefaultTenant
	}
	if err := storage.ValidateTenant(o.Tenant); err != nil {
		return nil, err
	}
	if err := o.Mapping.Validate(); err != nil {
		return nil, fmt.Errorf("mapping: %w", err)
	}
	return newParser(src, *o)
}

// result returns the result of what was read. done counts the rows by action.
func (p *parser) result(start time.Time, done *[actionEnd]int64) Result {
	skipped := p.skippedEvents()
	r := Result{
		Rows: p.read, Skipped: skipped, Bad: p.bad, BadRows: p.badRows, Anonymous: p.anonymous, Authorless: p.authorless,
		Remedies: p.suggestions(skipped), Elapsed: time.Since(start),
	}
	for a := actionRead; a < actionEnd; a++ {
		if done[a] > 0 {
			r.Imported = append(r.Imported, Done{a.String(), done[a]})
		}
	}
	return r
}

// show keeps one of the first rows for Preview. The action a is nil if the row has none.
func (p *parser) show(r *row, does action, a *storage.Action, in folder, not string) {
	if len(p.shown) == cap(p.shown) {
		return
	}
	at := p.rows.place()
	u := Understood{Line: at.line, Item: at.item, Event: strings.Clone(clip(r[colEvent])), NotAction: not}
	if a != nil {
		u.User, u.Biz, u.BizID = strings.Clone(named(a)), strings.Clone(a.Subject.Biz), strings.Clone(a.Subject.BizID)
		u.Action, u.At, u.Folder = does.String(), storage.Time(a.Version), strings.Clone(in.name)
	}
	p.shown = append(p.shown, u)
}
