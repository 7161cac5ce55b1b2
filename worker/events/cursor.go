package events

import (
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"ovation/storage"
)

// Errors about cursors. A cursor can also be refused by storage.EventStream.Check.
var (
	ErrMalformedCursor = errors.New("is no cursor: a cursor is the id of an event, unchanged")
	ErrOtherLog        = errors.New("is a cursor of another database")
)

// Cursor is a position in the log of events with the id Stream: that after the event at
// Position.
type Cursor struct {
	Stream   string // 32 lower-case hexadecimal digits
	Position int64
}

const streamBytes = 16

// String returns the cursor as text: the id of the event at the position. It does not begin
// with a dash, so that it can be an argument of a command.
func (c Cursor) String() string {
	return c.Stream + "-" + strconv.FormatInt(c.Position, 10)
}

// ParseCursor parses a cursor. Errors: ErrMalformedCursor.
func ParseCursor(text string) (Cursor, error) {
	stream, digits, _ := strings.Cut(text, "-")
	id, err := hex.DecodeString(stream)
	if err != nil || len(id) != streamBytes {
		return Cursor{}, ErrMalformedCursor
	}
	position, err := strconv.ParseInt(digits, 10, 64)
	c := Cursor{stream, position}
	if err != nil || position < 0 || c.String() != text || strings.ToLower(stream) != stream {
		return Cursor{}, ErrMalformedCursor
	}
	return c, nil
}

// In returns the position in a log. Errors: ErrOtherLog, storage.ErrEventsPruned,
// storage.ErrEventsAhead.
func (c Cursor) In(stream storage.EventStream) (int64, error) {
	if c.Stream != stream.ID {
		return 0, ErrOtherLog
	}
	return c.Position, stream.Check(c.Position)
}
