package outage

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	every = 10 * time.Second // between two lines of one outage
	quiet = 5 * time.Second  // without a failure, before something that works ends it
)

// Log is the log of one thing that may fail. It is safe for concurrent use, and
// costs what works next to nothing.
type Log struct {
	logger      *slog.Logger
	fails, over string
	out         atomic.Bool

	mu     sync.Mutex
	total  int // failures of this outage
	untold int // of these, since the last line
	first  time.Time
	latest time.Time
	told   time.Time // the last line
}

// New returns a Log that warns by the message fails, and informs of the end by
// the message over.
func New(logger *slog.Logger, fails, over string) *Log {
	return &Log{logger: logger, fails: fails, over: over}
}

// Failed notes a failure. The attributes are as those of slog.
func (l *Log) Failed(attributes ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.total++
	l.untold++
	l.latest = now
	switch {
	case l.total == 1:
		l.first = now
		l.out.Store(true)
	case now.Sub(l.told) < every:
		return
	default:
		attributes = append(attributes, "times", l.untold)
	}
	l.told, l.untold = now, 0
	l.logger.Warn(l.fails, attributes...)
}

// Worked notes a success.
func (l *Log) Worked() {
	if !l.out.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total == 0 || time.Since(l.latest) < quiet {
		return
	}
	l.out.Store(false)
	l.logger.Info(l.over, "times", l.total, "lasted_ms", l.latest.Sub(l.first).Milliseconds())
	l.total, l.untold = 0, 0
}
