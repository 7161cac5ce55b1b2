//go:build long

package faults_test

import (
	"bufio"
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"

	"ovation/internal/testing/must"
)

// process is a node or a worker.
type process struct {
	name    string
	url     string
	links   map[string]*link
	log     string // path of the log file
	killed  atomic.Bool
	exited  chan struct{} // closed after the process has exited
	command *exec.Cmd
}

var urlPattern = regexp.MustCompile(`http://[0-9.:]+`)

// start starts a process that runs the given command ("serve" or "work"), and waits until
// the process is ready.
func (s *installation) start(t *testing.T, command string) *process {
	t.Helper()
	p := &process{links: map[string]*link{}, exited: make(chan struct{})}
	p.name = command + "-" + strconv.Itoa(len(s.processes))
	p.log = filepath.Join(s.logs, p.name+".log")
	p.command = exec.Command(s.binary, command, "--addr=127.0.0.1:0", "--log-level=warn")
	p.command.Env = []string{
		"OVATION_JWT_SECRET=" + secret, "OVATION_PREFIX=" + prefix, "OVATION_DRAIN=0s",
		"OVATION_EVENTS=true", "OVATION_WEBHOOK=" + s.webhookURL, "OVATION_WEBHOOK_SECRET=" + webhookSecret,
		"OVATION_RATE_PER_USER=0", "OVATION_RATE_PER_ADDRESS=0", "OVATION_RATE_PER_SOCKET=0", "OVATION_MESSAGES_PER_USER=0", // few users send many requests
	}
	for _, name := range allServices {
		at := s.urls[name]
		if s.cluster == nil { // members of a cluster redirect clients to each other's addresses
			p.links[name] = newLink(t, s.address(t, name))
			at = s.urlThrough(t, name, p.links[name])
		}
		p.command.Env = append(p.command.Env, urlVariable(name)+"="+at)
	}
	log, err := os.Create(p.log)
	must.Succeed(t, err)
	defer log.Close()
	p.command.Stderr = log
	stdout, err := p.command.StdoutPipe()
	must.Succeed(t, err)
	must.Succeed(t, p.command.Start())
	line, _ := bufio.NewReader(stdout).ReadString('\n') // fails if the process exits first
	go func() {
		_ = p.command.Wait() // stop checks the exit code
		close(p.exited)
	}()
	t.Cleanup(p.kill)
	s.processes = append(s.processes, p)
	if p.url = urlPattern.FindString(line); p.url == "" {
		t.Fatalf("%s printed no address; see %s", p.name, p.log)
	}
	awaitCondition(t, p.name+" is ready", func() bool { return p.status("/readyz") == http.StatusOK })
	return p
}

// status returns the HTTP status of a GET request for path, or 0 if the request fails.
func (p *process) status(path string) int {
	response, err := probeHTTP.Get(p.url + path)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// kill kills the process and discards bytes that its links hold back. It may be called
// twice.
func (p *process) kill() {
	p.killed.Store(true)
	_ = p.command.Process.Kill() // fails if the process has exited
	<-p.exited
	for _, l := range p.links {
		l.close()
	}
}

// stop sends SIGTERM and checks that the process exits with code 0.
func (p *process) stop(t *testing.T) {
	t.Helper()
	p.killed.Store(true)
	must.Succeed(t, p.command.Process.Signal(syscall.SIGTERM))
	if !pollUntil(func() bool {
		select {
		case <-p.exited:
			return true
		default:
			return false
		}
	}) {
		t.Errorf("%s still runs %v after SIGTERM", p.name, waitTimeout)
		p.kill()
		return
	}
	if code := p.command.ProcessState.ExitCode(); code != 0 {
		t.Errorf("%s was asked to stop: got exit code %d, want 0", p.name, code)
	}
}

// setStopped stops all traffic between the given processes and a service if hangs is
// true. Otherwise it lets the traffic continue.
func setStopped(hangs bool, name string, of ...*process) {
	for _, p := range of {
		p.links[name].setStopped(hangs)
	}
}

// checkLogs fails the test if a log contains an entry that must not occur, or if a
// process has exited unexpectedly.
func (s *installation) checkLogs(t *testing.T) {
	t.Helper()
	for _, p := range s.processes {
		text, err := os.ReadFile(p.log)
		must.Succeed(t, err)
		for _, never := range []string{"panic", "DATA RACE", "INTERNAL"} {
			if bytes.Contains(text, []byte(never)) {
				t.Errorf("the log of %s contains %q", p.name, never)
			}
		}
		if !p.killed.Load() {
			select {
			case <-p.exited:
				t.Errorf("%s exited unexpectedly, with code %d", p.name, p.command.ProcessState.ExitCode())
			default:
			}
		}
	}
}
