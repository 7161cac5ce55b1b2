package main

import (
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ovation/api/viewer"
	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

func TestBannersExamplesWork(t *testing.T) {
	t.Parallel()
	s := serve(t, emptyData(t), "--demo")
	example := regexp.MustCompile(`curl -s (\S+) -H '([^:]+): ([^']+)' -H '([^:]+): ([^']+)' -d '([^']+)'`)
	found := example.FindAllStringSubmatch(s.banner, -1)
	if len(found) != len(examples) {
		t.Fatalf("%d examples are shown, want %d:\n%s", len(found), len(examples), s.banner)
	}
	for _, e := range found {
		if e[1] != s.url+"/graphql" {
			t.Errorf("an example is for %s, want %s/graphql", e[1], s.url)
		}
		must.Succeed(t, s.post([]byte(e[6]), map[string]string{e[2]: e[3], e[4]: e[5]}, nil))
	}

	token := regexp.MustCompile(`(?m)^  (ey\S+)$`).FindStringSubmatch(s.banner)
	if token == nil {
		t.Fatalf("the banner shows no token:\n%s", s.banner)
	}
	if got := s.viewer(t, token[1]); got != demoViewer {
		t.Errorf("the token in the banner is of %q, want %q", got, demoViewer)
	}
	for _, path := range []string{"/", "/healthz", "/readyz", "/metrics"} {
		if status, _, body := get(t, s.url+path); status != http.StatusOK {
			t.Errorf("GET %s = %d, %.200s, want 200", path, status, body)
		}
	}
}

func TestMetricsHaveTheirOwnListener(t *testing.T) {
	t.Parallel()
	s := serve(t, emptyData(t), "--metrics-addr=127.0.0.1:0")
	found := regexp.MustCompile(`Metrics +(http://\S+)/metrics`).FindStringSubmatch(s.banner)
	if found == nil || found[1] == s.url {
		t.Fatalf("the banner names no separate address for metrics:\n%s", s.banner)
	}
	must.Succeed(t, s.graphQL("alice", `{ viewer { userId } }`, nil))
	for at, want := range map[string]int{
		s.url + "/metrics": http.StatusNotFound, found[1] + "/metrics": http.StatusOK,
		found[1] + "/graphql": http.StatusNotFound, found[1] + "/": http.StatusNotFound,
	} {
		status, _, body := get(t, at)
		if status != want || want == http.StatusOK && !strings.Contains(string(body), `ovation_graphql_requests_total{code="OK"`) {
			t.Errorf("GET %s = %d, %s, want %d, with metrics if 200", at, status, body, want)
		}
	}
	taken := strings.TrimPrefix(s.url, "http://")
	call(t, environment("OVATION_METRICS_ADDR", taken), "dev", "--addr=127.0.0.1:0", "--data="+t.TempDir()).
		want(t, 1, "another program listens on "+taken, "--metrics-addr or OVATION_METRICS_ADDR")
	call(t, environment("OVATION_METRICS_ADDR", "9090"), "dev").want(t, exitUsage, `"9090" is not an address`)
	s.stop().want(t, 0)
	if conn, err := net.Dial("tcp", strings.TrimPrefix(found[1], "http://")); err == nil {
		t.Error("the address for metrics accepts a connection after the end, want it closed")
		must.Succeed(t, conn.Close())
	}
}

func TestBannerSaysWhereGraphiQLIsMissing(t *testing.T) {
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	for built, want := range map[bool]string{true: "GraphiQL  http://127.0.0.1:8080/\n", false: "GraphiQL  not built: "} {
		var out strings.Builder
		new(devCommand).banner(&out, addr, nil, "ey", built)
		if !strings.Contains(out.String(), want) {
			t.Errorf("banner with pages built: %v = %s, want %q in it", built, &out, want)
		}
	}
}

// viewer returns the id of the token's user, as the server reports it.
func (s *server) viewer(t *testing.T, token string) string {
	t.Helper()
	var got struct{ Viewer struct{ UserID string } }
	must.Succeed(t, s.post([]byte(`{"query":"{ viewer { userId } }"}`), bearer(token), &got))
	return got.Viewer.UserID
}

func TestTokenFitsTheRunningServer(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	call(t, environment(), "token", "--user=bob", "--data="+data).want(t, 1, "there is no secret", "OVATION_JWT_SECRET")
	s := serve(t, data)
	got := call(t, environment(), "token", "--user=bob", "--data="+data)
	got.want(t, 0)
	if user := s.viewer(t, strings.TrimSuffix(got.stdout, "\n")); user != "bob" {
		t.Errorf("ovation token --user=bob made a token of %q, want bob", user)
	}

	own := strings.Repeat("s", 32)
	s = serve(t, emptyData(t), "--jwt-secret="+own, "--issuer=me", "--audience=you")
	variables := environment("OVATION_JWT_SECRET", own, "OVATION_TOKEN_USER", "carol", "OVATION_ISSUER", "me", "OVATION_AUDIENCE", "you")
	got = call(t, variables, "token")
	got.want(t, 0)
	if user := s.viewer(t, strings.TrimSpace(got.stdout)); user != "carol" {
		t.Errorf("ovation token with OVATION_TOKEN_USER=carol made a token of %q, want carol", user)
	}
}

func TestSecretIsForItsOwnerOnly(t *testing.T) {
	data := t.TempDir()
	serve(t, data).stop()
	info, err := os.Stat(filepath.Join(data, secretFile))
	must.Succeed(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of %s is %v, want -rw-------", secretFile, info.Mode())
	}
	must.Succeed(t, os.WriteFile(filepath.Join(data, secretFile), []byte("short\n"), 0o600))
	call(t, environment(), "dev", "--addr=127.0.0.1:0", "--data="+data).want(t, 1, "5 bytes long", "remove the file")
}

// TestSecretIsWrittenToANewFileOnly checks that the secret is never written to an
// existing file or through a link. Another user could have created the file or the link
// to read the secret.
func TestSecretIsWrittenToANewFileOnly(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(part, elsewhere string) error{
		"a file": func(part, _ string) error { return os.WriteFile(part, []byte("planted"), 0o666) },
		"a link": func(part, elsewhere string) error { return os.Symlink(elsewhere, part) },
		"a link to a file": func(part, elsewhere string) error {
			return errors.Join(os.WriteFile(elsewhere, []byte("planted"), 0o666), os.Symlink(elsewhere, part))
		},
	} {
		data, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "elsewhere")
		part := filepath.Join(data, secretFile+".new")
		must.Succeed(t, plant(part, elsewhere))
		call(t, environment(), "dev", "--addr=127.0.0.1:0", "--data="+data).want(t, 1, part+" exists already", "remove it")
		for _, path := range []string{part, elsewhere} {
			if text, err := os.ReadFile(path); err == nil && string(text) != "planted" {
				t.Errorf("%s: %s contains %q, want %q as before", name, path, text, "planted")
			}
		}
		must.Succeed(t, os.Remove(part))
		serve(t, data).stop().want(t, 0)
	}
}

func TestDemoIsAddedOnceToAnEmptyStoreOnly(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := serve(t, data, "--demo", "--no-videos")
	before := s.likes(t, "1")
	if before < 20 {
		t.Errorf("the most popular video has %d likes, want at least 20", before)
	}
	s.stop()
	s = serve(t, data, "--demo", "--no-videos")
	if got := s.likes(t, "1"); got != before {
		t.Errorf("after a second start the video has %d likes, want %d as before", got, before)
	}
	var got struct {
		Viewer struct {
			Folders struct {
				Edges []struct{ Node struct{ Name string } }
			}
		}
	}
	must.Succeed(t, s.graphQL("alice", `{ viewer { folders { edges { node { name } } } } }`, &got))
	if n := len(got.Viewer.Folders.Edges); n != 4 {
		t.Errorf("alice has %d folders, want 4", n)
	}
	verified(t, data)

	data = t.TempDir()
	s = serve(t, data)
	s.like(t, "alice", "2")
	s.stop()
	s = serve(t, data, "--demo", "--no-videos")
	if got := s.likes(t, "1"); got != 0 {
		t.Errorf("a store in use has %d likes after a start with --demo, want 0", got)
	}
}

func TestKeySetNeedsAnAudience(t *testing.T) {
	call(t, environment("OVATION_JWKS", "/nope"), "dev", "--addr=127.0.0.1:0", "--data="+t.TempDir()).
		want(t, exitUsage, "--jwks or OVATION_JWKS needs --audience or OVATION_AUDIENCE", "the word any")
	pairs := []string{"OVATION_JWKS", "/nope"}
	for _, url := range distributed {
		pairs = append(pairs, url, "scheme://host")
	}
	call(t, environment(pairs...), "serve").want(t, exitUsage, "needs --audience or OVATION_AUDIENCE")
	s := serveBare(t, emptyData(t), "--audience=any") // the token in the banner must be valid, too
	token := regexp.MustCompile(`(?m)^  (ey\S+)$`).FindStringSubmatch(s.banner)
	if user := s.viewer(t, token[1]); user != demoViewer {
		t.Errorf("the token in the banner is of %q, want %q", user, demoViewer)
	}
}

func TestPortInUse(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	defer listener.Close()
	addr := listener.Addr().String()
	call(t, environment("OVATION_ADDR", addr), "dev", "--data="+t.TempDir()).
		want(t, 1, "another program listens on "+addr, "--addr")
}

func TestDataFolderHasOneServer(t *testing.T) {
	data := t.TempDir()
	s := serve(t, data)
	call(t, environment(), "dev", "--addr=127.0.0.1:0", "--data="+data).
		want(t, 1, "another process already serves the data folder "+data)
	s.stop()
	serve(t, data)
}

// TestReadOnlyDataFolder runs the program as a user who, unlike root, may not write to
// the folder.
func TestReadOnlyDataFolder(t *testing.T) {
	data := t.TempDir()
	must.Succeed(t, os.Chmod(filepath.Dir(data), 0o755))
	must.Succeed(t, os.Chmod(data, 0o555))
	defer os.Chmod(data, 0o755)
	for _, args := range [][]string{
		{"dev", "--addr=127.0.0.1:0", "--data=" + data},
		{"dev", "--addr=127.0.0.1:0", "--data=" + filepath.Join(data, "below")},
		{"import", "--data=" + data, "/dev/null"},
	} {
		command := exec.Command(binary, args...)
		command.Env = []string{}
		command.Dir = "/"
		if os.Geteuid() == 0 {
			const nobody = 65534
			command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
		out, _ := command.CombinedOutput() // the exit code is checked instead
		programResult{strings.Join(args, " "), command.ProcessState.ExitCode(), string(out), ""}.want(t, 1, data, "permission denied", "choose another folder by --data or OVATION_DATA")
	}
}

func TestDataFolderThatIsAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Succeed(t, os.WriteFile(file, nil, 0o600))
	call(t, environment(), "dev", "--addr=127.0.0.1:0", "--data="+file).
		want(t, 1, "the data folder "+file+" cannot be made", "choose another folder")
}

func TestInvalidDatabaseFileIsRejected(t *testing.T) {
	data := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(data, databaseFile), []byte(strings.Repeat("not a database\n", 1000)), 0o600))
	for _, command := range []string{"dev", "verify"} {
		call(t, environment("OVATION_ADDR", "127.0.0.1:0"), command, "--data="+data).
			want(t, 1, databaseFile, "not a database", "move it away")
	}
}

func TestDatabaseOfANewerRelease(t *testing.T) {
	data := t.TempDir()
	serve(t, data).stop()
	db, err := sql.Open("sqlite", filepath.Join(data, databaseFile))
	must.Succeed(t, err)
	_, err = db.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`)
	must.Succeed(t, err)
	must.Succeed(t, db.Close())
	for _, command := range []string{"dev", "verify"} {
		call(t, environment("OVATION_ADDR", "127.0.0.1:0"), command, "--data="+data).
			want(t, 1, "made by a newer release", "9999")
	}
}

func TestDevHeadersNeedAFlagAndALoopbackAddress(t *testing.T) {
	loopback := []address{"127.0.0.1:8080", "localhost:0", "[::1]:80", "127.9.9.9:1"}
	open := []address{":8080", "0.0.0.0:8080", "[::]:80", "10.0.0.1:80", "example.com:80"}
	for _, c := range []struct {
		command devCommand
		on      []address
		want    viewer.DevHeaders
	}{
		{devCommand{}, append(loopback, open...), viewer.RefuseDevHeaders},
		{devCommand{Demo: true}, loopback, viewer.LocalDevHeaders},
		{devCommand{DevHeaders: true}, loopback, viewer.LocalDevHeaders},
		{devCommand{Demo: true}, open, viewer.RefuseDevHeaders},
		{devCommand{Demo: true, InsecureDevHeaders: true}, open, viewer.TrustDevHeaders},
	} {
		for _, addr := range c.on {
			if c.command.Addr = addr; c.command.devHeaders() != c.want {
				t.Errorf("devHeaders of %+v on %s = %v, want %v", c.command, addr, c.command.devHeaders(), c.want)
			}
		}
	}
	for _, addr := range open {
		call(t, environment("OVATION_DEV_HEADERS", "true"), "dev", "--data="+t.TempDir(), "--addr="+string(addr)).
			want(t, exitUsage, "--dev-headers or OVATION_DEV_HEADERS", string(addr), "loopback")
	}
}

func TestBannerMentionsDevHeaders(t *testing.T) {
	const ask = `{ viewer { userId } }`
	var got struct{ Viewer *struct{ UserID string } }
	for _, flags := range [][]string{nil, {"--addr=0.0.0.0:0", "--demo"}} {
		s := serveBare(t, emptyData(t), append(flags, "--no-videos")...)
		if !strings.Contains(s.banner, "Authorization: Bearer ey") || strings.Contains(s.banner, "X-Ovation-User: ") || strings.Contains(s.banner, "WARNING") {
			t.Errorf("%v: want examples with tokens only and no warning, got the banner:\n%s", flags, s.banner)
		}
		if err := s.graphQL("alice", ask, &got); err == nil || !strings.Contains(err.Error(), "Send a bearer token") {
			t.Errorf("%v: X-Ovation-User: got %v, want \"Send a bearer token\"", flags, err)
		}
	}
	for _, flags := range [][]string{{"--dev-headers"}, {"--demo"}, {"--addr=0.0.0.0:0", "--insecure-dev-headers"}} {
		s := serveBare(t, emptyData(t), append(flags, "--no-videos")...)
		if !strings.Contains(s.banner, "WARNING: every") {
			t.Errorf("%v: the banner does not warn that headers are believed:\n%s", flags, s.banner)
		}
		must.Succeed(t, s.graphQL("alice", ask, &got))
		if got.Viewer == nil || got.Viewer.UserID != "alice" {
			t.Errorf("X-Ovation-User: alice with %v: got the viewer %+v, want alice", flags, got.Viewer)
		}
	}
}

// TestReverseProxyCannotImpersonateUsers runs a reverse proxy in front of ovation dev on
// the same machine. Like many proxies, it rewrites Host. Clients of the proxy must not be
// able to use X-Ovation-User.
func TestReverseProxyCannotImpersonateUsers(t *testing.T) {
	t.Parallel()
	ask := func(s *server, rewrite func(*httputil.ProxyRequest)) string {
		t.Helper()
		proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: rewrite})
		defer proxy.Close()
		through := *s
		through.url = proxy.URL
		var got struct{ Viewer *struct{ UserID string } }
		err := through.graphQL("alice", `{ viewer { userId } }`, &got)
		if err == nil && got.Viewer != nil {
			t.Errorf("X-Ovation-User through a proxy: got the viewer %s, want none", got.Viewer.UserID)
		}
		return fmt.Sprint(err)
	}
	for _, flag := range []string{"", "--dev-headers", "--demo"} {
		s := serveBare(t, emptyData(t), append(strings.Fields(flag), "--no-videos")...)
		at, err := url.Parse(s.url)
		must.Succeed(t, err)
		said := ask(s, func(r *httputil.ProxyRequest) {
			r.SetURL(at)
			r.Out.Host = at.Host
			r.SetXForwarded()
		})
		if flag != "" && !strings.Contains(said, "not accepted through a proxy") {
			t.Errorf("%q: got %s, want the headers refused through a proxy", flag, said)
		}
		if flag == "" { // a proxy that adds no headers
			ask(s, func(r *httputil.ProxyRequest) { r.SetURL(at) })
		}
		s.stop()
	}
}

func TestNotReadyWhileNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := serve(t, data)
	other, err := sql.Open("sqlite", filepath.Join(data, databaseFile)+"?_txlock=immediate")
	must.Succeed(t, err)
	defer func() { must.Succeed(t, other.Close()) }()
	if got := s.ready(); got != http.StatusOK {
		t.Fatalf("GET /readyz while nothing is written = %d, want 200", got)
	}
	held, err := other.Begin() // like another process whose transaction does not end
	must.Succeed(t, err)
	liked := make(chan error, 1)
	go func() {
		liked <- s.graphQL("alice", `mutation { like(input: {biz: "video", bizId: "1"}) { changed } }`, nil)
	}()
	await.That(t, "a node that cannot write is not ready", func() bool { return s.ready() == http.StatusServiceUnavailable })
	must.Succeed(t, held.Rollback())
	if err := <-liked; err != nil && !strings.Contains(err.Error(), `"UNAVAILABLE"`) { // the mutation may time out after a few seconds
		t.Error(err)
	}
	await.That(t, "a node that can write again is ready", func() bool { return s.ready() == http.StatusOK })
}
