//go:build long

package faults_test

import (
	"bytes"
	"net"
	"sync"
	"testing"

	"ovation/internal/testing/must"
)

// link forwards connections to a server. While it is stopped, it still accepts
// connections, but forwards no bytes in either direction.
type link struct {
	address  string
	listener net.Listener
	wait     sync.WaitGroup

	mu      sync.Mutex
	stopped bool
	closed  bool
	changed chan struct{} // closed and replaced whenever stopped changes
	conns   map[*proxiedConn]bool
	trap    *trap
}

// proxiedConn is a client's connection to the link and the link's connection to the
// server.
type proxiedConn struct {
	client, server net.Conn
	closed         chan struct{} // closed when either connection is closed
	once           sync.Once
	holdReply      bool // the server's next bytes must be held back
}

func (p *proxiedConn) close() {
	p.once.Do(func() {
		close(p.closed)
		_, _ = p.client.Close(), p.server.Close()
	})
}

// trap holds back the bytes from a client that contain the pattern. If holdReply is true,
// it holds back the server's reply to these bytes instead. A trap triggers only once.
type trap struct {
	pattern   []byte
	holdReply bool

	mu        sync.Mutex
	triggered *link
	sprung    chan struct{} // closed once bytes are held back
}

func newTrap(pattern string, holdReply bool) *trap {
	return &trap{pattern: []byte(pattern), holdReply: holdReply, sprung: make(chan struct{})}
}

// trigger reports whether the chunk is the first one that contains the pattern. If it is,
// trigger records the link.
func (t *trap) trigger(l *link, chunk []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.triggered != nil || !bytes.Contains(chunk, t.pattern) {
		return false
	}
	t.triggered = l
	return true
}

// newLink creates a link to the server at the given address. If the link is still open at
// the end of the test, it is closed then.
func newLink(t *testing.T, to string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	l := &link{address: to, listener: listener, changed: make(chan struct{}), conns: map[*proxiedConn]bool{}}
	l.wait.Go(l.accept)
	t.Cleanup(l.close)
	return l
}

func (l *link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.wait.Go(func() { l.serve(client) })
	}
}

// serve forwards a client's connection until the connection is closed. If the server is
// down, serve closes the connection immediately.
func (l *link) serve(client net.Conn) {
	p := &proxiedConn{client: client, closed: make(chan struct{})}
	server, err := net.Dial("tcp", l.address)
	if err != nil {
		_ = client.Close()
		return
	}
	p.server = server
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		p.close()
		return
	}
	l.conns[p] = true
	l.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { l.forward(p, p.client, p.server, true) })
	both.Go(func() { l.forward(p, p.server, p.client, false) })
	both.Wait()
	l.mu.Lock()
	delete(l.conns, p)
	l.mu.Unlock()
}

// forward copies bytes in one direction.
func (l *link) forward(p *proxiedConn, from, to net.Conn, toServer bool) {
	defer p.close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !l.admit(p, buffer[:n], toServer) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// admit waits until the chunk may be forwarded. It returns false if the connection is
// closed.
func (l *link) admit(p *proxiedConn, chunk []byte, toServer bool) bool {
	for {
		l.mu.Lock()
		trap := l.trap
		held := false
		switch {
		case trap == nil:
		case toServer && trap.trigger(l, chunk):
			held, p.holdReply = !trap.holdReply, trap.holdReply
		case !toServer && p.holdReply:
			held = true
		}
		hangs, changed := l.stopped, l.changed
		l.mu.Unlock()
		switch {
		case held:
			close(trap.sprung)
			<-p.closed
			return false
		case !hangs:
			return true
		}
		select {
		case <-changed:
		case <-p.closed:
			return false
		}
	}
}

// setStopped stops all traffic if hangs is true. Otherwise it lets the traffic continue
// where it stopped.
func (l *link) setStopped(hangs bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = hangs
	close(l.changed)
	l.changed = make(chan struct{})
}

// isStopped reports whether all traffic is stopped. A nil link stands for a direct
// connection, which is never stopped.
func (l *link) isStopped() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopped
}

// setTrap sets a trap in the link; nil removes it.
func (l *link) setTrap(t *trap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trap = t
}

// close closes all connections and discards bytes that are held back. It may be called
// twice.
func (l *link) close() {
	_ = l.listener.Close()
	l.mu.Lock()
	l.closed = true
	for p := range l.conns {
		p.close()
	}
	l.mu.Unlock()
	l.wait.Wait()
}
