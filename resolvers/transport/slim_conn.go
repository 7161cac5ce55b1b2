package transport

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"net/http"
	"time"
)

// The sizes of the buffers of a WebSocket. Frame headers and most outgoing messages fit
// into the buffers; longer data bypass them.
const (
	slimReadBuffer  = 64
	slimWriteBuffer = 512
)

// slimConn is the connection under a WebSocket. A write takes at most writeTimeout. The
// memory that net/http keeps for a request, including two buffers of 4 KiB, is released.
type slimConn struct {
	net.Conn

	reader          *bufio.Reader // what package websocket reads from
	buffered        []byte        // received together with the upgrade request
	betweenMessages bool          // no message is being read
	controlOnly     bool          // the next read would wait for data after a control frame
	writeTimeout    time.Duration
}

// errNoFrame ends a read by package websocket that would otherwise wait for the frame
// after a control frame.
var errNoFrame = errors.New("nothing follows yet")

// await waits for the next frame while the stack is shallow, so that the garbage
// collector can shrink it. Package websocket would wait on a deep stack.
func (c *slimConn) await() error {
	_, err := c.reader.Peek(1)
	return err
}

// onControlFrame is called for each control frame. If no message is being read and no
// more bytes have arrived, it makes the current read end with errNoFrame.
func (c *slimConn) onControlFrame() {
	c.controlOnly = c.betweenMessages && c.reader.Buffered() == 0 && len(c.buffered) == 0
}

func (c *slimConn) Read(p []byte) (int, error) {
	switch {
	case c.controlOnly:
		c.controlOnly = false
		return 0, errNoFrame
	case len(c.buffered) > 0:
		n := copy(p, c.buffered)
		if c.buffered = c.buffered[n:]; len(c.buffered) == 0 {
			c.buffered = nil // release the memory
		}
		return n, nil
	}
	return c.Conn.Read(p)
}

func (c *slimConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.writeTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// slimHijacker is a ResponseWriter that is hijacked as a slimConn. It does not send error
// responses, but keeps their status.
type slimHijacker struct {
	http.ResponseWriter

	conn    *slimConn // its Conn is nil until it is hijacked
	refused int       // the status of the error response, or 0 if there was none
}

// WriteHeader sends the status 101. It keeps any other status in the field refused.
func (h *slimHijacker) WriteHeader(status int) {
	if status == http.StatusSwitchingProtocols {
		h.ResponseWriter.WriteHeader(status)
	} else if h.conn.Conn == nil {
		h.refused = status
	}
}

// Write discards the text of an error response; only the status is kept.
func (*slimHijacker) Write(text []byte) (int, error) { return len(text), nil }

// Hijack implements http.Hijacker. It takes over the connection and releases the buffers
// of net/http.
func (h *slimHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early, _ := buffers.Peek(buffers.Reader.Buffered()) // does not fail: all of it is buffered
	h.conn.Conn, h.conn.buffered = conn, bytes.Clone(early)
	h.conn.reader = bufio.NewReaderSize(h.conn, slimReadBuffer)
	return h.conn, bufio.NewReadWriter(h.conn.reader, bufio.NewWriterSize(h.conn, slimWriteBuffer)), nil
}
