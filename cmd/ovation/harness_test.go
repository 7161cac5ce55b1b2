package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ovation/internal/testing/must"
	"ovation/internal/testing/sqlitetest"
)

// binary is the path of the built command.
var binary string

func TestMain(m *testing.M) {
	if what := os.Getenv(crowdVariable); what != "" {
		os.Exit(runCrowd(what))
	}
	os.Exit(buildAndTest(m))
}

func buildAndTest(m *testing.M) int {
	folder, err := os.MkdirTemp("", "ovation")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	if err := os.Chmod(folder, 0o755); err != nil { // tests also run the binary as another user
		panic(err)
	}
	binary = filepath.Join(folder, "ovation")
	build := exec.Command("go", "build", "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	code := m.Run()
	client.CloseIdleConnections()
	// After a Redis Cluster has refused a connection, rueidis connects once more, a
	// second later. Nothing can stop that attempt.
	if err := goleak.Find(goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1")); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// environment returns a function that looks up variables in pairs, which holds
// alternating names and values.
func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// programResult is the exit code and the output of a program.
type programResult struct {
	command        string // its arguments
	code           int
	stdout, stderr string
}

// call runs the program in this process until it ends.
func call(tb testing.TB, getenv func(string) string, args ...string) programResult {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 2*time.Minute)
	defer cancel()
	return callWith(ctx, getenv, strings.NewReader(""), args...)
}

// callWith is like call, but runs the program with the given context and standard input.
func callWith(ctx context.Context, getenv func(string) string, stdin io.Reader, args ...string) programResult {
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, getenv, stdin, &stdout, &stderr)
	return programResult{strings.Join(args, " "), code, stdout.String(), stderr.String()}
}

// want checks the exit code of a program, and that its output contains all parts.
func (e programResult) want(tb testing.TB, code int, parts ...string) {
	tb.Helper()
	if e.code != code {
		tb.Errorf("ovation %s: got exit code %d, want %d\n%s%s", e.command, e.code, code, e.stdout, e.stderr)
	}
	for _, part := range parts {
		if !strings.Contains(e.stdout+e.stderr, part) {
			tb.Errorf("ovation %s: the output does not contain %q:\n%s%s", e.command, part, e.stdout, e.stderr)
		}
	}
}

// server is a running command: ovation dev, serve, work or stack.
type server struct {
	url    string
	banner string
	stop   func() programResult
	as     func(user string) map[string]string // returns the headers for a user; if nil, X-Ovation-User is sent
	log    func() string                       // returns what the process has logged; not set for servers in this process
	// Which of these are set depends on the function that started the server:
	pid    int
	kill   func()
	signal func()        // tells the server to stop
	ended  chan struct{} // closed when the server has ended
}

// bannerWriter collects what is written to it. When the banner is complete, Write sends
// the collected text to the channel ready.
type bannerWriter struct {
	mu        sync.Mutex
	text      bytes.Buffer
	ready     chan string
	announced bool
}

var bannerEnd = regexp.MustCompile(`(?s)GraphQL +(http://\S+)/graphql.*curl.*curl.*curl[^\n]*\n`)

func newBannerWriter() *bannerWriter { return &bannerWriter{ready: make(chan string, 1)} }

func (w *bannerWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	if !w.announced && bannerEnd.Match(w.text.Bytes()) {
		w.announced = true
		w.ready <- w.text.String()
	}
	return len(p), nil
}

func (w *bannerWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// emptyData returns a data folder with an empty database, as it is after the first start
// of ovation dev.
func emptyData(tb testing.TB) string {
	tb.Helper()
	return filepath.Dir(sqlitetest.NewFile(tb))
}

// serve runs ovation dev in this process, on a free port, with development
// headers.
func serve(tb testing.TB, data string, flags ...string) *server {
	tb.Helper()
	return serveBare(tb, data, append([]string{"--dev-headers"}, flags...)...)
}

// serveBare is like serve, but runs ovation dev without development headers.
func serveBare(tb testing.TB, data string, flags ...string) *server {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stdout, stderr := newBannerWriter(), newBannerWriter()
	code := make(chan int, 1)
	args := append([]string{"dev", "--addr=127.0.0.1:0", "--data=" + data}, flags...)
	go func() { code <- run(ctx, args, environment(), strings.NewReader(""), stdout, stderr) }()
	stop := sync.OnceValue(func() programResult {
		cancel()
		return programResult{strings.Join(args, " "), <-code, stdout.String(), stderr.String()}
	})
	tb.Cleanup(func() { stop() })
	s := &server{stop: stop}
	s.await(tb, stdout, stderr)
	return s
}

// serveBinary runs ovation dev in a process of its own, with an empty environment and
// development headers.
func serveBinary(tb testing.TB, data string, flags ...string) *server {
	tb.Helper()
	return serveBinaryWith(tb, data, func(*exec.Cmd) {}, flags...)
}

// serveBinaryWith is like serveBinary, but prepare may change the command before it is
// started.
func serveBinaryWith(tb testing.TB, data string, prepare func(*exec.Cmd), flags ...string) *server {
	tb.Helper()
	stdout, stderr := newBannerWriter(), newBannerWriter()
	command := exec.Command(binary, append([]string{"dev", "--addr=127.0.0.1:0", "--data=" + data, "--dev-headers", "--log-level=warn"}, flags...)...)
	command.Env = []string{} // not this process's
	command.Stdout, command.Stderr = stdout, stderr
	prepare(command)
	must.Succeed(tb, command.Start())
	over := make(chan struct{})
	go func() {
		_ = command.Wait() // the exit code is checked instead
		close(over)
	}()
	signal := func() { _ = command.Process.Signal(os.Interrupt) } // unless it has ended
	s := &server{
		pid:    command.Process.Pid,
		signal: signal,
		ended:  over,
		log:    stderr.String,
		kill: func() {
			must.Succeed(tb, command.Process.Kill())
			<-over
		},
		stop: func() programResult {
			signal()
			<-over
			return programResult{strings.Join(command.Args[1:], " "), command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
		},
	}
	tb.Cleanup(func() { s.stop() })
	s.await(tb, stdout, stderr)
	return s
}

func (s *server) await(tb testing.TB, stdout, stderr *bannerWriter) {
	tb.Helper()
	select {
	case s.banner = <-stdout.ready:
	case <-time.After(2 * time.Minute):
		tb.Fatalf("no complete banner was printed within 2 minutes:\n%s%s", stdout, stderr)
	}
	s.url = bannerEnd.FindStringSubmatch(s.banner)[1]
}

// client keeps enough connections for a load test. The transport dials more connections
// than it uses. A server closes unused connections after 15 s (ReadTimeout), and a
// request sent at that moment fails. The client therefore closes unused connections
// earlier.
var client = &http.Client{
	Timeout:   2 * time.Minute,
	Transport: &http.Transport{MaxIdleConns: 5000, MaxIdleConnsPerHost: 5000, IdleConnTimeout: 2 * time.Second},
}

// dev returns the header that identifies a user to "ovation dev --dev-headers".
func dev(user string) map[string]string { return map[string]string{"X-Ovation-User": user} }

// graphQL sends an operation as the given user and decodes the response's data.
func (s *server) graphQL(user, query string, into any) error {
	body, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		return err
	}
	headers := dev(user)
	if s.as != nil {
		headers = s.as(user)
	}
	return s.post(body, headers, into)
}

func (s *server) post(body []byte, headers map[string]string, into any) error {
	request, err := http.NewRequest(http.MethodPost, s.url+"/graphql", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	var answer struct {
		Data   json.RawMessage
		Errors []struct{ Message string }
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("status %d: %s: %w", response.StatusCode, raw, err)
	}
	if response.StatusCode != http.StatusOK || len(answer.Errors) > 0 {
		return fmt.Errorf("status %d: %s", response.StatusCode, raw)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer.Data, into)
}

// get requests an address and reads the whole response.
func get(tb testing.TB, address string) (status int, header http.Header, body []byte) {
	tb.Helper()
	response, err := client.Get(address)
	must.Succeed(tb, err)
	body, err = io.ReadAll(response.Body)
	must.Succeed(tb, errors.Join(err, response.Body.Close()))
	return response.StatusCode, response.Header, body
}

// likes returns the number of likes on a video.
func (s *server) likes(t *testing.T, id string) int {
	t.Helper()
	var got struct{ Interactive struct{ LikeCount int } }
	must.Succeed(t, s.graphQL("", fmt.Sprintf(`{ interactive(biz: "video", bizId: %q) { likeCount } }`, id), &got))
	return got.Interactive.LikeCount
}

func (s *server) like(tb testing.TB, user, id string) {
	tb.Helper()
	must.Succeed(tb, s.graphQL(user, fmt.Sprintf(`mutation { like(input: {biz: "video", bizId: %q}) { changed } }`, id), nil))
}

// verified checks that ovation verify finds no difference in the data folder.
func verified(t *testing.T, data string) {
	t.Helper()
	runBinary(t, "verify", "--data="+data).want(t, 0, "0 differences; ")
}
