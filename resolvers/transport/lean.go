package transport

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// The sizes of the buffers of a WebSocket. Headers of frames are read, and most
// messages written, by way of them; what is longer goes past them.
const (
	leanRead  = 64
	leanWrite = 512
)

// lean is the connection under a WebSocket. Nothing may be written for longer
// than patience, and what net/http holds for a request, two buffers of 4 KiB
// among it, is let go of.
type lean struct {
	net.Conn

	reader   *bufio.Reader // reads from here
	early    []byte        // what was read too early, to be read again
	one      [1]byte       // room for early
	alone    bool          // early is to be read by itself
	patience time.Duration
}

// errQuiet is what a reader is told who would wait for what follows a control
// frame.
var errQuiet = errors.New("nothing follows yet")

// await waits until there is something to read, little of it on the stack, which
// the collector then makes small. A control frame is handed to the reader by
// itself: it would wait for what follows, with much on the stack.
func (c *lean) await() error {
	c.alone = false
	if len(c.early) > 0 || c.reader.Buffered() > 0 {
		return nil
	}
	n, err := c.Conn.Read(c.one[:])
	if n == 0 {
		return err
	}
	c.early = c.one[:]
	if c.one[0]&0x08 != 0 {
		return c.readControl()
	}
	return nil
}

// readControl reads the rest of a control frame. Of one that is none the rest is
// left to be read.
func (c *lean) readControl() error {
	var frame [2 + 4 + 125]byte // head, mask, payload
	frame[0] = c.one[0]
	if _, err := io.ReadFull(c.Conn, frame[1:2]); err != nil {
		return err
	}
	length := 2 + int(frame[1]&0x7f)
	if frame[1]&0x80 != 0 {
		length += 4
	}
	c.early = bytes.Clone(frame[:2])
	if length > len(frame) {
		return nil
	}
	if _, err := io.ReadFull(c.Conn, frame[2:length]); err != nil {
		return err
	}
	c.early, c.alone = bytes.Clone(frame[:length]), true
	return nil
}

func (c *lean) Read(p []byte) (int, error) {
	if len(c.early) > 0 {
		n := copy(p, c.early)
		if c.early = c.early[n:]; len(c.early) == 0 {
			c.early = nil // what came with the upgrade can be long
		}
		return n, nil
	}
	if c.alone {
		return 0, errQuiet
	}
	return c.Conn.Read(p)
}

func (c *lean) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.patience)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// leanHijacker is a response whose connection comes as a lean one. What it is
// to answer instead of that it keeps to itself.
type leanHijacker struct {
	http.ResponseWriter

	patience time.Duration
	conn     *lean // once it is hijacked
	refused  int   // the status of what was kept back
}

// WriteHeader takes the status.
func (h *leanHijacker) WriteHeader(status int) {
	if status == http.StatusSwitchingProtocols {
		h.ResponseWriter.WriteHeader(status)
	} else if h.conn == nil {
		h.refused = status
	}
}

// Write keeps a text for people back.
func (*leanHijacker) Write(text []byte) (int, error) { return len(text), nil }

// Hijack takes the connection over.
func (h *leanHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early, _ := buffers.Peek(buffers.Reader.Buffered()) // all of that is there
	h.conn = &lean{Conn: conn, early: bytes.Clone(early), patience: h.patience}
	h.conn.reader = bufio.NewReaderSize(h.conn, leanRead)
	return h.conn, bufio.NewReadWriter(h.conn.reader, bufio.NewWriterSize(h.conn, leanWrite)), nil
}
