package events

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"ovation/storage"
)

// Errors about cursors. A cursor can also be refused by storage.EventStream.Check.
var (
	ErrMalformedCursor = errors.New("is no cursor: a cursor is the attribute cursor of an event, unchanged")
	ErrOtherLog        = errors.New("is a cursor of another database")
)

// Cursor is a position in the log of events with the id Stream: that after the event at
// Position.
type Cursor struct {
	Stream   string
	Position int64
}

const streamBytes = 16

var cursorEncoding = base64.RawURLEncoding.Strict()

// String encodes the cursor. Clients must not interpret the result. If Stream is no id of a
// log, ParseCursor refuses the result.
func (c Cursor) String() string {
	b, _ := hex.DecodeString(c.Stream)
	return cursorEncoding.EncodeToString(binary.BigEndian.AppendUint64(b, uint64(c.Position)))
}

// ParseCursor decodes a cursor. Errors: ErrMalformedCursor.
func ParseCursor(text string) (Cursor, error) {
	b, err := cursorEncoding.DecodeString(text)
	if err != nil || len(b) != streamBytes+8 || len(text) != cursorEncoding.EncodedLen(len(b)) { // a line break is ignored
		return Cursor{}, ErrMalformedCursor
	}
	position := int64(binary.BigEndian.Uint64(b[streamBytes:]))
	if position < 0 {
		return Cursor{}, ErrMalformedCursor
	}
	return Cursor{hex.EncodeToString(b[:streamBytes]), position}, nil
}

// In returns the position in a log. Errors: ErrOtherLog, storage.ErrEventsPruned,
// storage.ErrEventsAhead.
func (c Cursor) In(stream storage.EventStream) (int64, error) {
	if c.Stream != stream.ID {
		return 0, ErrOtherLog
	}
	return c.Position, stream.Check(c.Position)
}
