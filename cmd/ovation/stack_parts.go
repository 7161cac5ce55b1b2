package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
)

// stack is the set of processes of a site.
type stack struct {
	parts []*childProcess
	end   context.CancelCauseFunc // called when a process exits unexpectedly
}

// childProcess is one process of a stack.
type childProcess struct {
	name, log string
	from      int64  // offset in the log at which this run begins
	url       string // URL at which the process listens
	command   *exec.Cmd
	announced chan string // receives the URL
	stopping  atomic.Bool // true once the process was asked to stop
	ended     chan struct{}
	err       error // why the process failed; valid once ended is closed
}

// serves reports whether the process is an API node.
func (p *childProcess) serves() bool { return strings.HasPrefix(p.name, "serve") }

// start starts a process whose name begins with the command to run, as in work-1. The
// process has a process group of its own, so that Ctrl-C does not signal it directly.
func (s *stack) start(name, log string, variables []string) error {
	file, from, err := openLog(log)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w; %s", name, err, chooseFolder)
	}
	self, err := os.Executable()
	if err != nil {
		return errors.Join(fmt.Errorf("find this program: %w", err), file.Close())
	}
	verb, _, _ := strings.Cut(name, "-")
	p := &childProcess{name: name, log: log, from: from, announced: make(chan string, 1), ended: make(chan struct{})}
	// There is no context, because stop asks the process to stop before it kills it.
	p.command = exec.Command(self, verb) //nolint:gosec,noctx // it is this program
	p.command.Env = append(os.Environ(), variables...)
	p.command.Stderr = file
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := p.command.StdoutPipe()
	if err == nil {
		err = p.command.Start()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", name, err), file.Close())
	}
	s.parts = append(s.parts, p)
	go s.watch(p, stdout, file)
	return nil
}

var announcement = regexp.MustCompile(`http://[^/\s]+`)

// watch announces the URL of a process, copies its output to the log, and waits until the
// process has ended.
func (s *stack) watch(p *childProcess, stdout io.Reader, log *os.File) {
	defer close(p.ended)
	lines := bufio.NewReader(stdout)
	line, _ := lines.ReadString('\n') // if the process ends early, its exit status shows why
	if at := announcement.FindString(line); at != "" {
		p.announced <- at
	}
	_, _ = io.Copy(log, io.MultiReader(strings.NewReader(line), lines))
	err := errors.Join(p.command.Wait(), log.Close())
	switch {
	case !p.stopping.Load():
		s.end(fmt.Errorf("%s exited unexpectedly: %v; %s", p.name, p.command.ProcessState, p.logTail()))
	case err != nil && !terminated(p.command.ProcessState):
		p.err = fmt.Errorf("%s failed while stopping: %w; %s", p.name, err, p.logTail())
	}
}

// terminated reports whether SIGTERM ended a process. This happens if the process is
// asked to stop before it handles signals.
func terminated(state *os.ProcessState) bool {
	status, is := state.Sys().(syscall.WaitStatus)
	return is && status.Signaled() && status.Signal() == syscall.SIGTERM
}

// maxLog is the size in bytes up to which a new run continues an existing log. When a
// stack starts, a larger log is renamed: ".old" is appended to its name, and an earlier
// log of that name is replaced.
const maxLog = 16 << 20

// openLog opens the log at path for appending, and returns its size in bytes.
func openLog(path string) (file *os.File, size int64, err error) {
	if old, err := os.Stat(path); err == nil {
		size = old.Size()
	}
	if size > maxLog {
		size = 0
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, 0, err
		}
	}
	file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	return file, size, err
}

// logTail returns the last lines that the process has logged in this run, as the end of
// an error message.
func (p *childProcess) logTail() string {
	const most, mostBytes = 10, 8 << 10
	text, err := os.ReadFile(p.log)
	if err != nil {
		return fmt.Sprintf("its log cannot be read: %v", err)
	}
	text = bytes.TrimSpace(text[min(max(int(p.from), len(text)-mostBytes), len(text)):])
	if len(text) == 0 {
		return fmt.Sprintf("its log %s says nothing of it", p.log)
	}
	lines := strings.Split(string(text), "\n")
	lines = lines[max(0, len(lines)-most):]
	return fmt.Sprintf("its log %s ends:\n  %s", p.log, strings.Join(lines, "\n  "))
}

// withoutMetrics answers requests for /metrics with the addresses of the metrics of all
// processes, and passes other requests to the given handler. Without this handler, the
// balancer would serve the metrics of an arbitrary node.
func (s *stack) withoutMetrics(next http.Handler) http.Handler {
	var says strings.Builder
	says.WriteString("Each part has metrics of its own, and this address has none:\n")
	for _, p := range s.parts {
		fmt.Fprintf(&says, "%s %s/metrics\n", p.name, p.url)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			http.Error(w, says.String(), http.StatusNotFound)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// stopNodes stops the API nodes, which finish their requests first.
func (s *stack) stopNodes() {
	var nodes []*childProcess
	for _, p := range s.parts {
		if p.serves() {
			nodes = append(nodes, p)
		}
	}
	stop(nodes)
}

// stop stops the remaining processes: nodes, then workers. It returns the errors of the
// processes that did not stop cleanly.
func (s *stack) stop() error {
	s.stopNodes()
	stop(s.parts)
	var err error
	for _, p := range s.parts {
		err = errors.Join(err, p.err)
	}
	return err
}

// stop asks processes to stop and waits for them. It kills the processes that are still
// running after twice stopTimeout, or when this process receives a second signal.
func stop(parts []*childProcess) {
	patient, cancel := context.WithTimeout(context.Background(), 2*stopTimeout)
	defer cancel()
	patient, unhook := signal.NotifyContext(patient, os.Interrupt, syscall.SIGTERM)
	defer unhook()
	for _, p := range parts {
		if !p.stopping.Swap(true) {
			_ = p.command.Process.Signal(syscall.SIGTERM) // unless it has ended
		}
	}
	for _, p := range parts {
		select {
		case <-p.ended:
		case <-patient.Done():
			_ = p.command.Process.Kill()
			<-p.ended
		}
	}
}
