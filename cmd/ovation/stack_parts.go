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

// stack is the processes of a site.
type stack struct {
	parts []*part
	end   context.CancelCauseFunc // called when one of them ends unasked
}

// part is one process.
type part struct {
	name, log string
	from      int64  // where in the log this run begins
	url       string // where it listens
	command   *exec.Cmd
	announced chan string // takes its url
	asked     atomic.Bool // to stop
	ended     chan struct{}
	err       error // why it did not stop well; read it after ended
}

// serves reports whether the process is an API node.
func (p *part) serves() bool { return strings.HasPrefix(p.name, "serve") }

// start starts a process: the command that its name begins with, in a process
// group of its own, so that a Ctrl-C reaches it in its turn only.
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
	p := &part{name: name, log: log, from: from, announced: make(chan string, 1), ended: make(chan struct{})}
	// No context: it is asked to stop before it is killed.
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

// watch waits for the end of a process.
func (s *stack) watch(p *part, stdout io.Reader, log *os.File) {
	defer close(p.ended)
	lines := bufio.NewReader(stdout)
	line, _ := lines.ReadString('\n') // where it ends early, its end tells
	if at := announcement.FindString(line); at != "" {
		p.announced <- at
	}
	_, _ = io.Copy(log, io.MultiReader(strings.NewReader(line), lines))
	err := errors.Join(p.command.Wait(), log.Close())
	switch {
	case !p.asked.Load():
		s.end(fmt.Errorf("%s has ended by itself: %v; %s", p.name, p.command.ProcessState, p.lastWords()))
	case err != nil && !terminated(p.command.ProcessState):
		p.err = fmt.Errorf("%s did not stop well: %w; %s", p.name, err, p.lastWords())
	}
}

// terminated reports whether a process was asked to stop before it had begun
// to listen for that.
func terminated(state *os.ProcessState) bool {
	status, is := state.Sys().(syscall.WaitStatus)
	return is && status.Signaled() && status.Signal() == syscall.SIGTERM
}

// maxLog is how many bytes of log are added to. What is longer when a stack
// starts is put aside, in place of what was there.
const maxLog = 16 << 20

// openLog opens a log to add to, and returns how long it is.
func openLog(path string) (file *os.File, size int64, err error) {
	if old, err := os.Stat(path); err == nil && old.Size() > maxLog {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, 0, err
		}
	}
	file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, 0, err
	}
	size, err = file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, size, nil
}

// lastWords are the last lines that the process logged.
func (p *part) lastWords() string {
	const most, mostBytes = 10, 8 << 10
	var text []byte // none where it cannot be read; its name is told too
	if file, err := os.Open(p.log); err == nil {
		end, _ := file.Seek(0, io.SeekEnd)
		from := max(p.from, end-mostBytes)
		text, _ = io.ReadAll(io.NewSectionReader(file, from, end-from))
		_ = file.Close()
	}
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return fmt.Sprintf("its log %s says nothing of it", p.log)
	}
	lines := strings.Split(string(text), "\n")
	lines = lines[max(0, len(lines)-most):]
	return fmt.Sprintf("its log %s ends:\n  %s", p.log, strings.Join(lines, "\n  "))
}

// withoutMetrics refuses to give the metrics of whichever node has its turn.
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

// stopNodes has the API nodes finish what they have begun.
func (s *stack) stopNodes() {
	var nodes []*part
	for _, p := range s.parts {
		if p.serves() {
			nodes = append(nodes, p)
		}
	}
	stop(nodes)
}

// stop stops what still runs: nodes, then workers. It returns what did not stop
// well.
func (s *stack) stop() error {
	s.stopNodes()
	stop(s.parts)
	var err error
	for _, p := range s.parts {
		err = errors.Join(err, p.err)
	}
	return err
}

// stop asks processes to stop and waits for them. A second signal to this
// process, or a long time, kills them.
func stop(parts []*part) {
	patient, cancel := context.WithTimeout(context.Background(), 2*stopTimeout)
	defer cancel()
	patient, unhook := signal.NotifyContext(patient, os.Interrupt, syscall.SIGTERM)
	defer unhook()
	for _, p := range parts {
		if !p.asked.Swap(true) {
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
