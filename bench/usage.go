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

// clockTick is the unit of CPU time in /proc on all Linux systems.
const clockTick = 10 * time.Millisecond

// The names of consumers of CPU time.
const (
	machineName   = "machine"
	generatorName = "load"
	othersName    = "others"
	redisName     = "redis"
)

// cpuUsage holds the CPU time that each consumer has used so far. It is nil if the system
// is not Linux.
type cpuUsage map[string]time.Duration

// cpuMeter reads the CPU time of processes.
type cpuMeter struct {
	pids map[string]int // the process id of each consumer; descendants of the process are included
}

// newCPUMeter returns a meter for this process and for the services that scripts/services
// has started. Services that were started in any other way count as others.
func newCPUMeter() *cpuMeter {
	m := &cpuMeter{map[string]int{generatorName: os.Getpid()}}
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

// track adds a process to those whose CPU time is measured. The CPU time is reported
// under the given name.
func (m *cpuMeter) track(name string, p *process) { m.pids[name] = p.command.Process.Pid }

// processUsage is the CPU time of one process.
type processUsage struct {
	parent int
	ticks  int64 // CPU time of the process and of its children that have ended
}

// read returns the CPU times so far.
func (m *cpuMeter) read() cpuUsage {
	if runtime.GOOS != "linux" {
		return nil
	}
	all := map[int]processUsage{}
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	for _, name := range names {
		if pid, one, ok := readProcStat(name); ok {
			all[pid] = one
		}
	}
	out := cpuUsage{machineName: busyTime()}
	rest := out[machineName]
	for name, first := range m.pids {
		ticks := int64(0)
		for pid, one := range all {
			if isDescendant(all, pid, first, m.pids) {
				ticks += one.ticks
			}
		}
		out[name] = time.Duration(ticks) * clockTick
		rest -= out[name]
	}
	out[othersName] = rest
	return out
}

// isDescendant reports whether the processes pid and first are the same, or pid is a
// descendant of first. A descendant does not count if it, or a process between it and
// first, is tracked separately.
func isDescendant(all map[int]processUsage, pid, first int, tracked map[string]int) bool {
	for pid != first {
		for _, other := range tracked {
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

func readProcStat(name string) (pid int, one processUsage, ok bool) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, one, false // the process has just exited
	}
	number, rest, _ := strings.Cut(string(text), " ")
	pid, err = strconv.Atoi(number)
	at := strings.LastIndexByte(rest, ')') // the name of a process may contain any character
	if err != nil || at < 0 {
		return 0, one, false
	}
	words := strings.Fields(rest[at+1:])
	const parent, first, last = 1, 11, 14 // first to last: user and system time, of the process and of its children
	if len(words) <= last {
		return 0, one, false
	}
	if one.parent, err = strconv.Atoi(words[parent]); err == nil {
		one.ticks, err = sumTicks(words[first : last+1])
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

// busyTime returns the total time for which the processors were busy.
func busyTime() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	const idle, wait, guest = 3, 4, 8 // user time already includes the time of guests
	words := strings.Fields(line)
	words = words[min(1, len(words)):] // without "cpu"
	words = words[:min(guest, len(words))]
	if len(words) > wait {
		words = slices.Delete(words, idle, wait+1)
	}
	ticks, err := sumTicks(words)
	if err != nil {
		return 0
	}
	return time.Duration(ticks) * clockTick
}

// sumTicks adds decimal numbers.
func sumTicks(words []string) (total int64, err error) {
	for _, word := range words {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// since returns the CPU time that each consumer has used since an earlier reading, or nil
// if it is unknown.
func (u cpuUsage) since(before cpuUsage) cpuUsage {
	if u == nil || before == nil {
		return nil
	}
	out := cpuUsage{}
	for name, now := range u {
		out[name] = max(0, now-before[name])
	}
	return out
}
