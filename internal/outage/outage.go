package outage

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	lineInterval = 10 * time.Second // the minimum time between two lines of one outage
	minQuiet     = 5 * time.Second  // the time without a failure after which a success ends the outage
)

// Log logs the outages of one operation or dependency. It is safe for concurrent use. Its
// cost is negligible while nothing fails.
type Log struct {
	logger                  *slog.Logger
	failMessage, endMessage string
	ongoing                 atomic.Bool

	mu       sync.Mutex
	total    int // failures in this outage
	unlogged int // failures since the last line
	first    time.Time
	latest   time.Time
	lastLine time.Time // time of the last line
}

// New returns a Log that logs failures with failMessage, at level Warn, and the end of an
// outage with endMessage, at level Info.
func New(logger *slog.Logger, failMessage, endMessage string) *Log {
	return &Log{logger: logger, failMessage: failMessage, endMessage: endMessage}
}

// Failed records a failure. The attributes are passed to slog.Logger.Warn.
func (l *Log) Failed(attributes ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.total++
	l.unlogged++
	l.latest = now
	switch {
	case l.total == 1:
		l.first = now
		l.ongoing.Store(true)
	case now.Sub(l.lastLine) < lineInterval:
		return
	default:
		attributes = append(attributes, "times", l.unlogged)
	}
	l.lastLine, l.unlogged = now, 0
	l.logger.Warn(l.failMessage, attributes...)
}

// Worked records a success.
func (l *Log) Worked() {
	if !l.ongoing.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total == 0 || time.Since(l.latest) < minQuiet {
		return
	}
	l.ongoing.Store(false)
	l.logger.Info(l.endMessage, "times", l.total, "lasted_ms", l.latest.Sub(l.first).Milliseconds())
	l.total, l.unlogged = 0, 0
}
