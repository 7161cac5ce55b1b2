package plain

import (
	"slices"
	"strconv"
	"time"
)

// Writer appends JSON to one text. The zero Writer is ready for use.
type Writer struct {
	text   []byte
	failed bool
}

// Grow makes room for n more bytes.
func (w *Writer) Grow(n int) { w.text = slices.Grow(w.text, n) }

// Text returns the JSON that was written. ok is false if the text must be discarded and
// the executor must respond.
func (w *Writer) Text() (text []byte, ok bool) { return w.text, !w.failed }

// Fail marks the text as invalid, so that the executor responds instead.
func (w *Writer) Fail() { w.failed = true }

// Open begins an object.
func (w *Writer) Open() { w.text = append(w.text, '{') }

// Close ends an object.
func (w *Writer) Close() { w.text = append(w.text, '}') }

// OpenList begins a list.
func (w *Writer) OpenList() { w.text = append(w.text, '[') }

// CloseList ends a list.
func (w *Writer) CloseList() { w.text = append(w.text, ']') }

// Entry begins entry i of a list or an object, counted from 0: it writes the comma before
// the entry, if a comma is needed.
func (w *Writer) Entry(i int) {
	if i > 0 {
		w.text = append(w.text, ',')
	}
}

// Key begins a member of an object.
func (w *Writer) Key(field *Field) { w.text = append(w.text, field.key...) }

// Name begins a member of an object, as Key does. The parameter name must not contain
// characters that have to be escaped.
func (w *Writer) Name(name string) {
	w.text = append(w.text, '"')
	w.text = append(w.text, name...)
	w.text = append(w.text, '"', ':')
}

// Null writes null. If nonNull is true, null is not allowed, and Null also marks the text
// as invalid.
func (w *Writer) Null(nonNull bool) {
	w.text = append(w.text, "null"...)
	w.failed = w.failed || nonNull
}

// Int writes a number.
func (w *Writer) Int(n int64) { w.text = strconv.AppendInt(w.text, n, 10) }

// Bool writes true or false.
func (w *Writer) Bool(b bool) { w.text = strconv.AppendBool(w.text, b) }

// Time writes a time in the format of RFC 3339. For the zero time, which the executor
// writes as null, Time marks the text as invalid.
func (w *Writer) Time(t time.Time) {
	w.failed = w.failed || t.IsZero()
	w.text = append(w.text, '"')
	w.text = t.AppendFormat(w.text, time.RFC3339Nano)
	w.text = append(w.text, '"')
}

// String writes s as a JSON string, escaped as the executor escapes it.
func (w *Writer) String(s string) {
	w.text = append(w.text, '"')
	start := 0
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '\\' || c == '"' {
			w.text = append(w.text, s[start:i]...)
			w.escape(c)
			start = i + 1
		}
	}
	w.text = append(w.text, s[start:]...)
	w.text = append(w.text, '"')
}

func (w *Writer) escape(c byte) {
	const hex = "0123456789ABCDEF"
	switch c {
	case '\t':
		w.text = append(w.text, `\t`...)
	case '\r':
		w.text = append(w.text, `\r`...)
	case '\n':
		w.text = append(w.text, `\n`...)
	case '\\', '"':
		w.text = append(w.text, '\\', c)
	default:
		w.text = append(w.text, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
	}
}
