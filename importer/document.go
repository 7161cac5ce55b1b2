package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// document holds rows in a list within a JSON document: the list at a path or, without a
// path, the first list of objects. The document is streamed, and its other parts are
// skipped. The rows of further lists of objects are counted.
type document struct {
	bound  *boundedReader
	broken recorder // beneath the decoder
	lines  newlines
	dec    *json.Decoder
	path   string

	within  []container
	further map[string]int64 // the rows of further lists, by path
	empty   bool             // there is an empty list
	ahead   []item           // read, and not yet returned by next
	latest  item
	items   int
	err     error // what follows ahead, if it was read
}

// container is an object or a list that the decoder is in.
type container struct {
	list   bool
	key    string // of the value that follows, in an object
	hasKey bool
}

// item is a value of the list of rows.
type item struct {
	text  json.RawMessage
	place rowPlace
}

// newDocument returns a document whose list of rows has been found. Errors: a
// *MappingError if there is none; a *FileError if the text is not JSON or a reply with
// errors.
func newDocument(r io.Reader, path string) (*document, error) {
	d := &document{path: path, broken: recorder{r: r}, further: map[string]int64{}}
	d.bound = &boundedReader{r: &d.broken, left: maxRowBytes}
	d.lines.r = d.bound
	d.dec = json.NewDecoder(&d.lines)
	err := d.seek()
	switch {
	case err == nil:
		return d, nil
	case !errors.Is(err, io.EOF):
		return nil, err
	case d.empty && path == "":
		d.err = io.EOF
		return d, nil
	case path != "":
		return nil, &MappingError{fmt.Sprintf("the JSON document has no list %q", path), []Suggestion{{"rows", ""}}}
	}
	return nil, &MappingError{"the JSON document has no list of objects; if its rows are strings, name their list", []Suggestion{{"rows", ""}}}
}

func (d *document) place() rowPlace { return d.latest.place }

func (d *document) next() ([]byte, error) {
	if len(d.ahead) == 0 {
		if err := d.read(); err != nil {
			return nil, err
		}
	}
	d.latest, d.ahead = d.ahead[0], d.ahead[1:]
	return d.latest.text, nil
}

func (d *document) first(most int) (out [][]byte, all bool) {
	size := 0
	for i := range most {
		if i == len(d.ahead) && d.read() != nil { // the error is returned again by next
			break
		}
		if size += len(d.ahead[i].text); size > maxRowBytes {
			return out, false
		}
		out = append(out, d.ahead[i].text)
	}
	return out, true
}

// read appends the next row to d.ahead.
func (d *document) read() error {
	if d.err != nil {
		return d.err
	}
	d.bound.left = maxRowBytes
	if d.dec.More() {
		d.err = d.decode()
		return d.err
	}
	d.err = d.seek() // it sees the end of the list first
	return d.err
}

// decode appends the value that the decoder is at to d.ahead.
func (d *document) decode() error {
	var text json.RawMessage
	if err := d.dec.Decode(&text); err != nil {
		return d.explain(err)
	}
	d.items++
	line := d.lines.at(d.dec.InputOffset() - int64(len(text)))
	d.ahead = append(d.ahead, item{text, rowPlace{line, d.items}})
	return nil
}

// seek reads up to the first value of the list of rows, which it appends to d.ahead. If
// the list was found already, it reads to the end of the document, and returns io.EOF.
func (d *document) seek() error {
	for {
		d.bound.left = maxRowBytes
		token, err := d.dec.Token()
		if errors.Is(err, io.EOF) && len(d.within) == 0 {
			return io.EOF
		}
		if err != nil {
			return d.explain(err)
		}
		found := false
		switch token {
		case json.Delim('{'):
			d.within = append(d.within, container{})
		case json.Delim('['):
			d.within = append(d.within, container{list: true})
			found, err = d.enter()
		case json.Delim('}'), json.Delim(']'):
			d.within = d.within[:len(d.within)-1]
			d.passed()
		default:
			d.scalar(token)
		}
		if err != nil || found {
			return err
		}
	}
}

// scalar notes a key of an object or a value.
func (d *document) scalar(token json.Token) {
	if len(d.within) == 0 {
		return
	}
	if in := &d.within[len(d.within)-1]; !in.list && !in.hasKey {
		in.key, _ = token.(string) // keys are strings
		in.hasKey = true
		return
	}
	d.passed()
}

// passed notes that the decoder has passed a value.
func (d *document) passed() {
	if len(d.within) > 0 {
		d.within[len(d.within)-1].hasKey = false
	}
}

// enter examines the list whose start was read. It returns true if it holds the rows, and
// appends the first of them to d.ahead.
func (d *document) enter() (found bool, err error) {
	path, nested := d.here()
	switch {
	case nested, d.path != "" && d.path != path:
		return false, nil
	case !d.dec.More():
		d.empty = true
		if d.path == "" {
			return false, nil
		}
		return true, nil
	}
	before := d.items
	if err := d.decode(); err != nil {
		return false, err
	}
	of := d.ahead[len(d.ahead)-1].text[0]
	switch {
	case d.path != "" || of == '{' && before == 0:
		return true, d.refuseErrors(path)
	case of == '{':
		err = d.countFurther(path)
	}
	d.items, d.ahead = before, d.ahead[:len(d.ahead)-1]
	return false, err
}

// countFurther counts the rows of a further list, whose first row was read.
func (d *document) countFurther(path string) error {
	for d.further[path]++; d.dec.More(); d.further[path]++ {
		d.bound.left = maxRowBytes
		var text json.RawMessage
		if err := d.dec.Decode(&text); err != nil {
			return d.explain(err)
		}
	}
	return nil
}

// here returns the path to the list that the decoder has entered, and whether it is nested
// in another list.
func (d *document) here() (path string, nested bool) {
	keys := make([]string, 0, len(d.within))
	for _, c := range d.within[:len(d.within)-1] {
		nested = nested || c.list
		keys = append(keys, c.key)
	}
	return strings.Join(keys, "."), nested
}

// refuseErrors returns an error if the rows are the errors of a GraphQL reply.
func (d *document) refuseErrors(path string) error {
	var failed struct {
		Message string `json:"message"`
	}
	if path != "errors" || len(d.ahead) == 0 {
		return nil
	}
	_ = json.Unmarshal(d.ahead[len(d.ahead)-1].text, &failed) // without a message, it is a row
	if failed.Message == "" {
		return nil
	}
	return &FileError{Err: fmt.Errorf("the file is a reply with errors, the first of which is %s", quote(failed.Message))}
}

// explain returns the error for what the decoder could not read.
func (d *document) explain(err error) error {
	line := d.lines.at(d.dec.InputOffset())
	syntax, invalid := errors.AsType[*json.SyntaxError](err)
	switch {
	case d.broken.failed:
		return fmt.Errorf("line %d: %w", line, explainDamage(err))
	case errors.Is(err, errRowTooLong):
		return &FileError{Err: fmt.Errorf("after line %d: %w", line, err)}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &FileError{Err: fmt.Errorf("line %d: the JSON document is cut off", line)}
	case invalid:
		return &FileError{Err: fmt.Errorf("line %d: the JSON document is invalid: %w", line, syntax)}
	}
	return fmt.Errorf("line %d: %w", line, err)
}

// newlines records where lines end in what it reads.
type newlines struct {
	r      io.Reader
	offset int64   // bytes read
	ends   []int64 // the line breaks after the latest position that was asked for
	before int
}

func (l *newlines) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for i, c := range p[:n] {
		if c == '\n' {
			l.ends = append(l.ends, l.offset+int64(i))
		}
	}
	l.offset += int64(n)
	return n, err
}

// at returns the line of a position, counted from 1. Positions never decrease.
func (l *newlines) at(offset int64) int {
	n, _ := slices.BinarySearch(l.ends, offset)
	l.ends = l.ends[n:]
	l.before += n
	return l.before + 1
}

// isDocument reports whether text that begins with an object is a JSON document of several
// lines, or the reply of a GraphQL server, and not one object per line. The parameter is
// its first line, or as much of it as is known.
func isDocument(first []byte) bool {
	line, whole := bytes.CutSuffix(first, []byte("\n"))
	line = bytes.TrimSpace(line)
	var m object
	if json.Unmarshal(line, &m) == nil {
		reply := bytes.HasPrefix(m["data"], []byte("{")) || bytes.HasPrefix(m["errors"], []byte("["))
		for _, name := range []string{"data", "errors", "extensions"} {
			delete(m, name)
		}
		return reply && len(m) == 0
	}
	if whole && (bytes.HasSuffix(line, []byte("{")) || bytes.HasSuffix(line, []byte("[")) || bytes.HasSuffix(line, []byte(","))) {
		return true
	}
	// The line may be the beginning of a long reply.
	const enough = 64
	start := bytes.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r", r) {
			return -1
		}
		return r
	}, line[:min(len(line), enough)])
	return bytes.HasPrefix(start, []byte(`{"data":{`))
}
