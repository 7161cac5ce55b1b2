package postgres

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ovation/internal/outage"
	"ovation/storage"
)

// slowCommit is the time after which a commit in progress is reported.
const slowCommit = 2 * time.Second

// commitTracker tracks the commits that the server has not acknowledged yet. A commit
// that hangs usually waits for a synchronous standby; reads continue meanwhile.
type commitTracker struct {
	log        *outage.Log
	checkAfter time.Duration // time after which the reason for the wait is checked; callTimeout, except in tests
	maxHung    int           // while this many commits hang, Store.change begins no transaction

	mu    sync.Mutex
	last  int64
	began map[int64]time.Time
}

func newCommitTracker(logger *slog.Logger, most int) *commitTracker {
	return &commitTracker{
		log: outage.New(logger, "commits hang: PostgreSQL waits for a synchronous standby (synchronous_standby_names) or for its disk; "+
			"nothing is persisted until it answers, reads continue", "commits return again"),
		checkAfter: callTimeout,
		maxHung:    most,
		began:      make(map[int64]time.Time),
	}
}

// begin records that a commit is about to be sent. The caller must call the returned
// function end once the commit has returned.
func (c *commitTracker) begin() (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	id, began := c.last, time.Now()
	c.began[id] = began
	late := time.AfterFunc(slowCommit, func() { c.log.Failed("for_ms", time.Since(began).Milliseconds()) })
	return func() {
		if late.Stop() {
			c.log.Worked()
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.began, id)
	}
}

// oldest returns the age of the oldest commit in progress, or 0 if there is none.
func (c *commitTracker) oldest() (age time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, began := range c.began {
		age = max(age, time.Since(began))
	}
	return age
}

// checkHung returns storage.ErrUnavailable while at least maxHung commits hang. If more
// commits hung, they might leave no connections for reads.
func (c *commitTracker) checkHung() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	hang := 0
	for _, began := range c.began {
		if time.Since(began) >= slowCommit {
			hang++
		}
	}
	if hang >= c.maxHung {
		return fmt.Errorf("%w: %d commits hang; is the synchronous standby up?", storage.ErrUnavailable, hang)
	}
	return nil
}

// Stalled returns storage.ErrUnavailable while a commit has been waiting for at least two
// seconds.
func (s *Store) Stalled() error {
	if age := s.commits.oldest(); age >= slowCommit {
		return fmt.Errorf("%w: a commit has been waiting for %v; is the synchronous standby up?",
			storage.ErrUnavailable, age.Truncate(time.Second))
	}
	return nil
}
