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
	log     string // path of the log file
	command *exec.Cmd
	exited  chan struct{} // closed after the process has exited
}

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 15 * time.Second
)

var urlPattern = regexp.MustCompile(`http://[0-9.:]+`)

// startProcess starts a server and waits until the first line of the server's output
// states its URL.
func startProcess(ctx context.Context, name, log string, environment []string, path string, args ...string) (*process, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer func() { _ = file.Close() }() // the process has its own copy
	p := &process{name: name, log: log, exited: make(chan struct{})}
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
	output := make(chan string, 1)
	go func() { // ends with the process
		defer close(p.exited)
		lines := bufio.NewReader(out)
		line, _ := lines.ReadString('\n') // without a line, the process has ended; stop reports the exit status
		output <- line
		_, _ = io.Copy(io.Discard, lines)
		_ = p.command.Wait() // stop checks the exit code
	}()
	timeout := time.NewTimer(startTimeout)
	defer timeout.Stop()
	select {
	case line := <-output:
		p.url = urlPattern.FindString(line)
	case <-timeout.C:
	case <-ctx.Done():
	}
	if p.url == "" {
		return nil, errors.Join(fmt.Errorf("%s did not start: %s", name, lastLine(log)), context.Cause(ctx), p.stop())
	}
	p.address = strings.TrimPrefix(p.url, "http://")
	return p, nil
}

// stop terminates the process and waits until it has exited. It may be called twice.
func (p *process) stop() error {
	_ = p.command.Process.Signal(syscall.SIGTERM) // fails if the process has exited
	timeout := time.NewTimer(stopTimeout)
	defer timeout.Stop()
	select {
	case <-p.exited:
	case <-timeout.C:
		_ = p.command.Process.Kill()
		<-p.exited
		return fmt.Errorf("%s did not stop within %v", p.name, stopTimeout)
	}
	if code := p.command.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("%s exited with code %d: %s", p.name, code, lastLine(p.log))
	}
	return nil
}

// exitError returns an error if the process has exited.
func (p *process) exitError() error {
	select {
	case <-p.exited:
		return fmt.Errorf("%s exited unexpectedly: %s", p.name, lastLine(p.log))
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

// metricValues holds the metrics of a process, by name.
type metricValues map[string]float64

// The metrics that the benchmark reads.
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

// readMetrics reads the metrics of the process.
func (p *process) readMetrics(ctx context.Context) (metricValues, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("read the metrics of %s: %w", p.name, errors.Join(err, p.exitError()))
	}
	defer func() { _ = response.Body.Close() }()
	found := metricValues{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if number, err := strconv.ParseFloat(value, 64); err == nil {
			found[name] = number
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the metrics of %s: %w", p.name, err)
	}
	return found, nil
}

// awaitReady waits until the process reports that it is ready.
func (p *process) awaitReady(ctx context.Context) error {
	return poll(ctx, startTimeout, p.name+" is ready", func() (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/readyz", http.NoBody)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, p.exitError()
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK, nil
	})
}

// poll calls the given function periodically, until it returns true or an error. It
// returns an error if that takes too long. The parameter what describes the condition in
// this error.
func poll(ctx context.Context, within time.Duration, what string, is func() (bool, error)) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	timeout := time.NewTimer(within)
	defer timeout.Stop()
	for {
		yes, err := is()
		if yes || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-timeout.C:
			return fmt.Errorf("condition not met within %v: %s", within, what)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
