package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Subscription is one subscription over a separate WebSocket with the subprotocol
// graphql-transport-ws. It uses little memory, so that a process can hold many. It
// belongs to one goroutine, but any goroutine may call Close.
type Subscription struct {
	conn    net.Conn
	in      *bufio.Reader
	payload []byte
}

// The first byte of each kind of frame: its opcode, with the bit set that marks the final
// fragment.
const (
	frameText = 0x81
	framePing = 0x89
	framePong = 0x8a
)

// Subscribe connects to HOST:PORT and subscribes. In the handshake, initPayload is sent
// in the connection_init message and payload in the subscribe message. Both are JSON
// objects of up to 64 KB.
func Subscribe(ctx context.Context, address string, initPayload, payload []byte) (_ *Subscription, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	w := &Subscription{conn: conn, in: bufio.NewReaderSize(conn, 512)}
	if err := w.handshake(address, initPayload, payload); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return w, nil
}

func (w *Subscription) handshake(address string, initPayload, payload []byte) error {
	if err := w.upgrade(address); err != nil {
		return err
	}
	if err := w.writeFrame(frameText, fmt.Appendf(nil, `{"type":"connection_init","payload":%s}`, initPayload)); err != nil {
		return err
	}
	switch opcode, text, err := w.readFrame(); {
	case err != nil:
		return err
	case opcode != frameText || string(text) != `{"type":"connection_ack"}`:
		return fmt.Errorf("connection_init was answered with %q", text)
	}
	return w.writeFrame(frameText, fmt.Appendf(nil, `{"type":"subscribe","id":"1","payload":%s}`, payload))
}

// upgrade upgrades the connection to a WebSocket.
func (w *Subscription) upgrade(host string) error {
	_, err := fmt.Fprintf(w.conn, "GET /graphql HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n", host)
	if err != nil {
		return fmt.Errorf("send: %w", err)
	}
	status, err := w.in.ReadString('\n')
	for line := status; err == nil && line != "\r\n"; {
		line, err = w.in.ReadString('\n')
	}
	switch {
	case err != nil:
		return fmt.Errorf("read the reply: %w", err)
	case !strings.HasPrefix(status, "HTTP/1.1 101 "):
		return fmt.Errorf("the WebSocket was refused: %q", status)
	}
	return nil
}

// Next waits for the next response, which is valid until the next call to Next. While it
// waits, it answers pings. It returns an error if the connection or the subscription has
// ended.
func (w *Subscription) Next() ([]byte, error) {
	const before, after = `{"type":"next","id":"1","payload":`, `}`
	for {
		opcode, text, err := w.readFrame()
		switch {
		case err != nil:
			return nil, err
		case opcode == framePing:
			if err := w.writeFrame(framePong, text); err != nil {
				return nil, err
			}
		case opcode == frameText && bytes.HasPrefix(text, []byte(before)):
			return text[len(before) : len(text)-len(after)], nil
		default:
			return nil, fmt.Errorf("the subscription ended: frame %#x with %q", opcode, text)
		}
	}
}

// Close closes the connection.
func (w *Subscription) Close() error { return w.conn.Close() }

// readFrame reads a frame from the server.
func (w *Subscription) readFrame() (opcode byte, text []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(w.in, head[:2]); err != nil {
		return 0, nil, fmt.Errorf("read a frame: %w", err)
	}
	opcode = head[0]
	length := uint64(head[1])
	switch length {
	case 126:
		_, err = io.ReadFull(w.in, head[6:])
		length = uint64(binary.BigEndian.Uint16(head[6:]))
	case 127:
		_, err = io.ReadFull(w.in, head[:])
		length = binary.BigEndian.Uint64(head[:])
	}
	if err == nil && length > maxBody {
		err = fmt.Errorf("the frame is longer than %d bytes", maxBody)
	}
	if err == nil {
		if uint64(cap(w.payload)) < length {
			w.payload = make([]byte, length)
		}
		w.payload = w.payload[:length]
		_, err = io.ReadFull(w.in, w.payload)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("read a frame: %w", err)
	}
	return opcode, w.payload, nil
}

// writeFrame writes a masked frame, as the protocol requires of clients. The mask is
// zero.
func (w *Subscription) writeFrame(opcode byte, text []byte) error {
	const masked = 0x80
	frame := []byte{opcode, masked | byte(len(text))}
	if len(text) > 125 {
		frame = binary.BigEndian.AppendUint16([]byte{opcode, masked | 126}, uint16(min(len(text), 1<<16-1)))
	}
	frame = append(append(frame, 0, 0, 0, 0), text...)
	if _, err := w.conn.Write(frame); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return nil
}
