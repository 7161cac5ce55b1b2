package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"

	"ovation/api/viewer"
)

// socket is one WebSocket. The goroutine that runs the method serve reads the client's
// messages. Each running operation has a goroutine of its own, unless it is parked. A
// timer ends the socket if connection_init is late. After connection_init, the timer
// sends pings and ends the socket when the token expires.
type socket struct {
	exec    graphql.GraphExecutor
	streams *Streams
	// distrust is the reason why development headers in connection_init are rejected, or
	// nil if they are accepted.
	distrust *viewer.Error

	conn   *websocket.Conn
	net    *slimConn
	stream *stream

	// Used only by the reading goroutine.
	rec          record          // template for the records of operations
	unwatchToken func() bool     // stops watching the token's revocation; nil before connection_init
	ctx          context.Context // parent of the operations' contexts; nil before connection_init

	// running counts the operations, and the timer while it may fire. The method serve
	// waits until the count is zero.
	running sync.WaitGroup

	mu             sync.Mutex
	closeReason    *closeReason // nil until the socket ends; the first reason is kept
	stopped        bool         // no operation may start any more
	timer          *time.Timer
	deadline       time.Time   // when the timer ends the socket; zero if it never does
	deadlineReason closeReason // the close reason at the deadline
	operations     map[string]*operation
}

func newSocket(exec graphql.GraphExecutor, streams *Streams, rec *record, distrust *viewer.Error) *socket {
	return &socket{
		exec: exec, streams: streams, distrust: distrust, operations: map[string]*operation{},
		rec: record{Identity: rec.Identity, Config: rec.Config, client: rec.client},
	}
}

// connect sets the socket's connection and starts its timer.
func (s *socket) connect(conn *websocket.Conn, net *slimConn, entered *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn, s.net, s.stream = conn, net, entered
	if s.closeReason != nil {
		s.wake()
	}
	s.deadline, s.deadlineReason = time.Now().Add(s.streams.opts.InitTimeout), initTimeout
	s.running.Add(1)
	s.timer = time.AfterFunc(s.streams.opts.InitTimeout, s.tick)
}

// stop ends the socket. If it is called more than once, only the first reason is used.
func (s *socket) stop(why closeReason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closeReason == nil {
		s.closeReason = &why
		if s.net != nil {
			s.wake()
		}
	}
}

// wake interrupts the reading goroutine, so that the socket can end.
func (s *socket) wake() {
	_ = s.net.SetReadDeadline(time.Unix(1, 0)) // fails on a closed connection, as does reading
}

// serve reads until the socket ends.
func (s *socket) serve() {
	defer s.stream.end()
	defer s.finish()
	defer func() {
		if s.unwatchToken != nil {
			s.unwatchToken()
		}
	}()
	defer func() {
		if value := recover(); value != nil {
			s.stop(closeReason{closeInternal, s.rec.panicked(context.Background(), value)})
		}
	}()
	if s.conn.Subprotocol() == "" {
		s.stop(badSubprotocol)
		return
	}
	for {
		err := s.net.await()
		if why := s.listen(err); why != nil {
			s.stop(*why)
			return
		}
	}
}

// listen reads and handles a message. It returns the reason if the socket must end.
func (s *socket) listen(err error) *closeReason {
	if err != nil {
		return closeReasonOf(err)
	}
	said, why := s.read()
	if why != nil || said.kind == "" {
		return why
	}
	return s.handle(said)
}

// read reads a message. After a control frame it returns a message without a kind.
func (s *socket) read() (message, *closeReason) {
	s.net.betweenMessages = true
	kind, frame, err := s.conn.Reader(context.Background())
	s.net.betweenMessages = false
	text := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool holds nothing else
	defer release(text)
	if err == nil {
		_, err = text.ReadFrom(io.LimitReader(frame, maxMessageRead+1))
	}
	switch {
	case errors.Is(err, errNoFrame):
		return message{}, nil
	case err != nil:
		return message{}, closeReasonOf(err)
	case text.Len() > maxMessageRead:
		return message{}, &closeReason{websocket.StatusMessageTooBig, "a message is longer than 64 KiB"}
	case kind != websocket.MessageText:
		return message{}, protocolError("messages must be text, not binary")
	}
	return readMessage(text.Bytes())
}

// closeReasonOf returns the close reason for a read error.
func closeReasonOf(err error) *closeReason {
	_, network := errors.AsType[net.Error](err)
	switch {
	case websocket.CloseStatus(err) != -1:
		return &closedByClient
	case network, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return &connectionLost
	}
	return &closeReason{websocket.StatusProtocolError, "what was sent is not the WebSocket protocol"}
}

// handle handles a message. It returns the reason if the socket must end.
func (s *socket) handle(said message) *closeReason {
	switch said.kind {
	case typeInit:
		return s.initialise(said)
	case typePing:
		if said.payload == nil {
			s.send(typePong, "", nil)
		} else {
			s.send(typePong, "", said.payload)
		}
	case typeSubscribe:
		return s.begin(said)
	case typeComplete:
		s.complete(said.id)
	}
	return nil
}

// initialise handles connection_init, which authenticates the socket's user.
func (s *socket) initialise(said message) *closeReason {
	if s.ctx != nil {
		return &tooManyInits
	}
	header, why := said.credentials()
	if why != nil {
		return why
	}
	if len(header) > 0 && s.rec.Auth != nil {
		is, err := s.rec.Auth.Credentials(context.Background(), header, s.distrust)
		if err != nil {
			return &closeReason{closeForbidden, "Forbidden: " + err.Error()}
		}
		s.rec.Identity = is
	}
	if refused := s.stream.identify(s.rec.User); refused != nil {
		return &closeReason{websocket.StatusTryAgainLater, refused.message}
	}
	s.rec.payer = s.rec.Limiter.Payer(s.rec.User, s.rec.client, s.rec.Limiter.NewSocket())
	s.ctx = s.rec.NewContext(context.Background())
	s.unwatchToken = s.rec.OnRevoked(func() { s.stop(revoked) })
	s.mu.Lock()
	if s.timer.Stop() { // otherwise it has fired, and the socket ends
		s.deadline, s.deadlineReason = s.rec.Until, expired
		s.timer.Reset(s.pause())
	}
	s.mu.Unlock()
	s.send(typeAck, "", nil)
	return nil
}

// pause returns how long the timer waits.
func (s *socket) pause() time.Duration {
	pause := s.streams.pause()
	if !s.deadline.IsZero() {
		pause = min(pause, max(time.Until(s.deadline), 0))
	}
	return pause
}

// tick ends the socket if its deadline has passed, and pings the client otherwise.
func (s *socket) tick() {
	s.mu.Lock()
	up, why := !s.deadline.IsZero() && !time.Now().Before(s.deadline), s.deadlineReason
	s.mu.Unlock()
	if up {
		s.stop(why)
	} else {
		ctx, cancel := context.WithTimeout(context.Background(), s.streams.opts.PongTimeout)
		defer cancel()
		if s.conn.Ping(ctx) != nil {
			s.stop(connectionLost)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || s.closeReason != nil {
		s.running.Done()
	} else {
		s.timer.Reset(s.pause())
	}
}

// finish closes the connection and waits until the socket's goroutines have ended. When
// the server stops, running queries and mutations are answered first.
func (s *socket) finish() {
	s.mu.Lock()
	s.stopped = true
	why := *s.closeReason
	if s.timer.Stop() {
		s.running.Done()
	}
	var answering []*operation
	for _, o := range s.operations {
		if why == goingAway && !o.subscription {
			answering = append(answering, o)
		} else {
			o.cancel()
		}
	}
	s.mu.Unlock()
	for _, o := range answering {
		<-o.ended
	}
	switch why {
	case closedByClient:
		_ = s.conn.CloseNow()
		s.streams.metrics.closes.WithLabelValues("client").Inc()
	case connectionLost:
		_ = s.conn.CloseNow()
		s.streams.metrics.closes.WithLabelValues("lost").Inc()
	default:
		_ = s.net.SetDeadline(time.Now().Add(s.streams.opts.CloseTimeout))
		_ = s.conn.Close(why.code, why.truncated()) // the client may have disconnected
		s.streams.metrics.closed(why.code)
	}
	s.running.Wait()
}

// send writes a message (see writeMessage). If the client does not accept the message in
// time, send returns false and the socket ends.
func (s *socket) send(kind, id string, payload any) bool {
	text := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool holds nothing else
	defer release(text)
	writeMessage(text, kind, id, payload)
	// The connection has a time limit of its own for each write.
	if err := s.conn.Write(context.Background(), websocket.MessageText, text.Bytes()); err != nil {
		s.stop(connectionLost)
		return false
	}
	return true
}
