package importer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"ovation/storage"
)

// countNames holds the counts that a table may have. Apart from reads, each counts states.
var countNames = [countsPerRow]string{"read", "like", "dislike", "collect", "follow"}

const countsPerRow = 5

// maxCount is the highest count that a table may have: the highest whole number that every
// reader of JSON can represent.
const maxCount = 1<<53 - 1

// CountsStore is the part of a store that ImportCounts needs.
type CountsStore interface {
	storage.Persister
	Interactives(ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds) ([]storage.Interactive, error)
}

// Compared compares one count of a table with the store.
type Compared struct {
	Count string // read, like, dislike, collect or follow
	// Rows in which the count of the store is the table's, lower, or higher. Reads are
	// compared after the missing ones were added.
	Equal, Lower, Higher int64
	Table, Store         int64 // the counts of all rows, summed
	Added                int64 // reads that were added
}

// Difference is a count that is not the store's.
type Difference struct {
	Line, Item   int // as of a RowError
	Biz, BizID   string
	Count        string
	Table, Store int64
}

// countColumn is a count that the table has.
type countColumn struct {
	name   string
	column int // of a row
}

// countsRow is a row of a table of counts.
type countsRow struct {
	place   rowPlace
	subject storage.Subject
	at      int64
	counts  [countsPerRow]int64 // in the order of Mapping.Counts' columns
}

func countColumns(counts map[string]string) (out []countColumn) {
	for i, name := range countNames {
		if counts[name] != "" {
			out = append(out, countColumn{name, colCount + i})
		}
	}
	return out
}

func (m Mapping) validateCounts() error {
	for _, name := range slices.Sorted(maps.Keys(m.Counts)) {
		if !slices.Contains(countNames[:], name) {
			return fmt.Errorf("counts has the member %q, which is not one of %s", name, strings.Join(countNames[:], ", "))
		}
		if m.Counts[name] == "" {
			return fmt.Errorf("counts must name a column for %q", name)
		}
	}
	switch {
	case m.User != "" || m.UserID != "" || m.All != "" || m.Event != "" || m.Deleted != "" || m.Text != "" || m.Folder != "":
		return errors.New("a table of counts has no columns of users, events, deletions, texts and folders")
	case m.Counts["read"] != "" && m.Time == "" && m.At == "":
		return errors.New("time must name a column, for the time of the reads")
	}
	return nil
}

// ImportCounts reads src, a table of counts (Mapping.Counts), to its end. Counts of states
// come from states alone: those of the table are compared with the store and never
// written. Reads need no user: if the store counts fewer than the table, the missing ones
// are added as reads of anonymous users, at the time of the row. Therefore importing a
// table again, or a later version of it, adds what is missing and nothing else.
//
// The rows are handled 1,000 at a time. Errors: those of Import.
func ImportCounts(ctx context.Context, to CountsStore, src *Source, o Options) (Result, error) {
	start := time.Now()
	defer context.AfterFunc(ctx, src.stop)()
	p, err := prepare(src, &o)
	if err != nil {
		return Result{}, err
	}
	c := &comparer{to: to, tenant: o.Tenant, columns: p.counting, compared: make([]Compared, len(p.counting))}
	for i, column := range p.counting {
		c.compared[i].Count = column.name
	}
	const most = 1000
	for err == nil {
		if err = p.next(); ctx.Err() != nil {
			err = ctx.Err()
		}
		if len(p.counted) < most && (err == nil || ctx.Err() != nil) {
			continue
		}
		if failed := c.compare(ctx, p.counted); failed != nil {
			err = failed
			break
		}
		p.counted = p.counted[:0]
		if o.Progress != nil {
			o.Progress(Progress{p.read, p.bytesRead()})
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	result := p.result(start, &[actionEnd]int64{})
	result.Compared, result.Differences = c.compared, c.differences
	return result, err
}

// parseCounts adds a row of a table of counts to p.counted.
func (p *parser) parseCounts(r *row) error {
	out := countsRow{place: p.rows.place()}
	biz := p.mapping.Biz
	if biz == "" {
		biz = r[colBiz]
	}
	out.subject = storage.Subject{Tenant: p.tenant, Biz: strings.Clone(biz), BizID: strings.Clone(r[colSubject])}
	if r[colSubject] != "" && isNothing(r[colSubject]) {
		return p.inColumn(colSubject, r, errMissing)
	}
	if err := out.subject.Validate(); err != nil {
		return p.invalid(r, err)
	}
	if p.mapping.Counts["read"] != "" {
		var err error
		if out.at, err = p.times.read(r[colTime], p.read, p.bad < maxGuesses); err != nil {
			return p.inColumn(colTime, r, err)
		}
	}
	for i, c := range p.counting {
		if isNothing(r[c.column]) {
			continue
		}
		n, exact, err := scaled(r[c.column], 0)
		if err != nil || !exact || n < 0 || n > maxCount {
			return p.inColumn(c.column, r, fmt.Errorf("is not a count from 0 to %d", int64(maxCount)))
		}
		out.counts[i] = n
	}
	if p.dry != nil {
		p.showCounts(&out)
		return nil
	}
	p.counted = append(p.counted, out)
	return nil
}

// showCounts keeps one of the first rows for Preview.
func (p *parser) showCounts(r *countsRow) {
	if len(p.shown) == cap(p.shown) {
		return
	}
	counts := make([]string, len(p.counting))
	for i, c := range p.counting {
		counts[i] = fmt.Sprintf("%s %d", c.name, r.counts[i])
	}
	p.shown = append(p.shown, Understood{Line: r.place.line, Item: r.place.item, Biz: r.subject.Biz, BizID: r.subject.BizID, Counts: strings.Join(counts, ", ")})
}

// comparer compares rows of a table of counts with a store.
type comparer struct {
	to          CountsStore
	tenant      string
	columns     []countColumn
	compared    []Compared // one for each column
	differences []Difference
}

func (c *comparer) compare(ctx context.Context, rows []countsRow) error {
	if len(rows) == 0 {
		return nil
	}
	subjects := make([]storage.Subject, len(rows))
	for i := range rows {
		subjects[i] = rows[i].subject
	}
	found, err := c.to.Interactives(ctx, storage.User{Tenant: c.tenant}, subjects, 0)
	if err != nil {
		return fmt.Errorf("look up %d subjects: %w", len(rows), err)
	}
	var missing []storage.Action
	reads := make(map[storage.Subject]int64, len(rows)) // with those in missing; a subject may have two rows
	for i := range rows {
		if found[i].Freshness != storage.Live {
			return fmt.Errorf("the counts of %s %s are not current: %w", found[i].Biz, quote(found[i].BizID), storage.ErrUnavailable)
		}
		for k, column := range c.columns {
			table, store := rows[i].counts[k], storedCount(&found[i].Counts, column.name)
			if column.name == "read" {
				store = max(store, reads[rows[i].subject])
				if table > store {
					missing = append(missing, storage.Action{
						User: storage.User{Tenant: c.tenant}, Subject: rows[i].subject, Kind: storage.KindRead,
						Times: table - store, First: rows[i].at, Version: rows[i].at,
					})
					c.compared[k].Added += table - store
					store = table
				}
				reads[rows[i].subject] = store
			}
			c.note(&rows[i], k, table, store)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	// The reads are those that are missing now, so the message is not a repetition of any.
	_, err = c.to.Persist(ctx, []storage.Message{{ID: "import-counts-" + rand.Text(), Actions: storage.Coalesce(missing)}}, nil)
	if err != nil {
		return fmt.Errorf("persist the reads of %d subjects: %w", len(missing), err)
	}
	return nil
}

// note records how a count of the table compares with the store's.
func (c *comparer) note(r *countsRow, k int, table, store int64) {
	sum := &c.compared[k]
	sum.Table += table
	sum.Store += store
	switch {
	case store == table:
		sum.Equal++
		return
	case store < table:
		sum.Lower++
	default:
		sum.Higher++
	}
	if len(c.differences) < maxBadRows && sum.Count != "read" {
		c.differences = append(c.differences, Difference{r.place.line, r.place.item, r.subject.Biz, r.subject.BizID, sum.Count, table, store})
	}
}

// storedCount returns the count of the given name.
func storedCount(c *storage.Counts, name string) int64 {
	switch name {
	case "read":
		return c.ReadCount
	case "like":
		return c.LikeCount
	case "dislike":
		return c.DislikeCount
	case "collect":
		return c.CollectCount
	}
	return c.FollowerCount
}
