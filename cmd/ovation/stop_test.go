package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// slowLike is a request that is under way: its headers are read, its body is
// not yet sent.
type slowLike struct {
	connection net.Conn
	answers    *bufio.Reader
}

const slowBody = `{"query":"mutation { like(input: {biz: \"video\", bizId: \"1\"}) { changed } }"}`

func beginLike(t *testing.T, s *server) *slowLike {
	t.Helper()
	host := strings.TrimPrefix(s.url, "http://")
	connection, err := net.Dial("tcp", host)
	must(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	_, err = fmt.Fprintf(connection, "POST /graphql HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"X-Ovation-User: alice\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", host, len(slowBody))
	must(t, err)
	l := &slowLike{connection, bufio.NewReader(connection)}
	if answer := l.answer(t); answer != http.StatusContinue {
		t.Fatalf("the server answers %d", answer)
	}
	return l
}

// answer returns the status of what the server says next.
func (l *slowLike) answer(t *testing.T) int {
	t.Helper()
	must(t, l.connection.SetReadDeadline(time.Now().Add(10*time.Second)))
	answer, err := http.ReadResponse(l.answers, nil)
	must(t, err)
	must(t, answer.Body.Close())
	return answer.StatusCode
}

// refuses waits until the server accepts no more.
func (s *server) refuses(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			return
		}
		must(t, connection.Close())
	}
	t.Fatal("the server goes on accepting")
}

func TestStopFinishesWhatIsUnderWay(t *testing.T) {
	data := t.TempDir()
	s := serveBinary(t, data)
	like := beginLike(t, s)
	s.signal()
	s.refuses(t)
	_, err := like.connection.Write([]byte(slowBody))
	must(t, err)
	if answer := like.answer(t); answer != http.StatusOK {
		t.Errorf("the request under way was answered %d", answer)
	}
	<-s.ended
	if got := s.stop(); got.code != 0 {
		t.Errorf("it ended with code %d:\n%s", got.code, got.stderr)
	}
	if got := sums(t, data, "true")[1]; got != 1 {
		t.Errorf("there are %d likes, want 1", got)
	}
}

func TestSecondSignalStopsAtOnce(t *testing.T) {
	s := serveBinary(t, t.TempDir())
	beginLike(t, s) // it would be waited for
	s.signal()
	s.refuses(t)
	began := time.Now()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case <-s.ended:
			if took := time.Since(began); took > stopTimeout/2 {
				t.Errorf("it took %v", took)
			}
			return
		case <-again.C:
			s.signal()
		}
	}
}
