package importer

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
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
	columnCount
)

// row holds the values of the wanted columns. These may share memory with the text of the
// whole row.
type row [columnCount]string

// rowReader reads one row after another. The method next returns io.EOF at the end of the
// file and a *RowError for a bad row. Reading can continue after a *RowError, but not
// after any other error.
type rowReader interface {
	next(to *row) error
	// line returns the line on which the latest row begins, counted from 1.
	line() int
}

// RowError describes a row that cannot be imported.
type RowError struct {
	Line     int // the line on which the row begins, counted from 1
	Reason   string
	Remedies []Suggestion // changes to the mapping that would fix the row, if known
}

func (e *RowError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

func newRowReader(s *Source, m Mapping) (rowReader, error) {
	columns := row{colUser: m.User, colSubject: m.Subject, colEvent: m.Event, colTime: m.Time, colBiz: m.BizColumn, colText: m.Text}
	if s.format == "ndjson" {
		return &ndjsonReader{r: bufio.NewReaderSize(s.text, maxRowBytes), columns: columns}, nil
	}
	header := headerLine(s.text)
	likely := delimiterOf(header, columns)
	comma := likely
	if m.Delimiter != "" {
		var err error
		if comma, err = ParseDelimiter(m.Delimiter); err != nil {
			return nil, err
		}
	}
	rows, err := newCSVReader(s.text, comma, columns)
	if unfit, is := errors.AsType[*MappingError](err); is {
		return nil, delimiterError(unfit, header, comma, likely)
	}
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// csvReader reads CSV according to RFC 4180, with a header and any delimiter.
type csvReader struct {
	bound *boundedReader
	csv   *csv.Reader
	at    places
	width int
	start int
}

func newCSVReader(r io.Reader, comma rune, columns row) (*csvReader, error) {
	bound := &boundedReader{r: r, left: maxRowBytes}
	c := &csvReader{bound: bound, csv: csv.NewReader(bufio.NewReaderSize(bound, 64<<10)), start: 1}
	c.csv.Comma = comma
	c.csv.FieldsPerRecord = -1
	c.csv.ReuseRecord = true
	header, err := c.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty: a header with the names of the columns is expected")
	}
	if err != nil {
		return nil, fmt.Errorf("read the header: %w", explainDamage(err))
	}
	c.width = len(header)
	at, unfit := find(columns, header)
	if unfit != nil {
		return nil, &MappingError{fmt.Sprintf("the header, split at each %s, %s", delimiterName(comma), unfit.Reason), unfit.Suggestions}
	}
	c.at = at
	return c, nil
}

// places holds the index of each column, or -1 if the column is not wanted.
type places [columnCount]int

// find returns the index of each column in the header. The Reason of the error completes
// a sentence that begins with "the header".
func find(columns row, header []string) (at places, unfit *MappingError) {
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
		if at[i] < 0 && column != "" {
			missing = append(missing, i)
		}
	}
	if len(missing) > 0 {
		reason := fmt.Sprintf("has no column %s; it has %s", namesOf(columns, missing), list(header))
		return at, &MappingError{reason, columnSuggestions(columns, missing, header)}
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

func (c *csvReader) line() int { return c.start }

func (c *csvReader) next(out *row) error {
	c.bound.left = maxRowBytes
	fields, err := c.csv.Read()
	if err != nil {
		return c.explain(err)
	}
	c.start, _ = c.csv.FieldPos(0)
	if len(fields) != c.width {
		return &RowError{Line: c.start, Reason: fmt.Sprintf("has %d fields where the header has %d", len(fields), c.width)}
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

// ndjsonReader reads one JSON object per line.
type ndjsonReader struct {
	r       *bufio.Reader // the size of its buffer bounds the length of a line
	columns row
	start   int
}

func (j *ndjsonReader) line() int { return j.start }

func (j *ndjsonReader) next(out *row) error {
	j.start++
	for long := false; ; {
		text, err := j.r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			long = true
		case err != nil && !errors.Is(err, io.EOF):
			return fmt.Errorf("line %d: %w", j.start, explainDamage(err))
		case long:
			return &RowError{Line: j.start, Reason: errRowTooLong.Error()}
		case len(bytes.TrimSpace(text)) > 0:
			return j.parse(text, out)
		case err != nil:
			return io.EOF
		default: // an empty line
			j.start++
		}
	}
}

func (j *ndjsonReader) parse(text []byte, out *row) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil || members == nil {
		return &RowError{Line: j.start, Reason: "is not a JSON object"}
	}
	var missing []int
	for i, column := range j.columns {
		out[i] = ""
		if column == "" {
			continue
		}
		value, there := members[column]
		if !there {
			if i != colText { // needed only for a comment
				missing = append(missing, i)
			}
			continue
		}
		switch c := value[0]; {
		case c == '"':
			_ = json.Unmarshal(value, &out[i]) // it is a valid string
		case c == '-' || '0' <= c && c <= '9':
			out[i] = string(value)
		case string(value) != "null":
			return &RowError{Line: j.start, Reason: fmt.Sprintf("member %q must be a string or a number", column)}
		}
	}
	if len(missing) > 0 {
		names := slices.Sorted(maps.Keys(members))
		reason := fmt.Sprintf("has no member %s; it has %s", namesOf(j.columns, missing), list(names))
		return &RowError{j.start, reason, columnSuggestions(j.columns, missing, names)}
	}
	return nil
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
