//go:build long

package faults_test

import (
	"bytes"
	"net"
	"sync"
	"testing"
)

// link passes connections on to a server. While it hangs, it still accepts connections,
// but passes nothing in either direction.
type link struct {
	to       string
	listener net.Listener
	wait     sync.WaitGroup

	mu      sync.Mutex
	hangs   bool
	closed  bool
	changed chan struct{} // closed and replaced whenever hangs changes
	open    map[*pair]bool
	trap    *trap
}

// pair is a connection and the one that passes it on.
type pair struct {
	client, server net.Conn
	over           chan struct{} // closed when either has ended
	once           sync.Once
	trapped        bool // the server's next bytes are held back
}

func (p *pair) close() {
	p.once.Do(func() {
		close(p.over)
		_, _ = p.client.Close(), p.server.Close()
	})
}

// trap holds back the bytes of a client that match or, if answer is set, the server's
// reply to them. It springs once.
type trap struct {
	matches []byte
	answer  bool

	mu        sync.Mutex
	triggered *link
	held      chan struct{} // closed when it has sprung
}

func newTrap(matches string, answer bool) *trap {
	return &trap{matches: []byte(matches), answer: answer, held: make(chan struct{})}
}

// trigger reports whether the chunk is the first that matches.
func (t *trap) trigger(l *link, chunk []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.triggered != nil || !bytes.Contains(chunk, t.matches) {
		return false
	}
	t.triggered = l
	return true
}

// newLink makes a link to a server. It is closed with the test at the latest.
func newLink(t *testing.T, to string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	l := &link{to: to, listener: listener, changed: make(chan struct{}), open: map[*pair]bool{}}
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

// serve passes a connection on until it ends, which it does at once if the server is
// down.
func (l *link) serve(client net.Conn) {
	p := &pair{client: client, over: make(chan struct{})}
	server, err := net.Dial("tcp", l.to)
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
	l.open[p] = true
	l.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { l.pass(p, p.client, p.server, true) })
	both.Go(func() { l.pass(p, p.server, p.client, false) })
	both.Wait()
	l.mu.Lock()
	delete(l.open, p)
	l.mu.Unlock()
}

// pass passes one direction.
func (l *link) pass(p *pair, from, to net.Conn, toServer bool) {
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

// admit waits until the chunk may pass. It returns false if the pair has ended.
func (l *link) admit(p *pair, chunk []byte, toServer bool) bool {
	for {
		l.mu.Lock()
		trap := l.trap
		held := false
		switch {
		case trap == nil:
		case toServer && trap.trigger(l, chunk):
			held, p.trapped = !trap.answer, trap.answer
		case !toServer && p.trapped:
			held = true
		}
		hangs, changed := l.hangs, l.changed
		l.mu.Unlock()
		switch {
		case held:
			close(trap.held)
			<-p.over
			return false
		case !hangs:
			return true
		}
		select {
		case <-changed:
		case <-p.over:
			return false
		}
	}
}

// hang stops all traffic, or lets it continue where it stopped.
func (l *link) hang(hangs bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hangs = hangs
	close(l.changed)
	l.changed = make(chan struct{})
}

// hanging reports whether everything is stopped. A nil link, in place of that of a
// process that connects without one, never is.
func (l *link) hanging() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hangs
}

// set sets a trap in the link; nil removes it.
func (l *link) set(t *trap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trap = t
}

// close ends all connections and discards bytes that are held back. It may be called
// twice.
func (l *link) close() {
	_ = l.listener.Close()
	l.mu.Lock()
	l.closed = true
	for p := range l.open {
		p.close()
	}
	l.mu.Unlock()
	l.wait.Wait()
}
