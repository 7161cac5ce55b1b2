package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
	file, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w; %s", name, err, chooseFolder)
	}
	self, err := os.Executable()
	if err != nil {
		return errors.Join(fmt.Errorf("find this program: %w", err), file.Close())
	}
	verb, _, _ := strings.Cut(name, "-")
	p := &part{name: name, log: log, announced: make(chan string, 1), ended: make(chan struct{})}
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
		s.end(fmt.Errorf("%s has ended by itself: %v; its log %s ends: %s", p.name, p.command.ProcessState, p.log, lastLine(p.log)))
	case err != nil && !terminated(p.command.ProcessState):
		p.err = fmt.Errorf("%s did not stop well: %w; its log %s ends: %s", p.name, err, p.log, lastLine(p.log))
	}
}

// terminated reports whether a process was asked to stop before it had begun
// to listen for that.
func terminated(state *os.ProcessState) bool {
	status, is := state.Sys().(syscall.WaitStatus)
	return is && status.Signaled() && status.Signal() == syscall.SIGTERM
}

func lastLine(path string) string {
	text, _ := os.ReadFile(path) // the path is told too
	text = bytes.TrimSpace(text)
	return string(text[bytes.LastIndexByte(text, '\n')+1:])
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
