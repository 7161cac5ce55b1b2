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

	"ovation/resolvers/viewer"
)

// socket is one WebSocket. Its goroutine, serve, reads; each operation has one
// more. A timer waits for connection_init, then for the time of each ping and
// for the end of the token.
type socket struct {
	exec    graphql.GraphExecutor
	streams *Streams
	// distrust is why development headers in connection_init are rejected; nil:
	// they are not.
	distrust *viewer.Error

	conn   *websocket.Conn
	net    *lean
	stream *stream

	// Of the reading goroutine.
	rec      record          // what the records of operations begin as
	unrevoke func() bool     // stops waiting for the end of the token's key; nil before connection_init
	ctx      context.Context // what the contexts of operations come from; nil before connection_init

	// What serve waits for: the operations, and the timer while it may fire.
	running sync.WaitGroup

	mu         sync.Mutex
	ending     *ending // why it ends; nil while it does not
	over       bool    // nothing begins any more
	timer      *time.Timer
	deadline   time.Time // when the timer ends the socket; zero: never
	late       ending    // why it then does
	operations map[string]*operation
}

func newSocket(exec graphql.GraphExecutor, streams *Streams, rec *record, distrust *viewer.Error) *socket {
	s := &socket{exec: exec, streams: streams, distrust: distrust, operations: map[string]*operation{}}
	s.rec = record{
		log: rec.log, access: rec.access, metrics: rec.metrics, auth: rec.auth, limiter: rec.limiter, client: rec.client, Identity: rec.Identity,
	}
	return s
}

// connect gives the socket its connection.
func (s *socket) connect(conn *websocket.Conn, net *lean, entered *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn, s.net, s.stream = conn, net, entered
	if s.ending != nil {
		s.wake()
	}
	s.deadline, s.late = time.Now().Add(s.streams.opts.InitTimeout), initTimeout
	s.running.Add(1)
	s.timer = time.AfterFunc(s.streams.opts.InitTimeout, s.tick)
}

// stop has the socket end. The first reason counts.
func (s *socket) stop(why ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending == nil {
		s.ending = &why
		if s.net != nil {
			s.wake()
		}
	}
}

// wake has the reading goroutine look why the socket ends.
func (s *socket) wake() {
	_ = s.net.SetReadDeadline(time.Unix(1, 0)) // it fails where the connection is closed, and so does reading
}

// serve reads until the socket ends.
func (s *socket) serve() {
	defer s.stream.end()
	defer s.finish()
	defer func() {
		if s.unrevoke != nil {
			s.unrevoke()
		}
	}()
	defer func() {
		if value := recover(); value != nil {
			s.stop(ending{closeInternal, s.rec.panicked(context.Background(), value)})
		}
	}()
	if s.conn.Subprotocol() == "" {
		s.stop(otherTongue)
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

// listen takes what has come and does what a message says. It returns why the
// socket must end.
func (s *socket) listen(err error) *ending {
	if err != nil {
		return endingOf(err)
	}
	said, why := s.read()
	if why != nil || said.kind == "" {
		return why
	}
	return s.take(said)
}

// read reads a message. There is none, of no kind, where something else came.
func (s *socket) read() (message, *ending) {
	s.net.between = true
	kind, frame, err := s.conn.Reader(context.Background())
	s.net.between = false
	text := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool holds nothing else
	defer release(text)
	if err == nil {
		_, err = text.ReadFrom(io.LimitReader(frame, maxMessageRead+1))
	}
	switch {
	case errors.Is(err, errQuiet):
		return message{}, nil
	case err != nil:
		return message{}, endingOf(err)
	case text.Len() > maxMessageRead:
		return message{}, &ending{websocket.StatusMessageTooBig, "a message is longer than 64 KiB"}
	case kind != websocket.MessageText:
		return message{}, amiss("messages are text")
	}
	return readMessage(text.Bytes())
}

// endingOf is how a socket ends that cannot be read from.
func endingOf(err error) *ending {
	_, network := errors.AsType[net.Error](err)
	switch {
	case websocket.CloseStatus(err) != -1:
		return &left
	case network, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return &lost
	}
	return &ending{websocket.StatusProtocolError, "this is not the WebSocket protocol"}
}

// take does what a message says. It returns why the socket must end.
func (s *socket) take(said message) *ending {
	switch said.kind {
	case typeInit:
		return s.initialise(said)
	case typePing:
		s.send(func(out *bytes.Buffer) { pongMessage(out, said.payload) })
	case typeSubscribe:
		return s.begin(said)
	case typeComplete:
		s.complete(said.id)
	}
	return nil
}

// initialise answers connection_init: the socket is now of whoever it names.
func (s *socket) initialise(said message) *ending {
	if s.ctx != nil {
		return &tooManyInits
	}
	header, why := said.credentials()
	if why != nil {
		return why
	}
	if len(header) > 0 && s.rec.auth != nil {
		is, err := s.rec.auth.Credentials(context.Background(), header, s.distrust)
		if err != nil {
			return &ending{closeForbidden, "Forbidden: " + err.Error()}
		}
		s.rec.Identity = is
	}
	if refused := s.stream.identify(s.rec.User); refused != nil {
		return &ending{websocket.StatusTryAgainLater, refused.message}
	}
	s.rec.payer = s.rec.limiter.Payer(s.rec.User, s.rec.client, s.rec.limiter.NewSocket())
	s.ctx = viewer.With(context.Background(), s.rec.User)
	s.unrevoke = s.rec.OnRevoked(func() { s.stop(revoked) })
	s.mu.Lock()
	if s.timer.Stop() { // else it has fired, and the socket ends
		s.deadline, s.late = s.rec.Until, expired
		s.timer.Reset(s.pause())
	}
	s.mu.Unlock()
	s.send(func(out *bytes.Buffer) { emptyMessage(out, typeAck, "") })
	return nil
}

// pause is how long the timer waits.
func (s *socket) pause() time.Duration {
	pause := s.streams.pause()
	if !s.deadline.IsZero() {
		pause = min(pause, max(time.Until(s.deadline), 0))
	}
	return pause
}

// tick ends a socket whose time is up, and pings the client of any other.
func (s *socket) tick() {
	s.mu.Lock()
	up, why := !s.deadline.IsZero() && !time.Now().Before(s.deadline), s.late
	s.mu.Unlock()
	if up {
		s.stop(why)
	} else {
		ctx, cancel := context.WithTimeout(context.Background(), s.streams.opts.PongTimeout)
		defer cancel()
		if s.conn.Ping(ctx) != nil {
			s.stop(lost)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.ending != nil {
		s.running.Done()
	} else {
		s.timer.Reset(s.pause())
	}
}

// finish closes the connection and waits until nothing of the socket is left.
// When the server stops, the queries and mutations under way are answered
// first.
func (s *socket) finish() {
	s.mu.Lock()
	s.over = true
	why := *s.ending
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
	case left:
		_ = s.conn.CloseNow()
		s.streams.metrics.closes.WithLabelValues("client").Inc()
	case lost:
		_ = s.conn.CloseNow()
		s.streams.metrics.closes.WithLabelValues("lost").Inc()
	default:
		_ = s.net.SetDeadline(time.Now().Add(s.streams.opts.CloseTimeout))
		_ = s.conn.Close(why.code, why.fitting()) // the client may be gone
		s.streams.metrics.closed(why.code)
	}
	s.running.Wait()
}

// send writes a message. It returns false, and the socket ends, where the
// client does not take it.
func (s *socket) send(write func(*bytes.Buffer)) bool {
	text := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool holds nothing else
	defer release(text)
	write(text)
	// The connection has a time limit of its own for each write.
	if err := s.conn.Write(context.Background(), websocket.MessageText, text.Bytes()); err != nil {
		s.stop(lost)
		return false
	}
	return true
}
