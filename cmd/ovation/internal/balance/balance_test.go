package balance_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ovation/cmd/ovation/internal/balance"
	"ovation/internal/testing/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// node is a test server. Unless it has a handler, it answers each request with its own
// name and with the request's URL, host and body.
type node struct {
	*httptest.Server

	busy atomic.Bool // not ready
	mute atomic.Bool // does not answer probes
	got  atomic.Int64
}

func newNode(t *testing.T, name string, handler http.HandlerFunc) *node {
	t.Helper()
	n := new(node)
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/readyz" && n.busy.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/readyz" && n.mute.Load():
			<-r.Context().Done()
		case r.URL.Path == "/readyz":
		default:
			n.got.Add(1)
			if handler != nil {
				handler(w, r)
				return
			}
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s %s %s", name, r.URL, r.Host, body)
		}
	}))
	t.Cleanup(n.Close)
	return n
}

// front puts a balancer in front of nodes and waits until all the nodes are ready.
func front(t *testing.T, nodes ...*node) (*balance.Balancer, *httptest.Server) {
	t.Helper()
	b := balance.New(slog.New(slog.DiscardHandler))
	s := httptest.NewUnstartedServer(b)
	s.Config.WriteTimeout = time.Nanosecond // the balancer lifts this timeout
	s.Start()
	t.Cleanup(func() {
		s.Close()
		b.Close()
		b.Close()
	})
	for _, n := range nodes {
		must.Succeed(t, b.Add(n.URL))
	}
	becomes(t, b, len(nodes))
	return b, s
}

// becomes waits until the given number of nodes is ready.
func becomes(t *testing.T, b *balance.Balancer, ready int) {
	t.Helper()
	deadline, again := time.After(2*time.Minute), time.NewTicker(time.Millisecond)
	defer again.Stop()
	for b.Ready() != ready {
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("%d nodes are ready after 2 minutes, want %d", b.Ready(), ready)
		}
	}
}

func post(t *testing.T, s *httptest.Server, body string) (status int, answer string) {
	t.Helper()
	response, err := s.Client().Post(s.URL+"/graphql?a=%2F", "text/plain", strings.NewReader(body))
	must.Succeed(t, err)
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	must.Succeed(t, err)
	return response.StatusCode, string(raw)
}

func TestRequestsGoToTheReadyNodesInTurn(t *testing.T) {
	one, two := newNode(t, "one", nil), newNode(t, "two", nil)
	b, s := front(t, one, two)
	for range 10 {
		status, answer := post(t, s, "hello")
		if status != 200 || !strings.HasSuffix(answer, " /graphql?a=%2F "+strings.TrimPrefix(s.URL, "http://")+" hello") {
			t.Errorf("got status %d, %q, want 200, the path, host and body unchanged", status, answer)
		}
	}
	if one.got.Load() != 5 || two.got.Load() != 5 {
		t.Errorf("of 10 requests node one received %d, node two %d, want 5 each", one.got.Load(), two.got.Load())
	}
	one.busy.Store(true)
	becomes(t, b, 1)
	for range 4 {
		post(t, s, "")
	}
	if one.got.Load() != 5 || two.got.Load() != 9 {
		t.Errorf("after node one is busy, it has received %d requests, node two %d, want 5 and 9", one.got.Load(), two.got.Load())
	}
	two.busy.Store(true)
	becomes(t, b, 0)
	if status, answer := post(t, s, ""); status != 503 || !strings.Contains(answer, "no node is ready") {
		t.Errorf("without a node: got status %d, %q, want 503, \"no node is ready\"", status, answer)
	}
	one.busy.Store(false)
	becomes(t, b, 1)
	if status, answer := post(t, s, ""); status != 200 || !strings.HasPrefix(answer, "one ") {
		t.Errorf("after node one has recovered: got status %d, %q, want 200 from node one", status, answer)
	}
}

// If no node is ready, requests go to the nodes that do not answer their probes, because
// these nodes may only be busy. Nodes that report that they are not ready receive no
// requests.
func TestABusyNodeIsBetterThanNone(t *testing.T) {
	one, two := newNode(t, "one", nil), newNode(t, "two", nil)
	b, s := front(t, one, two)
	one.mute.Store(true)
	two.busy.Store(true)
	becomes(t, b, 0)
	for range 2 {
		if status, answer := post(t, s, ""); status != 200 || !strings.HasPrefix(answer, "one ") {
			t.Errorf("got status %d, %q, want 200 from node one", status, answer)
		}
	}
	two.busy.Store(false)
	becomes(t, b, 1)
	if _, answer := post(t, s, ""); !strings.HasPrefix(answer, "two ") {
		t.Errorf("got %q, want an answer of node two, the only one that is ready", answer)
	}
}

// The balancer must not pass on forged addresses, because nodes trust the balancer.
func TestForwardedAddressesAreThoseOfTheConnections(t *testing.T) {
	_, s := front(t, newNode(t, "one", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%q %q", r.Header["X-Forwarded-For"], r.Header["Forwarded"])
	}))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/graphql", nil)
	must.Succeed(t, err)
	request.Header["X-Forwarded-For"] = []string{"198.51.100.7", "203.0.113.9"}
	request.Header.Set("Forwarded", "for=198.51.100.7")
	response, err := s.Client().Do(request)
	must.Succeed(t, err)
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	must.Succeed(t, err)
	if string(said) != `["127.0.0.1"] []` {
		t.Errorf("the node received the addresses %s, want [\"127.0.0.1\"] []", said)
	}
}

func TestRefusedRequestsAreLoggedAsOneOutage(t *testing.T) {
	var log strings.Builder // not locked: a request is logged before it is answered
	b := balance.New(slog.New(slog.NewTextHandler(&log, nil)))
	defer b.Close()
	began := time.Now()
	for range 100 {
		answer := httptest.NewRecorder()
		b.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/graphql", nil))
		if answer.Code != http.StatusServiceUnavailable {
			t.Fatalf("without nodes: got status %d, want 503", answer.Code)
		}
	}
	most := 1 + int(time.Since(began)/(10*time.Second))
	if n := strings.Count(log.String(), "not passed on"); n < 1 || n > most {
		t.Errorf("%d lines are logged about one outage, want 1 to %d:\n%s", n, most, log.String())
	}
}

func TestARequestNotSentGoesToAnotherNode(t *testing.T) {
	one, two := newNode(t, "one", nil), newNode(t, "two", nil)
	two.Config.SetKeepAlivesEnabled(false) // over an idle connection, a request might count as sent
	b, s := front(t, one, two)
	two.Close()
	body := strings.Repeat("x", 1<<20)
	for range 4 { // whichever node is next, before and after the balancer notices the closed node
		if status, answer := post(t, s, body); status != 200 || !strings.HasPrefix(answer, "one ") || !strings.HasSuffix(answer, body) {
			t.Errorf("got status %d, %.100q, want 200 from node one, with the whole body", status, answer)
		}
	}
	becomes(t, b, 1)
}

func TestARequestSentIsNotRepeated(t *testing.T) {
	breaks := func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = connection.Close()
		}
	}
	one, two := newNode(t, "one", breaks), newNode(t, "two", breaks)
	_, s := front(t, one, two)
	for i := range 4 {
		if status, answer := post(t, s, "like"); status != 502 {
			t.Errorf("got status %d, %q, want 502", status, answer)
		}
		if got := one.got.Load() + two.got.Load(); got != int64(i+1) {
			t.Errorf("the nodes received %[2]d requests, want %[1]d", i+1, got)
		}
	}
}

// TestEarlyResponseIsForwardedWhole delays the end of a request until the response has
// begun, as happens on a busy machine.
func TestEarlyResponseIsForwardedWhole(t *testing.T) {
	sent := make(chan error, 1)
	n := newNode(t, "one", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Length", "10")
		fmt.Fprint(w, "begin")
		_ = http.NewResponseController(w).Flush()
		if err := <-sent; err != nil {
			t.Errorf("the rest of the request was not sent: %v", err)
			<-r.Context().Done() // the balancer closes the connection
			return
		}
		fmt.Fprint(w, "+rest")
	})
	b, _ := front(t, n)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := make(chan struct{})
		r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
			WroteRequest: func(info httptrace.WroteRequestInfo) { sent <- info.Err },
		}))
		r.Body = &endsLate{ReadCloser: r.Body, end: begun}
		b.ServeHTTP(&beginner{ResponseWriter: w, begun: sync.OnceFunc(func() { close(begun) })}, r)
	}))
	defer slow.Close()
	if status, answer := post(t, slow, "like"); status != 200 || answer != "begin+rest" {
		t.Errorf("got status %d, %q, want 200, \"begin+rest\"", status, answer)
	}
}

// endsLate is a request body. Once Read has reached the end of the body, further calls
// block until the channel end is closed.
type endsLate struct {
	io.ReadCloser

	end   <-chan struct{}
	ended bool
}

func (e *endsLate) Read(p []byte) (int, error) {
	if e.ended {
		<-e.end
	}
	n, err := e.ReadCloser.Read(p)
	e.ended = e.ended || err == io.EOF
	return n, err
}

// beginner is a response writer that calls the function begun after each flush.
type beginner struct {
	http.ResponseWriter

	begun func()
}

func (b *beginner) Unwrap() http.ResponseWriter { return b.ResponseWriter }

func (b *beginner) FlushError() error {
	defer b.begun()
	return http.NewResponseController(b.ResponseWriter).Flush()
}

func TestSocketsAndStreamsPass(t *testing.T) {
	proceed := make(chan struct{})
	n := newNode(t, "one", func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.Header.Get("Upgrade") == "" {
			for i := range 3 {
				fmt.Fprintf(w, "%d\n", i)
				_ = control.Flush()
				<-proceed
			}
			return
		}
		connection, buffered, err := control.Hijack()
		if err != nil {
			return
		}
		defer connection.Close()
		fmt.Fprint(connection, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_, _ = io.Copy(connection, buffered)
	})
	_, s := front(t, n)
	stream, err := s.Client().Get(s.URL + "/graphql")
	must.Succeed(t, err)
	defer stream.Body.Close()
	for i, lines := 0, bufio.NewScanner(stream.Body); i < 3; i++ {
		if !lines.Scan() || lines.Text() != fmt.Sprint(i) {
			t.Fatalf("line %d of the stream is %q, %v, want %d", i, lines.Text(), lines.Err(), i)
		}
		proceed <- struct{}{} // the next line is sent only after this line has been read
	}

	socket, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	must.Succeed(t, err)
	defer socket.Close()
	must.Succeed(t, socket.SetDeadline(time.Now().Add(2*time.Minute)))
	fmt.Fprint(socket, "GET /graphql HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	answers := bufio.NewReader(socket)
	answer, err := http.ReadResponse(answers, nil)
	must.Succeed(t, err)
	must.Succeed(t, answer.Body.Close())
	if answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("upgrade: got status %d, want 101", answer.StatusCode)
	}
	for _, said := range []string{"ping\n", "pong\n"} {
		fmt.Fprint(socket, said)
		if echo, err := answers.ReadString('\n'); err != nil || echo != said {
			t.Errorf("sent %q: got %q, %v, want it echoed", said, echo, err)
		}
	}
}

func TestAddRejectsInvalidNodes(t *testing.T) {
	b := balance.New(slog.New(slog.DiscardHandler))
	defer b.Close()
	for _, at := range []string{"", "127.0.0.1:8081", "https://x", "http:///readyz", "http://a b"} {
		if err := b.Add(at); err == nil || !strings.Contains(err.Error(), "write http://host:port") {
			t.Errorf("%q: got %v, want an error that says how to write the address", at, err)
		}
	}
}
