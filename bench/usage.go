package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU time in /proc, on every Linux.
const tick = 10 * time.Millisecond

// The names of consumers of CPU time.
const (
	whole     = "machine"
	generator = "load"
	elsewhere = "others"
	redisName = "redis"
)

// usage is the CPU time of each consumer so far. It is empty if there is no /proc.
type usage map[string]time.Duration

// meter reads the CPU time of processes.
type meter struct {
	pids map[string]int // the first process of each consumer
}

// newMeter finds the services that scripts/services has started. Services started
// otherwise count as others.
func newMeter() *meter {
	m := &meter{map[string]int{generator: os.Getpid()}}
	folder := os.Getenv("OVATION_SERVICES_DIR")
	if folder == "" {
		folder = ".services"
	}
	for _, name := range []string{"postgres", redisName, "rabbitmq"} {
		text, err := os.ReadFile(filepath.Join(folder, "data", name, "pid")) //nolint:gosec // the folder is given by the user
		if err != nil {
			continue
		}
		if words := strings.Fields(string(text)); len(words) > 0 {
			if pid, err := strconv.Atoi(words[0]); err == nil {
				m.pids[name] = pid
			}
		}
	}
	return m
}

// watch adds a process to those measured.
func (m *meter) watch(name string, p *process) { m.pids[name] = p.command.Process.Pid }

// spent is the CPU time of one process.
type spent struct {
	parent int
	ticks  int64 // its own, and those of its children that have ended
}

// read returns the CPU times so far.
func (m *meter) read() usage {
	if runtime.GOOS != "linux" {
		return nil
	}
	all := map[int]spent{}
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	for _, name := range names {
		if pid, one, ok := readStat(name); ok {
			all[pid] = one
		}
	}
	out := usage{whole: busy()}
	rest := out[whole]
	for name, first := range m.pids {
		ticks := int64(0)
		for pid, one := range all {
			if under(all, pid, first, m.pids) {
				ticks += one.ticks
			}
		}
		out[name] = time.Duration(ticks) * tick
		rest -= out[name]
	}
	out[elsewhere] = rest
	return out
}

// under reports whether the process pid is first or a descendant of it. It returns false
// if pid, or a process between pid and first, is measured separately.
func under(all map[int]spent, pid, first int, looked map[string]int) bool {
	for pid != first {
		for _, other := range looked {
			if other == pid {
				return false
			}
		}
		if pid = all[pid].parent; pid <= 1 {
			return false
		}
	}
	return true
}

func readStat(name string) (pid int, one spent, ok bool) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, one, false // it has just ended
	}
	number, rest, _ := strings.Cut(string(text), " ")
	pid, err = strconv.Atoi(number)
	at := strings.LastIndexByte(rest, ')') // the name may hold anything
	if err != nil || at < 0 {
		return 0, one, false
	}
	words := strings.Fields(rest[at+1:])
	const parent, first, last = 1, 11, 14 // user, system, and both of children
	if len(words) <= last {
		return 0, one, false
	}
	if one.parent, err = strconv.Atoi(words[parent]); err == nil {
		one.ticks, err = sum(words[first : last+1])
	}
	return pid, one, err == nil
}

// loadAverage returns the load averages of the last 1, 5 and 15 minutes.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if words := strings.Fields(string(text)); err == nil && len(words) >= 3 {
		return strings.Join(words[:3], " ")
	}
	return "unknown"
}

// busy returns how long the processors have not been idle.
func busy() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	const idle, wait, guest = 3, 4, 8 // the time of guests is included in user time, too
	words := strings.Fields(line)
	words = words[min(1, len(words)):] // without "cpu"
	words = words[:min(guest, len(words))]
	if len(words) > wait {
		words = slices.Delete(words, idle, wait+1)
	}
	ticks, err := sum(words)
	if err != nil {
		return 0
	}
	return time.Duration(ticks) * tick
}

// sum adds decimal numbers.
func sum(words []string) (total int64, err error) {
	for _, word := range words {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// since returns the CPU times since an earlier reading, or nil if they are unknown.
func (u usage) since(before usage) usage {
	if u == nil || before == nil {
		return nil
	}
	out := usage{}
	for name, now := range u {
		out[name] = max(0, now-before[name])
	}
	return out
}
