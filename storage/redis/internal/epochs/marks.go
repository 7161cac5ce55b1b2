package epochs

import (
	"errors"
	"sync"
	"time"

	"ovation/storage"
)

// streak measures how long a condition has held without interruption.
type streak struct {
	mu   sync.Mutex // Poll may be called while Watch polls
	from time.Time
}

func (s *streak) record(holds bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !holds:
		s.from = time.Time{}
	case s.from.IsZero():
		s.from = time.Now()
	}
}

func (s *streak) since() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.from.IsZero() {
		return 0
	}
	return time.Since(s.from)
}

// markHealth tracks whether marks succeed.
type markHealth struct {
	mu          sync.Mutex
	failures    int // consecutive
	first, last time.Time
	lastErr     error // of the last failure
}

// record records the result of a mark, and returns the error.
func (m *markHealth) record(err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	switch {
	case err == nil:
		m.failures = 0
	case !errors.Is(err, storage.ErrUnavailable): // the caller has cancelled
	default:
		if m.failures == 0 || now.Sub(m.last) > failureGap {
			m.failures, m.first = 0, now
		}
		m.failures, m.last, m.lastErr = m.failures+1, now, err
	}
	return err
}

// failing reports whether marks have failed for so long that workers should continue
// without the mirror.
func (m *markHealth) failing() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failures >= 2 && time.Since(m.first) >= maxFailTime && time.Since(m.last) <= failureGap
}

var errDataLost = errors.New("data in Redis was lost, or another process could not write to it")

// reason returns why an epoch has ended.
func (m *markHealth) reason() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failures == 0 {
		return errDataLost
	}
	return m.lastErr
}

func (m *markHealth) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failures = 0
}
