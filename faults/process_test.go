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
)

// process is a node or a worker.
type process struct {
	name   string
	url    string
	links  map[string]*link
	log    string // a file
	killed atomic.Bool
	over   chan struct{} // closed when it has ended
	c      *exec.Cmd
}

var serves = regexp.MustCompile(`http://[0-9.:]+`)

// start starts serve or work and waits until it is ready.
func (s *site) start(t *testing.T, command string) *process {
	t.Helper()
	p := &process{links: map[string]*link{}, over: make(chan struct{})}
	p.name = command + "-" + strconv.Itoa(len(s.processes))
	p.log = filepath.Join(s.logs, p.name+".log")
	p.c = exec.Command(s.binary, command, "--addr=127.0.0.1:0", "--log-level=warn")
	p.c.Env = []string{
		"OVATION_JWT_SECRET=" + secret, "OVATION_PREFIX=" + prefix, "OVATION_DRAIN=0s",
		"OVATION_RATE_PER_USER=0", "OVATION_RATE_PER_ADDRESS=0", "OVATION_RATE_PER_SOCKET=0", "OVATION_MESSAGES_PER_USER=0", // few users send many requests
	}
	for _, name := range allServices {
		at := s.urls[name]
		if s.cluster == nil { // members of a cluster tell clients each other's addresses
			p.links[name] = newLink(t, s.host(t, name))
			at = s.through(t, name, p.links[name])
		}
		p.c.Env = append(p.c.Env, variable(name)+"="+at)
	}
	log, err := os.Create(p.log)
	must(t, err)
	defer log.Close()
	p.c.Stderr = log
	stdout, err := p.c.StdoutPipe()
	must(t, err)
	must(t, p.c.Start())
	line, _ := bufio.NewReader(stdout).ReadString('\n') // it ends with the process at the latest
	go func() {
		_ = p.c.Wait() // the code tells
		close(p.over)
	}()
	t.Cleanup(p.kill)
	s.processes = append(s.processes, p)
	if p.url = serves.FindString(line); p.url == "" {
		t.Fatalf("%s printed no address; see %s", p.name, p.log)
	}
	eventually(t, p.name+" is ready", waitTimeout, func() bool { return p.get("/readyz") == http.StatusOK })
	return p
}

// get returns the status of a page, or 0 if there is no answer.
func (p *process) get(path string) int {
	response, err := probes.Get(p.url + path)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// kill kills the process and discards what its links hold. It may be called twice.
func (p *process) kill() {
	p.killed.Store(true)
	_ = p.c.Process.Kill() // unless it has ended
	<-p.over
	for _, l := range p.links {
		l.close()
	}
}

// stop asks the process to stop and checks how it ends.
func (p *process) stop(t *testing.T) {
	t.Helper()
	p.killed.Store(true)
	must(t, p.c.Process.Signal(syscall.SIGTERM))
	if !waitUntil(waitTimeout, func() bool {
		select {
		case <-p.over:
			return true
		default:
			return false
		}
	}) {
		t.Errorf("%s still runs %v after SIGTERM", p.name, waitTimeout)
		p.kill()
		return
	}
	if code := p.c.ProcessState.ExitCode(); code != 0 {
		t.Errorf("%s was asked to stop: got exit code %d, want 0", p.name, code)
	}
}

// hang makes all links of these processes to a service hang, or continue.
func hang(hangs bool, name string, of ...*process) {
	for _, p := range of {
		p.links[name].hang(hangs)
	}
}

// checkLogs fails the test if a log has an entry that must not occur.
func (s *site) checkLogs(t *testing.T) {
	t.Helper()
	for _, p := range s.processes {
		text, err := os.ReadFile(p.log)
		must(t, err)
		for _, never := range []string{"panic", "DATA RACE", "INTERNAL"} {
			if bytes.Contains(text, []byte(never)) {
				t.Errorf("the log of %s contains %q", p.name, never)
			}
		}
		if !p.killed.Load() {
			select {
			case <-p.over:
				t.Errorf("%s ended by itself, with exit code %d", p.name, p.c.ProcessState.ExitCode())
			default:
			}
		}
	}
}
