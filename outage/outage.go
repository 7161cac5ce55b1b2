package outage

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	every = 10 * time.Second // between two lines of one outage
	quiet = 5 * time.Second  // without a failure, after which a success ends the outage
)

// Log logs the outages of one thing that may fail. It is safe for concurrent use. Its
// cost is negligible while nothing fails.
type Log struct {
	logger      *slog.Logger
	fails, over string
	out         atomic.Bool

	mu     sync.Mutex
	total  int // failures of this outage
	untold int // of these, since the last line
	first  time.Time
	latest time.Time
	told   time.Time // time of the last line
}

// New returns a Log that logs failures as warnings with the message fails, and the end of
// an outage, as information, with the message over.
func New(logger *slog.Logger, fails, over string) *Log {
	return &Log{logger: logger, fails: fails, over: over}
}

// Failed records a failure. The attributes are those of slog.Logger.Warn.
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

// Worked records a success.
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
