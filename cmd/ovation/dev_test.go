package main

import (
	"database/sql"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ovation/resolvers/viewer"
)

func TestBannersExamplesWork(t *testing.T) {
	s := serve(t, t.TempDir(), "--demo")
	example := regexp.MustCompile(`curl -s (\S+) -H '([^:]+): ([^']+)' -H '([^:]+): ([^']+)' -d '([^']+)'`)
	found := example.FindAllStringSubmatch(s.banner, -1)
	if len(found) != len(examples) {
		t.Fatalf("%d examples are shown, want %d:\n%s", len(found), len(examples), s.banner)
	}
	for _, e := range found {
		if e[1] != s.url+"/graphql" {
			t.Errorf("an example is for %s", e[1])
		}
		must(t, s.post([]byte(e[6]), map[string]string{e[2]: e[3], e[4]: e[5]}, nil))
	}

	token := regexp.MustCompile(`(?m)^  (ey\S+)$`).FindStringSubmatch(s.banner)
	if token == nil {
		t.Fatalf("no token is shown:\n%s", s.banner)
	}
	if got := s.viewer(t, token[1]); got != demoViewer {
		t.Errorf("the token is of %q", got)
	}
	for _, path := range []string{"/", "/healthz", "/readyz", "/metrics"} {
		response, err := client.Get(s.url + path)
		must(t, err)
		must(t, response.Body.Close())
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s answers %s", path, response.Status)
		}
	}
}

func TestBannerSaysWhereGraphiQLIsMissing(t *testing.T) {
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	for built, want := range map[bool]string{true: "GraphiQL  http://127.0.0.1:8080/\n", false: "GraphiQL  not built: "} {
		var out strings.Builder
		new(devCommand).banner(&out, addr, "ey", built)
		if !strings.Contains(out.String(), want) {
			t.Errorf("built %v: it does not say %q:\n%s", built, want, &out)
		}
	}
}

// viewer asks who the token's user is.
func (s *server) viewer(t *testing.T, token string) string {
	t.Helper()
	var got struct{ Viewer struct{ UserID string } }
	must(t, s.post([]byte(`{"query":"{ viewer { userId } }"}`), map[string]string{"Authorization": "Bearer " + token}, &got))
	return got.Viewer.UserID
}

func TestTokenFitsTheRunningServer(t *testing.T) {
	data := t.TempDir()
	call(t, environment(), "token", "--user=bob", "--data="+data).wants(t, 1, "there is no secret", "OVATION_JWT_SECRET")
	s := serve(t, data)
	got := call(t, environment(), "token", "--user=bob", "--data="+data)
	got.wants(t, 0)
	if user := s.viewer(t, strings.TrimSuffix(got.stdout, "\n")); user != "bob" {
		t.Errorf("the token is of %q", user)
	}

	own := strings.Repeat("s", 32)
	s = serve(t, t.TempDir(), "--jwt-secret="+own, "--issuer=me", "--audience=you")
	variables := environment("OVATION_JWT_SECRET", own, "OVATION_TOKEN_USER", "carol", "OVATION_ISSUER", "me", "OVATION_AUDIENCE", "you")
	got = call(t, variables, "token")
	got.wants(t, 0)
	if user := s.viewer(t, strings.TrimSpace(got.stdout)); user != "carol" {
		t.Errorf("the token is of %q", user)
	}
}

func TestSecretIsForItsOwnerOnly(t *testing.T) {
	data := t.TempDir()
	serve(t, data).stop()
	info, err := os.Stat(filepath.Join(data, secretFile))
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v", info.Mode())
	}
	must(t, os.WriteFile(filepath.Join(data, secretFile), []byte("short\n"), 0o600))
	call(t, environment(), "dev", "--addr=127.0.0.1:0", "--data="+data).wants(t, 1, "5 bytes long", "remove the file")
}

func TestRestartKeepsData(t *testing.T) {
	data := t.TempDir()
	s := serveBinary(t, data)
	s.like(t, "alice", "1")
	if got := s.stop(); got.code != 0 {
		t.Fatalf("it ended with code %d:\n%s", got.code, got.stderr)
	}
	s = serveBinary(t, data)
	if got := s.likes(t, "1"); got != 1 {
		t.Errorf("it has %d likes after the restart, want 1", got)
	}
	verified(t, data)
}

func TestDemoIsAddedOnceToAnEmptyStoreOnly(t *testing.T) {
	data := t.TempDir()
	s := serve(t, data, "--demo")
	before := s.likes(t, "1")
	if before < 20 {
		t.Errorf("the most popular video has %d likes", before)
	}
	s.stop()
	s = serve(t, data, "--demo")
	if got := s.likes(t, "1"); got != before {
		t.Errorf("%d likes became %d by a second start", before, got)
	}
	var got struct {
		Viewer struct {
			Folders struct {
				Edges []struct{ Node struct{ Name string } }
			}
		}
	}
	must(t, s.graphQL("alice", `{ viewer { folders { edges { node { name } } } } }`, &got))
	if n := len(got.Viewer.Folders.Edges); n != 3 {
		t.Errorf("alice has %d folders, want 3", n)
	}
	verified(t, data)

	data = t.TempDir()
	s = serve(t, data)
	s.like(t, "alice", "2")
	s.stop()
	s = serve(t, data, "--demo")
	if got := s.likes(t, "1"); got != 0 {
		t.Errorf("demo data was added to a store in use")
	}
}

func TestKeySetThatIsNotThere(t *testing.T) {
	call(t, environment(), "dev", "--addr=127.0.0.1:0", "--data="+t.TempDir(), "--jwks=/nope").
		wants(t, 1, "--jwks or OVATION_JWKS", "/nope", "no such file")
}

func TestPortInUse(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	addr := listener.Addr().String()
	call(t, environment("OVATION_ADDR", addr), "dev", "--data="+t.TempDir()).
		wants(t, 1, "another program listens on "+addr, "--addr")
}

func TestDataFolderHasOneServer(t *testing.T) {
	data := t.TempDir()
	s := serve(t, data)
	call(t, environment(), "dev", "--addr=127.0.0.1:0", "--data="+data).
		wants(t, 1, "another process serves the data folder "+data)
	s.stop()
	serve(t, data)
}

// TestReadOnlyDataFolder runs the program as somebody who may not write: the
// superuser always may.
func TestReadOnlyDataFolder(t *testing.T) {
	data := t.TempDir()
	must(t, os.Chmod(filepath.Dir(data), 0o755))
	must(t, os.Chmod(data, 0o555))
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
		out, _ := command.CombinedOutput() // the code tells
		ended{command.ProcessState.ExitCode(), string(out), ""}.wants(t, 1, data, "permission denied", "choose another folder by --data or OVATION_DATA")
	}
}

func TestDataFolderThatIsAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	call(t, environment(), "dev", "--addr=127.0.0.1:0", "--data="+file).
		wants(t, 1, "the data folder "+file+" cannot be made", "choose another folder")
}

func TestDatabaseThatIsNone(t *testing.T) {
	data := t.TempDir()
	must(t, os.WriteFile(filepath.Join(data, databaseFile), []byte(strings.Repeat("not a database\n", 1000)), 0o600))
	for _, command := range []string{"dev", "verify"} {
		call(t, environment("OVATION_ADDR", "127.0.0.1:0"), command, "--data="+data).
			wants(t, 1, databaseFile, "not a database", "move it away")
	}
}

func TestDatabaseOfANewerRelease(t *testing.T) {
	data := t.TempDir()
	serve(t, data).stop()
	db, err := sql.Open("sqlite", filepath.Join(data, databaseFile))
	must(t, err)
	_, err = db.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`)
	must(t, err)
	must(t, db.Close())
	for _, command := range []string{"dev", "verify"} {
		call(t, environment("OVATION_ADDR", "127.0.0.1:0"), command, "--data="+data).
			wants(t, 1, "made by a newer release", "9999")
	}
}

func TestDevHeadersAreBelievedOnLoopbackOnly(t *testing.T) {
	for addr, want := range map[address]viewer.DevHeaders{
		"127.0.0.1:8080": viewer.LocalDevHeaders, "localhost:0": viewer.LocalDevHeaders, "[::1]:80": viewer.LocalDevHeaders, "127.9.9.9:1": viewer.LocalDevHeaders,
		":8080": viewer.RefuseDevHeaders, "0.0.0.0:8080": viewer.RefuseDevHeaders, "[::]:80": viewer.RefuseDevHeaders,
		"10.0.0.1:80": viewer.RefuseDevHeaders, "example.com:80": viewer.RefuseDevHeaders,
	} {
		if got := (&devCommand{apiFlags: apiFlags{Addr: addr}}).devHeaders(); got != want {
			t.Errorf("on %s: %v", addr, got)
		}
	}
	s := serve(t, t.TempDir(), "--addr=0.0.0.0:0")
	if !strings.Contains(s.banner, "--insecure-dev-headers") || !strings.Contains(s.banner, "Authorization: Bearer ey") {
		t.Errorf("the banner does not say so:\n%s", s.banner)
	}
	var got struct{ Viewer *struct{} }
	if err := s.graphQL("alice", `{ viewer { userId } }`, &got); err == nil || !strings.Contains(err.Error(), "send a bearer token") {
		t.Errorf("X-Ovation-User where other machines can connect: %v", err)
	}
	s = serve(t, t.TempDir(), "--addr=0.0.0.0:0", "--insecure-dev-headers")
	must(t, s.graphQL("alice", `{ viewer { userId } }`, &got))
	if got.Viewer == nil {
		t.Error("X-Ovation-User is not believed in spite of the flag")
	}
}

func TestNotReadyWhileNothingCanBeWritten(t *testing.T) {
	data := t.TempDir()
	s := serve(t, data)
	other, err := sql.Open("sqlite", filepath.Join(data, databaseFile)+"?_txlock=immediate")
	must(t, err)
	defer func() { must(t, other.Close()) }()
	ready := func() int {
		res, err := http.Get(s.url + "/readyz")
		must(t, err)
		must(t, res.Body.Close())
		return res.StatusCode
	}
	if got := ready(); got != http.StatusOK {
		t.Fatalf("a service with nothing to do answers %d", got)
	}
	held, err := other.Begin() // another process that writes and does not end
	must(t, err)
	liked := make(chan error, 1)
	go func() {
		liked <- s.graphQL("alice", `mutation { like(input: {biz: "video", bizId: "1"}) { changed } }`, nil)
	}()
	waitFor(t, func() bool { return ready() == http.StatusServiceUnavailable })
	must(t, held.Rollback())
	must(t, <-liked)
	waitFor(t, func() bool { return ready() == http.StatusOK })
}
