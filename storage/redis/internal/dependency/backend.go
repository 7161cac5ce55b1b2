package dependency

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ovation/internal/breaker"
	"ovation/storage"
	"ovation/storage/redis/internal/scripts"
)

// ErrPartial means that some servers do not respond. The other servers are used.
var ErrPartial = errors.New("some servers do not answer")

// Backend is Redis or the database, behind a breaker. Polls close the breaker again
// (Try).
type Backend struct {
	*breaker.Breaker

	messages Messages
	logger   *slog.Logger

	mu               sync.Mutex
	lostAt           time.Time // when the Backend became unavailable
	recoveryUnlogged bool      // the breaker has closed, and the recovery is not logged yet
	degraded         bool      // some servers are still unavailable
}

// Messages holds the log messages of a Backend.
type Messages struct {
	Unavailable     string // the breaker has opened
	Recovered       string // the breaker has closed
	PartlyRecovered string // the breaker has closed, but some servers are still unavailable (ErrPartial)
}

// NewBackend returns a Backend. timeout bounds each call. While calls fail, the bound is
// the smaller of timeout and failing.
func NewBackend(messages Messages, timeout, failing time.Duration, logger *slog.Logger) *Backend {
	p := &Backend{messages: messages, logger: logger}
	p.Breaker = breaker.New(breaker.Options{Timeout: timeout, FailingTimeout: min(timeout, failing), Changed: p.onChange})
	return p
}

// Healthy reports whether the breaker is closed.
func (p *Backend) Healthy() bool { return p.Err() == nil }

// Run calls f, unless the breaker is open. The parameter what describes the call in the
// error. Run returns nil if f returns scripts.ErrCached. Other errors are those of
// Breaker.Do.
func (p *Backend) Run(ctx context.Context, what string, f func(context.Context) error) error {
	err := p.Do(ctx, f)
	if err == nil || errors.Is(err, scripts.ErrCached) {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Try calls f even if the breaker is open, and closes the breaker if f succeeds or
// returns ErrPartial.
func (p *Backend) Try(ctx context.Context, timeout time.Duration, f func(context.Context) error) error {
	var gap error
	err := p.Probe(ctx, timeout, func(ctx context.Context) error {
		if gap = f(ctx); errors.Is(gap, ErrPartial) {
			return nil
		}
		return gap
	})
	if err != nil {
		return err
	}
	p.logRecovery(gap)
	return gap
}

func (p *Backend) onChange(err error, outage time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.recoveryUnlogged = err == nil; !p.recoveryUnlogged {
		p.lostAt = time.Now().Add(-outage)
		p.logger.Warn(p.messages.Unavailable, "error", err)
	}
}

// logRecovery logs the end of an outage. gap is ErrPartial if some servers still do not
// respond, and otherwise nil.
func (p *Backend) logRecovery(gap error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch after := time.Since(p.lostAt).Milliseconds(); {
	case p.recoveryUnlogged && gap != nil:
		p.logger.Warn(p.messages.PartlyRecovered, "after_ms", after, "error", gap)
		p.degraded = true
	case gap == nil && (p.recoveryUnlogged || p.degraded):
		p.logger.Info(p.messages.Recovered, "after_ms", after)
		p.degraded = false
	}
	p.recoveryUnlogged = false
}

// Call is like Run, but wraps every error of f, except scripts.ErrCached, in
// storage.ErrUnavailable. It is for a dependency whose errors are never the caller's
// fault.
func (p *Backend) Call(ctx context.Context, what string, f func(context.Context) error) error {
	return p.Run(ctx, what, func(ctx context.Context) error {
		err := f(ctx)
		if err != nil && !errors.Is(err, storage.ErrUnavailable) && !errors.Is(err, scripts.ErrCached) {
			err = fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
		}
		return err
	})
}
