package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// slowLike is a request in progress: the server has read its headers, and its body has
// not been sent yet.
type slowLike struct {
	connection net.Conn
	answers    *bufio.Reader
}

const slowBody = `{"query":"mutation { like(input: {biz: \"video\", bizId: \"1\"}) { changed } }"}`

func beginLike(t *testing.T, s *server, headers map[string]string) *slowLike {
	t.Helper()
	host := strings.TrimPrefix(s.url, "http://")
	connection, err := net.Dial("tcp", host)
	must.Succeed(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	_, err = fmt.Fprintf(connection, "POST /graphql HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\nExpect: 100-continue\r\n", host, len(slowBody))
	must.Succeed(t, err)
	for name, value := range headers {
		_, err = fmt.Fprintf(connection, "%s: %s\r\n", name, value)
		must.Succeed(t, err)
	}
	_, err = fmt.Fprint(connection, "\r\n")
	must.Succeed(t, err)
	l := &slowLike{connection, bufio.NewReader(connection)}
	if answer := l.answer(t); answer != http.StatusContinue {
		t.Fatalf("Expect: 100-continue: got status %d, want 100", answer)
	}
	return l
}

// answer returns the status of the server's next response.
func (l *slowLike) answer(t *testing.T) int {
	t.Helper()
	must.Succeed(t, l.connection.SetReadDeadline(time.Now().Add(waitTimeout)))
	answer, err := http.ReadResponse(l.answers, nil)
	must.Succeed(t, err)
	must.Succeed(t, answer.Body.Close())
	return answer.StatusCode
}

// finish sends the body and checks that the request succeeds.
func (l *slowLike) finish(t *testing.T) {
	t.Helper()
	_, err := l.connection.Write([]byte(slowBody))
	must.Succeed(t, err)
	if answer := l.answer(t); answer != http.StatusOK {
		t.Errorf("the request under way: got status %d, want 200", answer)
	}
}

// refuses waits until the server rejects new connections.
func (s *server) refuses(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(waitTimeout); time.Now().Before(deadline); {
		connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			return
		}
		must.Succeed(t, connection.Close())
	}
	t.Fatalf("the server still accepts connections after %v", waitTimeout)
}

// A stopped server finishes the requests in progress. After a restart, the results of
// these requests still exist.
func TestStopFinishesRunningRequests(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := serveBinary(t, data)
	s.like(t, "bob", "1")
	like := beginLike(t, s, dev("alice"))
	s.signal()
	s.refuses(t)
	like.finish(t)
	<-s.ended
	s.stop().want(t, 0)
	s = serveBinary(t, data)
	if got := s.likes(t, "1"); got != 2 {
		t.Errorf("the video has %d likes after the restart, want 2", got)
	}
	verified(t, data)
}

// TestNodeFinishesRunningRequests stops a node while a mutation is half sent and another
// connection is idle.
func TestNodeFinishesRunningRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	node := s.start(t, "serve")
	idle := beginLike(t, node, as("alice"))
	idle.finish(t)
	like := beginLike(t, node, as("bob"))
	node.signal()
	node.refuses(t)
	must.Succeed(t, idle.connection.SetReadDeadline(time.Now().Add(waitTimeout))) // like.finish succeeds below, so the idle connection is closed first
	if _, err := idle.answers.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the idle connection ended with %v, want %v", err, io.EOF)
	}
	like.finish(t)
	<-node.ended
	node.stop().want(t, 0)
	w := s.start(t, "work") // what was acknowledged is in the queue
	await.That(t, "both likes are counted", func() bool { return s.likes(t) == 2 })
	w.stop().want(t, 0)
	s.run(t, "verify").want(t, 0, "0 differences; ")
}

// TestSecondSignalStopsANode stops two nodes with a second signal: one that waits for a
// request to end, and one that continues to serve during its drain.
func TestSecondSignalStopsANode(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	waiting := s.start(t, "serve")
	beginLike(t, waiting, as("alice"))
	s.variables["OVATION_DRAIN"] = "1h"
	draining := s.start(t, "serve")
	for _, node := range []*server{waiting, draining} {
		node.signal()
		await.That(t, "the node is stopping", func() bool { return node.ready() != 200 })
		await.That(t, "a second signal ends the process", func() bool {
			node.signal()
			return isClosed(node.ended)
		})
		if e := node.stop(); e.code != -1 { // the process was not ended by the signal
			t.Errorf("got exit code %d, want -1, of a process ended by a signal:\n%s", e.code, e.stderr)
		}
	}
}
