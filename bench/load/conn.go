package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// maxBody is the maximum size of a reply's body, and of a frame, in bytes.
const maxBody = 16 << 20

// Conn is one keep-alive connection. It sends one request at a time and belongs to one
// goroutine.
type Conn struct {
	conn net.Conn
	in   *bufio.Reader
	body []byte
}

// Dial connects to HOST:PORT.
func Dial(ctx context.Context, address string) (*Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &Conn{conn: conn, in: bufio.NewReaderSize(conn, 16<<10)}, nil
}

// Close closes the connection.
func (c *Conn) Close() error { return c.conn.Close() }

// Do sends a complete request and returns the status and the body of the reply. The body
// is valid until the next call to Do. After an error the connection is unusable.
func (c *Conn) Do(request []byte) (status int, body []byte, err error) {
	if _, err := c.conn.Write(request); err != nil {
		return 0, nil, fmt.Errorf("send: %w", err)
	}
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, nil, fmt.Errorf("read the reply: %w", err)
	}
	const begin = "HTTP/1.1 "
	if len(line) < len(begin)+3 || string(line[:len(begin)]) != begin {
		return 0, nil, fmt.Errorf("%q is not an HTTP/1.1 status line", line)
	}
	if status, err = strconv.Atoi(string(line[len(begin) : len(begin)+3])); err != nil {
		return 0, nil, fmt.Errorf("%q is not an HTTP/1.1 status line", line)
	}
	length, err := c.readHeader()
	switch {
	case err != nil:
	case length == chunkedLength:
		err = c.readChunked()
	default:
		c.body, err = c.readN(c.body[:0], length)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("read the reply: %w", err)
	}
	return status, c.body, nil
}

const (
	chunkedLength = -1
	unknownLength = -2
)

// readHeader reads the headers. It returns the length of the body, or chunkedLength.
func (c *Conn) readHeader() (length int, err error) {
	length = unknownLength
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if value, ok := headerValue(line, "content-length:"); ok {
			if length, err = strconv.Atoi(string(value)); err != nil || length < 0 {
				return 0, fmt.Errorf("%q is not a valid Content-Length", value)
			}
		}
		if value, ok := headerValue(line, "transfer-encoding:"); ok && bytes.EqualFold(value, []byte("chunked")) {
			length = chunkedLength
		}
	}
	if length == unknownLength {
		return 0, errors.New("the reply has neither a Content-Length nor chunks")
	}
	return length, nil
}

func headerValue(line []byte, name string) ([]byte, bool) {
	if len(line) < len(name) || !bytes.EqualFold(line[:len(name)], []byte(name)) {
		return nil, false
	}
	return bytes.TrimSpace(line[len(name):]), true
}

// readN reads the next n bytes from the connection and appends them to the given slice.
func (c *Conn) readN(to []byte, n int) ([]byte, error) {
	have := len(to)
	if n > maxBody-have {
		return to, fmt.Errorf("the body is longer than %d bytes", maxBody)
	}
	if cap(to) < have+n {
		to = append(make([]byte, 0, 2*(have+n)), to...)
	}
	to = to[:have+n]
	_, err := io.ReadFull(c.in, to[have:])
	return to, err
}

// readChunked reads a chunked body.
func (c *Conn) readChunked() error {
	c.body = c.body[:0]
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		n, err := strconv.ParseUint(string(bytes.TrimRight(line, "\r\n")), 16, 31)
		if err != nil {
			return fmt.Errorf("%q is not the length of a chunk", line)
		}
		if c.body, err = c.readN(c.body, int(n)); err != nil {
			return err
		}
		if _, err = c.in.Discard(len("\r\n")); err != nil || n == 0 {
			return err
		}
	}
}

// setDeadline sets the deadline of reads and writes.
func (c *Conn) setDeadline(deadline time.Time) { _ = c.conn.SetDeadline(deadline) }

// Post appends to buf a POST request with a JSON body. The request carries token as a
// bearer token; if token is empty, the request is anonymous.
func Post(buf []byte, host, path, token string, body []byte) []byte {
	buf = append(buf, "POST "...)
	buf = append(buf, path...)
	buf = append(buf, " HTTP/1.1\r\nHost: "...)
	buf = append(buf, host...)
	if token != "" {
		buf = append(buf, "\r\nAuthorization: Bearer "...)
		buf = append(buf, token...)
	}
	buf = append(buf, "\r\nAccept: application/json\r\nContent-Type: application/json\r\nContent-Length: "...)
	buf = strconv.AppendInt(buf, int64(len(body)), 10)
	buf = append(buf, "\r\n\r\n"...)
	return append(buf, body...)
}
