//go:build long

package faults_test

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ovation/internal/testing/must"
)

// The services, by their names in scripts/services.
const (
	postgres = "postgres"
	redis    = "redis"
	rabbitmq = "rabbitmq"
)

var allServices = []string{postgres, redis, rabbitmq}

// servers holds the Postgres, Redis and RabbitMQ servers of one test.
type servers struct {
	dir     string
	urls    map[string]string
	cluster *cluster // nil: one server of each kind
}

// startServers starts the servers and removes them at the end of the test.
func startServers(t *testing.T) *servers {
	t.Helper()
	s := &servers{dir: filepath.Join(t.TempDir(), "services"), urls: map[string]string{}}
	t.Cleanup(func() { s.runScript(t, "down") })
	s.runScript(t, "up")
	for _, name := range allServices {
		text, err := os.ReadFile(s.path(name, "url"))
		must.Succeed(t, err)
		s.urls[name] = strings.TrimSpace(string(text))
	}
	return s
}

// runScript runs scripts/services on these servers.
func (s *servers) runScript(t *testing.T, command string) {
	t.Helper()
	c := exec.Command("../../../scripts/services", command)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "OVATION_") {
			c.Env = append(c.Env, v)
		}
	}
	c.Env = append(c.Env, "OVATION_SERVICES_DIR="+s.dir)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("services %s: %v\n%s", command, err, out)
	}
}

func (s *servers) path(name, file string) string { return filepath.Join(s.dir, "data", name, file) }

// signalAndWait sends a signal to a server and waits until the server has exited.
func (s *servers) signalAndWait(t *testing.T, name string, signal syscall.Signal) {
	t.Helper()
	text, err := os.ReadFile(s.path(name, "pid"))
	must.Succeed(t, err)
	pid, err := strconv.Atoi(strings.Fields(string(text))[0])
	must.Succeed(t, err)
	must.Succeed(t, syscall.Kill(pid, signal))
	awaitCondition(t, name+" has exited", func() bool {
		state, _ := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output() // fails if there is no such process
		return len(state) == 0 || state[0] == 'Z'
	})
}

// kill kills the named servers.
func (s *servers) kill(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		signal := syscall.SIGKILL
		if name == postgres {
			signal = syscall.SIGQUIT // immediate shutdown, which only releases the shared memory
		}
		s.signalAndWait(t, name, signal)
	}
}

// urlThrough returns the URL of a server, with the address of a link as its host.
func (s *servers) urlThrough(t *testing.T, name string, l *link) string {
	t.Helper()
	u, err := url.Parse(s.urls[name])
	must.Succeed(t, err)
	u.Host = l.listener.Addr().String()
	return u.String()
}

// address returns the address at which a server listens.
func (s *servers) address(t *testing.T, name string) string {
	t.Helper()
	u, err := url.Parse(s.urls[name])
	must.Succeed(t, err)
	return u.Host
}

// waitTimeout is how long a test waits for an event that must occur.
const waitTimeout = 2 * time.Minute

// pollUntil polls a condition. It reports whether the condition became true within
// waitTimeout.
func pollUntil(what func() bool) bool {
	deadline := time.NewTimer(waitTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !what() {
		select {
		case <-tick.C:
		case <-deadline.C:
			return false
		}
	}
	return true
}

// awaitCondition waits until the given function returns true. If that takes longer than
// waitTimeout, awaitCondition fails the test; the failure message uses what as the
// description of the condition.
func awaitCondition(t *testing.T, what string, is func() bool) {
	t.Helper()
	if !pollUntil(is) {
		t.Fatalf("still not true after %v: %s", waitTimeout, what)
	}
}

// urlVariable returns the name of the environment variable that holds the URL of a
// service.
func urlVariable(name string) string { return fmt.Sprintf("OVATION_%s_URL", strings.ToUpper(name)) }
