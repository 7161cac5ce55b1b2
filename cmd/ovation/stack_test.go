package main

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// startStack runs ovation stack in a process of its own.
func (s *site) startStack(t *testing.T, data string, flags ...string) *server {
	t.Helper()
	c := exec.Command(binary, append([]string{"stack", "--addr=127.0.0.1:0", "--log-level=warn", "--data=" + data}, flags...)...)
	c.Env = s.environ()
	stdout, stderr := newBannerWriter(), newBannerWriter()
	c.Stdout, c.Stderr = stdout, stderr
	must.Succeed(t, c.Start())
	over := make(chan struct{})
	go func() {
		_ = c.Wait() // the exit code is checked instead
		close(over)
	}()
	n := &server{as: as, ended: over, signal: func() { _ = c.Process.Signal(os.Interrupt) }} // unless it has ended
	n.stop = func() programResult {
		n.signal()
		<-over
		return programResult{strings.Join(c.Args[1:], " "), c.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	}
	t.Cleanup(func() { n.stop() })
	n.await(t, stdout, stderr)
	return n
}

// clips waits until the demo has clips, and returns those that it has then.
func (s *server) clips(t *testing.T) (clips []douyinVideo) {
	t.Helper()
	await.That(t, "the demo has clips", func() bool {
		clips = douyinClient{t, s.url}.get("feed/").ok(t).VideoList
		return len(clips) > 0
	})
	return clips
}

// parts returns the process ids that the banner shows, keyed by the names of the
// processes.
func (s *server) parts(t *testing.T) map[string]int {
	t.Helper()
	parts := map[string]int{}
	for _, found := range regexp.MustCompile(`((?:serve|work)-\d) +http\S+, process (\d+)`).FindAllStringSubmatch(s.banner, -1) {
		process, err := strconv.Atoi(found[2])
		must.Succeed(t, err)
		parts[found[1]] = process
	}
	if len(parts) != 4 {
		t.Fatalf("the banner names the processes %v, want 4:\n%s", parts, s.banner)
	}
	return parts
}

// wantNoProcesses checks that none of the processes still runs.
func wantNoProcesses(t *testing.T, parts map[string]int) {
	t.Helper()
	for name, process := range parts {
		if err := syscall.Kill(process, 0); err == nil {
			t.Errorf("%s, process %d, still runs after the stack has ended", name, process)
		}
	}
}

func TestStackIsOneAddressThatStopsCleanly(t *testing.T) {
	t.Parallel()
	s := emptySite(t)
	data := t.TempDir()
	n := s.startStack(t, data)
	parts := n.parts(t)
	before := n.likes(t, "1")
	if before == 0 {
		t.Error("video 1 of the demo data has no likes")
	}
	for i := range 4 { // both nodes have their turn
		n.like(t, "viewer-"+strconv.Itoa(i), "1")
	}
	await.That(t, "the likes are counted", func() bool { return n.likes(t, "1") == before+4 })
	token := regexp.MustCompile(`Authorization: Bearer (\S+)'`).FindStringSubmatch(n.banner)[1]
	if user := n.viewer(t, token); user != demoViewer {
		t.Errorf("the token in the banner is of %q, want %q", user, demoViewer)
	}
	if status, _, page := get(t, n.url+"/"); status != http.StatusOK {
		t.Errorf("GET / = %d, %s, want 200", status, page)
	}
	if !strings.Contains(n.banner, "Data      in Postgres; videos and the secret for tokens in "+data) {
		t.Errorf("the banner does not name Postgres and %s as the places of the data:\n%s", data, n.banner)
	}
	clips := n.clips(t)
	if !strings.HasPrefix(clips[0].PlayURL, n.url+"/media/videos/") {
		t.Fatalf("the clips of the demo data are %+v, want a play_url below %s/media/videos/", clips, n.url)
	}
	if status, _, _ := get(t, clips[0].PlayURL); status != http.StatusOK {
		t.Errorf("GET %s = %d, want 200", clips[0].PlayURL, status)
	}
	status, _, says := get(t, n.url+"/metrics")
	if named := regexp.MustCompile(`(?m)^(serve|work)-\d http://127.0.0.1:\d+/metrics$`).FindAll(says, -1); status != http.StatusNotFound || len(named) != 4 {
		t.Errorf("GET /metrics = %d, %s, want 404 and the addresses of four processes", status, says)
	}
	n.stop().want(t, 0)
	wantNoProcesses(t, parts)
	s.run(t, "verify").want(t, 0, "0 differences; ")
}

func TestStackStartsInTheDataFolderOfOtherDatabases(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	serve(t, data).stop().want(t, 0)
	one, other := emptySite(t), emptySite(t)
	for _, s := range []*site{one, other, one} {
		n := s.startStack(t, data)
		clips := n.clips(t)
		if status, _, _ := get(t, clips[0].PlayURL); status != http.StatusOK {
			t.Errorf("GET %s = %d, want 200", clips[0].PlayURL, status)
		}
		n.stop().want(t, 0)
	}
	serve(t, data).stop().want(t, 0)
}

func TestStackStopsWithThePartThatDied(t *testing.T) {
	t.Parallel()
	for _, dies := range []string{"serve-2", "work-1"} {
		t.Run(dies, func(t *testing.T) {
			t.Parallel()
			n := emptySite(t).startStack(t, t.TempDir())
			parts := n.parts(t)
			must.Succeed(t, syscall.Kill(parts[dies], syscall.SIGKILL))
			<-n.ended
			n.stop().want(t, exitFailed, "ovation: "+dies+" exited unexpectedly: signal: killed; its log ", dies+".log")
			wantNoProcesses(t, parts)
		})
	}
}

func TestTokensOfAStackNeedNoSecret(t *testing.T) {
	t.Parallel()
	s := emptySite(t)
	delete(s.variables, "OVATION_JWT_SECRET")
	data := t.TempDir()
	mint := func() programResult { return s.run(t, "token", "--user=bob", "--data="+data) }
	mint().want(t, exitUsage, "set OVATION_JWT_SECRET to the secret of its nodes")
	n := s.startStack(t, data)
	if how := "ovation token --data '" + data + "' --user USER makes others"; !strings.Contains(n.banner, how) {
		t.Errorf("the banner does not say %q:\n%s", how, n.banner)
	}
	token := mint()
	token.want(t, 0)
	if user := n.viewer(t, strings.TrimSpace(token.stdout)); user != "bob" {
		t.Errorf("the token is of %q, want bob", user)
	}
	n.stop().want(t, 0)
	mint().want(t, exitUsage, "ovation stack does not run on it")
}

func TestLogsOfAStackAreAddedTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "work-1.log")
	write := func(line string) *childProcess {
		file, from, err := openLog(path)
		must.Succeed(t, err)
		_, err = file.WriteString(line)
		must.Succeed(t, errors.Join(err, file.Close()))
		return &childProcess{log: path, from: from}
	}
	write("first\n")
	if says := write("").logTail(); !strings.HasSuffix(says, "says nothing of it") {
		t.Errorf("logTail of a run that logged nothing = %s, want no line of an earlier run", says)
	}
	if says := write("second\nthird\n").logTail(); !strings.HasSuffix(says, "ends:\n  second\n  third") {
		t.Errorf("logTail = %s, want the lines second and third", says)
	}
	must.Succeed(t, os.Truncate(path, maxLog+1))
	write("fourth\n")
	for name, want := range map[string]int64{path: 7, path + ".old": maxLog + 1} {
		if file, err := os.Stat(name); err != nil || file.Size() != want {
			t.Errorf("%s: got %v, %v, want %d bytes", name, file, err, want)
		}
	}
}

func TestStackRefusesToStartHalf(t *testing.T) {
	t.Parallel()
	call(t, environment("OVATION_REDIS_URL", "redis://x"), "stack").want(t, exitUsage, "ovation stack needs", "OVATION_POSTGRES_URL, OVATION_RABBITMQ_URL")
	s := emptySite(t)
	call(t, s.getenv("OVATION_REDIS_URL", "redis://127.0.0.1:1"), "stack", "--addr=127.0.0.1:0", "--data="+t.TempDir()).want(t, exitFailed, "--redis-url or OVATION_REDIS_URL")
}

func TestStackSaysWhichPartCouldNotStart(t *testing.T) {
	t.Parallel()
	s := emptySite(t)
	c := exec.Command(binary, "stack", "--addr=127.0.0.1:0", "--data="+t.TempDir())
	c.Env = append(s.environ(), "OVATION_RABBITMQ_URL=amqp://user:hush@127.0.0.1:1/")
	said, err := c.CombinedOutput()
	if err == nil || !regexp.MustCompile(`(serve|work)-\d exited unexpectedly: exit status 1; its log .* ends:\n  ovation: --rabbitmq-url or OVATION_RABBITMQ_URL`).Match(said) {
		t.Errorf("ovation stack without RabbitMQ: got %v, want an error that names the process and shows its log:\n%s", err, said)
	}
	if strings.Contains(string(said), "hush") {
		t.Errorf("the output contains the password:\n%s", said)
	}
}
