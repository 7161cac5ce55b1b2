package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU time in /proc, on every Linux.
const tick = 10 * time.Millisecond

// The names of what takes CPU time.
const (
	whole     = "machine"
	generator = "load"
	elsewhere = "others"
	redisName = "redis"
)

// usage is how much CPU time each has taken so far. Where there is no /proc it
// is empty.
type usage map[string]time.Duration

// meter knows whose CPU time to look at.
type meter struct {
	pids map[string]int // of the first process of each
}

// newMeter finds the services that scripts/services has started. Those of
// somebody else count as others.
func newMeter() *meter {
	m := &meter{map[string]int{generator: os.Getpid()}}
	folder := os.Getenv("OVATION_SERVICES_DIR")
	if folder == "" {
		folder = ".services"
	}
	for _, name := range []string{"postgres", redisName, "rabbitmq"} {
		text, err := os.ReadFile(filepath.Join(folder, "data", name, "pid")) //nolint:gosec // whoever runs it says where
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

// watch also looks at a process from now on.
func (m *meter) watch(name string, p *process) { m.pids[name] = p.command.Process.Pid }

// spent is one process.
type spent struct {
	parent int
	ticks  int64 // its own, and those of its children that have ended
}

// read looks.
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

// under reports whether a process is the first one or comes from it, by way of
// none that is looked at by itself.
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
	one.parent, _ = strconv.Atoi(words[parent])
	for _, word := range words[first : last+1] {
		n, _ := strconv.ParseInt(word, 10, 64)
		one.ticks += n
	}
	return pid, one, true
}

// loadAverage is that of the last 1, 5 and 15 minutes.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if words := strings.Fields(string(text)); err == nil && len(words) >= 3 {
		return strings.Join(words[:3], " ")
	}
	return "unknown"
}

// busy is how long the processors were not idle.
func busy() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	const idle, wait, guest = 3, 4, 8 // what guests take is counted as the user's, too
	sum := int64(0)
	words := strings.Fields(line)
	for i, word := range words[min(1, len(words)):] {
		if i != idle && i != wait && i < guest {
			n, _ := strconv.ParseInt(word, 10, 64)
			sum += n
		}
	}
	return time.Duration(sum) * tick
}

// since is what was taken since an earlier look, nil where that is not known.
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
