package importer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// objects is a sequence of JSON values that are rows.
type objects interface {
	// next returns the text of the next value, valid until the next call. It returns
	// io.EOF at the end, and a *RowError for a value that is too long.
	next() ([]byte, error)
	place() rowPlace
	// first returns the first values, at most the given number, without consuming them. It
	// returns false if they are too long to be kept.
	first(most int) ([][]byte, bool)
}

// jsonReader reads rows that are JSON objects or, if the mapping lists columns, strings in
// the first of the columns.
type jsonReader struct {
	objects
	columns row
	single  int // the column of a row that is a string, or -1
	flatten func(object) error
}

type object = map[string]json.RawMessage

func newJSONReader(s *Source, m *Mapping) (rowReader, error) {
	j := &jsonReader{columns: columnsOf(m), single: -1, flatten: m.flatten}
	if s.format == "ndjson" && m.Rows == "" {
		j.objects = &lines{r: bufio.NewReaderSize(s.text, maxRowBytes)}
	} else {
		document, err := newDocument(s.text, m.Rows)
		if err != nil {
			return nil, err
		}
		j.objects = document
	}
	if len(m.Columns) > 0 {
		first, _ := j.first(1)
		if len(first) > 0 && first[0][0] != '"' {
			return nil, &MappingError{"columns are named only for CSV files without a header; the members of JSON have names", nil}
		}
		j.single = slices.Index(j.columns[:], m.Columns[0])
	}
	return j, j.check(m)
}

func (j *jsonReader) next(out *row) error {
	text, err := j.objects.next()
	if err != nil {
		return err
	}
	*out = row{}
	if j.single >= 0 && text[0] == '"' {
		_ = json.Unmarshal(text, &out[j.single]) // it is a valid string: documents are decoded
		return nil
	}
	var m object
	if err := json.Unmarshal(text, &m); err != nil || m == nil {
		return j.bad("is not a JSON object")
	}
	if j.flatten != nil {
		if err := j.flatten(m); err != nil {
			return j.bad(err.Error())
		}
	}
	for i, column := range j.columns {
		value := memberAt(m, column) // nil if it is absent, which is the same as null
		if column == "" || value == nil {
			continue
		}
		var ok bool
		if out[i], ok = scalarOf(value, i == colUser || i == colSubject || i == colBiz || i == colFolder); !ok {
			return j.bad(fmt.Sprintf("member %q is %s: it must be a string, a number or a boolean, and an id that is a number must be whole", column, clip(string(value))))
		}
	}
	return nil
}

// further appends the lists of the document that are not read.
func (j *jsonReader) further(to []Skipped) []Skipped {
	if d, is := j.objects.(*document); is {
		for path, rows := range d.further {
			to = append(to, Skipped{Event: clip(path), Reason: "another list of the document; import it by its path (rows)", Rows: rows})
		}
	}
	return to
}

func (j *jsonReader) bad(reason string) error {
	at := j.place()
	return &RowError{Line: at.line, Item: at.item, Reason: reason}
}

// memberAt returns the member with the given name or, if there is none, the one that the
// name leads to through objects: a.b is the member b of the member a. It returns nil if
// there is neither.
func memberAt(m object, name string) json.RawMessage {
	value, found := m[name]
	outer, inner, nested := strings.Cut(name, ".")
	if found || !nested || m[outer] == nil {
		return value
	}
	var within object
	if json.Unmarshal(m[outer], &within) != nil {
		return nil
	}
	return memberAt(within, inner)
}

// scalarOf returns a JSON value as text. Null is the empty text. The number of an id is
// written without a fraction or exponent. It returns false for arrays and objects, and for
// ids that are not whole.
func scalarOf(value json.RawMessage, isID bool) (text string, ok bool) {
	switch c := value[0]; {
	case c == '"':
		return text, json.Unmarshal(value, &text) == nil
	case c == '{', c == '[':
		return "", false
	case c == 'n':
		return "", true
	case isID && c != 't' && c != 'f':
		return wholeNumber(string(value))
	}
	return string(value), true
}

// check returns a *MappingError if none of the first objects has a member that the
// mapping names, except those that rows may lack: the text, optional columns, and in a log
// of anonymous reads the user, unless the objects have a member that is clearly the user.
func (j *jsonReader) check(m *Mapping) error {
	seen, all := j.sample()
	if !all || len(seen.rows) == 0 || j.flatten != nil {
		return nil
	}
	var missing []int
	for i, column := range j.columns {
		if column == "" || i == colText || slices.Contains(m.Optional, column) || slices.Contains(seen.names, column) ||
			i == colUser && !slices.ContainsFunc(seen.names, namesUsers) {
			continue
		}
		if outer, _, nested := strings.Cut(column, "."); nested && slices.Contains(seen.names, outer) {
			continue
		}
		missing = append(missing, i)
	}
	if len(missing) == 0 {
		return nil
	}
	reason := fmt.Sprintf("none of the first %d objects has a member %s; there is %s", len(seen.rows), namesOf(j.columns, missing), list(seen.names))
	return explainColumns(&MappingError{reason, columnSuggestions(m, missing, seen.names)}, m, seen)
}

// namesUsers reports whether a member of this name can only be the user.
func namesUsers(name string) bool {
	switch plainName(name) {
	case "user", "userid", "username", "uid", "visitorid":
		return true
	}
	return false
}

// sample returns the first objects, with the names of all members. It returns false if
// they are too long to be kept.
func (j *jsonReader) sample() (s sample, all bool) {
	first, all := j.first(sampleRows)
	var found []object
	names := map[string]bool{}
	for _, text := range first {
		var m object
		if json.Unmarshal(text, &m) != nil || m == nil {
			continue
		}
		found = append(found, m)
		for name, value := range m {
			names[name] = names[name] || string(value) != "null"
		}
	}
	maps.DeleteFunc(names, func(_ string, used bool) bool { return !used })
	s.names = slices.Sorted(maps.Keys(names))
	for _, m := range found {
		values := make([]string, len(s.names))
		for i, name := range s.names {
			if m[name] != nil {
				values[i], _ = scalarOf(m[name], false)
			}
		}
		s.rows = append(s.rows, values)
	}
	return s, all
}

// lines holds one value per line.
type lines struct {
	r     *bufio.Reader // the size of its buffer bounds the length of a line
	start int
}

func (l *lines) place() rowPlace { return rowPlace{line: l.start} }

func (l *lines) next() ([]byte, error) {
	l.start++
	for long := false; ; {
		text, err := l.r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			long = true
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("line %d: %w", l.start, explainDamage(err))
		case long:
			return nil, &RowError{Line: l.start, Reason: errRowTooLong.Error()}
		case len(bytes.TrimSpace(text)) > 0:
			return text, nil
		case err != nil:
			return nil, io.EOF
		default: // an empty line
			l.start++
		}
	}
}

func (l *lines) first(most int) (out [][]byte, all bool) {
	text, all := firstLines(l.r, most)
	for line := range bytes.Lines(text) {
		out = append(out, line)
	}
	return out, all
}
