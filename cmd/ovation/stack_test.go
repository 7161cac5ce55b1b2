package main

import (
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// startStack runs ovation stack in a process of its own.
func (s *site) startStack(t *testing.T) *server {
	t.Helper()
	c := exec.Command(binary, "stack", "--addr=127.0.0.1:0", "--log-level=warn", "--data="+t.TempDir())
	for name, value := range s.variables {
		c.Env = append(c.Env, name+"="+value)
	}
	stdout, stderr := newWatch(), newWatch()
	c.Stdout, c.Stderr = stdout, stderr
	must(t, c.Start())
	over := make(chan struct{})
	go func() {
		_ = c.Wait() // the code tells
		close(over)
	}()
	n := &server{as: as, ended: over, signal: func() { _ = c.Process.Signal(os.Interrupt) }} // unless it has ended
	n.stop = func() ended {
		n.signal()
		<-over
		return ended{c.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	}
	t.Cleanup(func() { n.stop() })
	n.await(t, stdout, stderr)
	return n
}

// parts are the processes that the banner names.
func (s *server) parts(t *testing.T) map[string]int {
	t.Helper()
	parts := map[string]int{}
	for _, found := range regexp.MustCompile(`((?:serve|work)-\d) +http\S+, process (\d+)`).FindAllStringSubmatch(s.banner, -1) {
		process, err := strconv.Atoi(found[2])
		must(t, err)
		parts[found[1]] = process
	}
	if len(parts) != 4 {
		t.Fatalf("the banner names %v:\n%s", parts, s.banner)
	}
	return parts
}

// gone checks that no process is left.
func gone(t *testing.T, parts map[string]int) {
	t.Helper()
	for name, process := range parts {
		if err := syscall.Kill(process, 0); err == nil {
			t.Errorf("%s is left", name)
		}
	}
}

func TestStackIsOneAddressThatStopsCleanly(t *testing.T) {
	s := emptySite(t)
	n := s.startStack(t)
	parts := n.parts(t)
	before := n.likes(t, "1")
	if before == 0 {
		t.Error("there is no demo data")
	}
	for i := range 4 { // both nodes have their turn
		n.like(t, "viewer-"+strconv.Itoa(i), "1")
	}
	eventually(t, "the likes are counted", func() bool { return n.likes(t, "1") == before+4 })
	token := regexp.MustCompile(`Authorization: Bearer (\S+)'`).FindStringSubmatch(n.banner)[1]
	var who struct{ Viewer struct{ UserID string } }
	must(t, n.post([]byte(`{"query": "{ viewer { userId } }"}`), map[string]string{"Authorization": "Bearer " + token}, &who))
	if who.Viewer.UserID != demoViewer {
		t.Errorf("the token is that of %q", who.Viewer.UserID)
	}
	if page, err := client.Get(n.url + "/"); err != nil || page.Body.Close() != nil || page.StatusCode != http.StatusOK {
		t.Errorf("the page: %v, %v", page, err)
	}
	n.stop().wants(t, 0)
	gone(t, parts)
	s.run(t, "verify").wants(t, 0, "0 differences; ")
}

func TestStackStopsWithThePartThatDied(t *testing.T) {
	for _, dies := range []string{"serve-2", "work-1"} {
		t.Run(dies, func(t *testing.T) {
			n := emptySite(t).startStack(t)
			parts := n.parts(t)
			must(t, syscall.Kill(parts[dies], syscall.SIGKILL))
			<-n.ended
			n.stop().wants(t, exitFailed, "ovation: "+dies+" has ended by itself: signal: killed; its log ", dies+".log")
			gone(t, parts)
		})
	}
}

func TestStackRefusesToStartHalf(t *testing.T) {
	call(t, environment("OVATION_REDIS_URL", "redis://x"), "stack").wants(t, exitUsage, "ovation stack needs", "OVATION_POSTGRES_URL, OVATION_RABBITMQ_URL")
	s := emptySite(t)
	call(t, s.getenv("OVATION_REDIS_URL", "redis://127.0.0.1:1"), "stack", "--addr=127.0.0.1:0", "--data="+t.TempDir()).wants(t, exitFailed, "--redis-url or OVATION_REDIS_URL")
}

func TestStackSaysWhichPartCouldNotStart(t *testing.T) {
	s := emptySite(t)
	c := exec.Command(binary, "stack", "--addr=127.0.0.1:0", "--data="+t.TempDir())
	for name, value := range s.variables {
		c.Env = append(c.Env, name+"="+value)
	}
	c.Env = append(c.Env, "OVATION_RABBITMQ_URL=amqp://user:hush@127.0.0.1:1/")
	said, err := c.CombinedOutput()
	if err == nil || !regexp.MustCompile(`(serve|work)-\d has ended by itself: exit status 1; its log .* ends: ovation: --rabbitmq-url or OVATION_RABBITMQ_URL`).Match(said) {
		t.Errorf("it ended with %v: %s", err, said)
	}
	if strings.Contains(string(said), "hush") {
		t.Errorf("it prints the password: %s", said)
	}
}
