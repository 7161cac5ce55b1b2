package importer

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxRowBytes bounds the size of a row, and of a mapping file.
const maxRowBytes = 1 << 20

// The columns that are read from a row.
const (
	colUser = iota
	colSubject
	colEvent // not wanted if Mapping.All is set
	colTime
	colBiz  // not wanted if Mapping.Biz is set
	colText // not wanted if Mapping.Text is not set
	colDeleted
	colFolder
	colCount // the first of the counts of Mapping.Counts, in the order of countNames
)

const columnCount = colCount + countsPerRow

// row holds the values of the wanted columns. These may share memory with the text of the
// whole row.
type row [columnCount]string

// rowReader reads one row after another. The method next returns io.EOF at the end of the
// file and a *RowError for a bad row. Reading can continue after a *RowError, but not
// after any other error.
type rowReader interface {
	next(to *row) error
	// place returns where the latest row begins.
	place() rowPlace
}

// rowPlace is where a row begins: its line, counted from 1, and in a JSON document, which may
// be a single line, also its position in the list of rows, counted from 1.
type rowPlace struct{ line, item int }

// RowError describes a row that cannot be imported.
type RowError struct {
	Line     int // the line on which the row begins, counted from 1
	Item     int // in a JSON document: its position in the list, counted from 1
	Reason   string
	Remedies []Suggestion // changes to the mapping that would fix the row, if known
}

func (e *RowError) Error() string {
	if e.Item > 0 {
		return fmt.Sprintf("line %d, item %d: %s", e.Line, e.Item, e.Reason)
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
}

// columnsOf returns the names of the columns that a mapping uses; unused ones are empty.
func columnsOf(m *Mapping) row {
	columns := row{colUser: m.User, colSubject: m.Subject, colEvent: m.Event, colTime: m.Time, colBiz: m.BizColumn, colText: m.Text, colDeleted: m.Deleted, colFolder: m.Folder}
	for i, name := range countNames {
		columns[colCount+i] = m.Counts[name]
	}
	if m.At != "" {
		columns[colTime] = ""
	}
	return columns
}

func newRowReader(s *Source, m *Mapping) (rowReader, error) {
	columns := columnsOf(m)
	if s.format != "csv" {
		return newJSONReader(s, m)
	}
	first := headerLine(s.text)
	likely := delimiterOf(first, m)
	comma := likely
	if m.Delimiter != "" {
		var err error
		if comma, err = ParseDelimiter(m.Delimiter); err != nil {
			return nil, err
		}
	}
	seen := sampleOf(s.text, comma, m.Columns)
	if seen.isHeader(m.Columns) {
		return nil, &MappingError{"the first row holds the names in the list of columns: the file has a header, so leave the list out", nil}
	}
	rows, err := newCSVReader(s.text, comma, columns, m)
	if unfit, is := errors.AsType[*MappingError](err); is {
		return nil, explainColumns(delimiterError(unfit, first, comma, likely), m, seen)
	}
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// csvReader reads CSV according to RFC 4180, with any delimiter.
type csvReader struct {
	bound *boundedReader
	csv   *csv.Reader
	at    indexes
	width int // 0 until it is known
	start int
}

// newCSVReader returns a reader of rows with a header, or without one if the mapping names
// the columns.
func newCSVReader(r io.Reader, comma rune, columns row, m *Mapping) (*csvReader, error) {
	bound := &boundedReader{r: r, left: maxRowBytes}
	c := &csvReader{bound: bound, csv: csv.NewReader(bufio.NewReaderSize(bound, 64<<10)), start: 1}
	c.csv.Comma = comma
	c.csv.FieldsPerRecord = -1
	c.csv.ReuseRecord = true
	if len(m.Columns) > 0 {
		at, unfit := find(m, columns, m.Columns)
		if unfit != nil {
			return nil, &MappingError{"the list of columns " + unfit.Reason, nil}
		}
		c.at = at
		return c, nil
	}
	header, err := c.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty: a header with the names of the columns is expected")
	}
	if err != nil {
		return nil, fmt.Errorf("read the header: %w", explainDamage(err))
	}
	c.width = len(header)
	at, unfit := find(m, columns, header)
	if unfit != nil {
		return nil, &MappingError{fmt.Sprintf("the header, split at each %s, %s", delimiterName(comma), unfit.Reason), unfit.Suggestions}
	}
	c.at = at
	return c, nil
}

// indexes holds the index of each column, or -1 if the column is not wanted.
type indexes [columnCount]int

// find returns the index of each column in the header. The Reason of the error completes
// a sentence that begins with "the header".
func find(m *Mapping, columns row, header []string) (at indexes, unfit *MappingError) {
	var missing []int
	for i, column := range columns {
		at[i] = -1
		for place, name := range header {
			if name != column || column == "" {
				continue
			}
			if at[i] >= 0 {
				return at, &MappingError{fmt.Sprintf("has the column %q twice", column), nil}
			}
			at[i] = place
		}
		if at[i] < 0 && column != "" && !slices.Contains(m.Optional, column) {
			missing = append(missing, i)
		}
	}
	if len(missing) > 0 {
		reason := fmt.Sprintf("has no column %s; it has %s", namesOf(columns, missing), list(header))
		return at, &MappingError{reason, columnSuggestions(m, missing, header)}
	}
	return at, nil
}

// namesOf returns the names of the missing columns for a message.
func namesOf(columns row, missing []int) string {
	var b strings.Builder
	for i, column := range missing {
		switch {
		case i > 0 && i == len(missing)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(quote(columns[column]))
	}
	return b.String()
}

func (c *csvReader) place() rowPlace { return rowPlace{line: c.start} }

func (c *csvReader) next(out *row) error {
	c.bound.left = maxRowBytes
	fields, err := c.csv.Read()
	if err != nil {
		return c.explain(err)
	}
	c.start, _ = c.csv.FieldPos(0)
	if len(fields) != c.width {
		if c.width > 0 {
			return &RowError{Line: c.start, Reason: fmt.Sprintf("has %d fields where the header has %d", len(fields), c.width)}
		}
		// Without a header, rows need the columns that are used.
		if last := slices.Max(c.at[:]); len(fields) <= last {
			return &RowError{Line: c.start, Reason: fmt.Sprintf("has %d fields where %d columns are named", len(fields), last+1)}
		}
	}
	for i, place := range c.at {
		if place >= 0 {
			out[i] = fields[place]
		}
	}
	return nil
}

func (c *csvReader) explain(err error) error {
	var bad *csv.ParseError
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF
	case errors.Is(err, errRowTooLong):
		return &FileError{Err: fmt.Errorf("after line %d: %w: is a closing quote missing?", c.start, err)}
	case !errors.As(err, &bad):
		return fmt.Errorf("after line %d: %w", c.start, explainDamage(err))
	}
	c.start = bad.StartLine
	if errors.Is(err, csv.ErrQuote) && c.atEnd() {
		return &FileError{Err: fmt.Errorf("line %d: the quotes of the last row do not match: is the file cut off, or a closing quote missing?", c.start)}
	}
	return &RowError{Line: c.start, Reason: bad.Err.Error()}
}

// atEnd reports whether the latest row extends to the very end of the file, with no line
// break after it.
func (c *csvReader) atEnd() bool { return c.bound.ended && c.csv.InputOffset() >= c.bound.total }

var errRowTooLong = fmt.Errorf("a row is longer than %d bytes", maxRowBytes)

// boundedReader limits the number of bytes that are read from the reader r. The field
// left is the number of bytes that may still be read; once it is 0, reads fail until it
// is set again.
type boundedReader struct {
	r     io.Reader
	left  int
	total int64 // bytes read in total
	ended bool
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errRowTooLong
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	b.total += int64(n)
	b.ended = errors.Is(err, io.EOF)
	return n, err
}

// list formats the first 30 names for a message.
func list(names []string) string {
	const most = 30
	quoted := make([]string, min(len(names), most))
	for i := range quoted {
		quoted[i] = quote(names[i])
	}
	out := strings.Join(quoted, ", ")
	if more := len(names) - most; more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}
