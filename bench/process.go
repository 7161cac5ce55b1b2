package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a server started by this program.
type process struct {
	name    string
	url     string
	address string // host and port
	log     string // a file
	command *exec.Cmd
	over    chan struct{} // closed when it has ended
}

const (
	startTime = 30 * time.Second
	stopTime  = 15 * time.Second
)

var serves = regexp.MustCompile(`http://[0-9.:]+`)

// start starts a server, which prints its URL on its first line.
func start(ctx context.Context, name, log string, environment []string, path string, args ...string) (*process, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer func() { _ = file.Close() }() // the process has its own
	p := &process{name: name, log: log, over: make(chan struct{})}
	p.command = exec.CommandContext(context.WithoutCancel(ctx), path, args...) //nolint:gosec // stop ends it
	p.command.Env, p.command.Stderr = environment, file
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C must reach only this program, which stops the process
	out, err := p.command.StdoutPipe()
	if err == nil {
		err = p.command.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	said := make(chan string, 1)
	go func() { // ends with the process
		defer close(p.over)
		lines := bufio.NewReader(out)
		line, _ := lines.ReadString('\n') // if there is none, the process has ended, and its exit status shows why
		said <- line
		_, _ = io.Copy(io.Discard, lines)
		_ = p.command.Wait() // the code tells
	}()
	late := time.NewTimer(startTime)
	defer late.Stop()
	select {
	case line := <-said:
		p.url = serves.FindString(line)
	case <-late.C:
	case <-ctx.Done():
	}
	if p.url == "" {
		return nil, errors.Join(fmt.Errorf("%s has not started: %s", name, lastLine(log)), context.Cause(ctx), p.stop())
	}
	p.address = strings.TrimPrefix(p.url, "http://")
	return p, nil
}

// stop asks the process to end and waits for it. It may be called twice.
func (p *process) stop() error {
	_ = p.command.Process.Signal(syscall.SIGTERM) // unless it has ended
	late := time.NewTimer(stopTime)
	defer late.Stop()
	select {
	case <-p.over:
	case <-late.C:
		_ = p.command.Process.Kill()
		<-p.over
		return fmt.Errorf("%s did not stop within %v", p.name, stopTime)
	}
	if code := p.command.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("%s ended with code %d: %s", p.name, code, lastLine(p.log))
	}
	return nil
}

// ended returns an error if the process has ended by itself.
func (p *process) ended() error {
	select {
	case <-p.over:
		return fmt.Errorf("%s has ended by itself: %s", p.name, lastLine(p.log))
	default:
		return nil
	}
}

func lastLine(path string) string {
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// quoted holds the metrics of a process, by name.
type quoted map[string]float64

// The metrics that are read.
const (
	metricCPU     = "process_cpu_seconds_total"
	metricMallocs = "go_memstats_mallocs_total"
	metricBytes   = "go_memstats_alloc_bytes_total"
	metricActions = "ovation_worker_batch_actions_sum"
	metricBatches = "ovation_worker_batch_actions_count"

	metricGoroutines  = "go_goroutines"
	metricStacks      = "go_memstats_stack_inuse_bytes"
	metricHeapLive    = "go_gc_heap_live_bytes"
	metricCollections = "go_gc_duration_seconds_count"
)

// metrics reads the metrics of the process.
func (p *process) metrics(ctx context.Context) (quoted, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask %s for its metrics: %w", p.name, errors.Join(err, p.ended()))
	}
	defer func() { _ = response.Body.Close() }()
	found := quoted{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if number, err := strconv.ParseFloat(value, 64); err == nil {
			found[name] = number
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("ask %s for its metrics: %w", p.name, err)
	}
	return found, nil
}

// ready waits until the process reports that it is ready.
func (p *process) ready(ctx context.Context) error {
	return until(ctx, startTime, p.name+" is ready", func() (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/readyz", http.NoBody)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, p.ended()
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK, nil
	})
}

// until polls a function until it returns true or an error. what names the condition in
// the error after a timeout.
func until(ctx context.Context, within time.Duration, what string, is func() (bool, error)) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(within)
	defer late.Stop()
	for {
		yes, err := is()
		if yes || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-late.C:
			return fmt.Errorf("condition not met within %v: %s", within, what)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
