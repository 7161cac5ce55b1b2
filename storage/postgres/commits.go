package postgres

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ovation/outage"
	"ovation/storage"
)

// slowCommit is how long a commit may take before it is reported.
const slowCommit = 2 * time.Second

// commits are those that the server has not answered yet. One that hangs mostly
// waits for a synchronous standby; reads go on meanwhile.
type commits struct {
	log      *outage.Log
	patience time.Duration // before it is asked what a commit waits for; callTimeout
	most     int           // that may hang before no more are begun

	mu    sync.Mutex
	last  int64
	began map[int64]time.Time
}

func newCommits(logger *slog.Logger, most int) *commits {
	return &commits{
		log: outage.New(logger, "commits hang: PostgreSQL waits for a synchronous standby (synchronous_standby_names) or for its disk; "+
			"nothing is persisted until it answers, reads go on", "commits return again"),
		patience: callTimeout,
		most:     most,
		began:    make(map[int64]time.Time),
	}
}

// begin notes that a commit is sent. Call end when it is answered.
func (c *commits) begin() (end func()) {
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

// oldest is how long the oldest commit under way has taken; 0 if there is none.
func (c *commits) oldest() (age time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, began := range c.began {
		age = max(age, time.Since(began))
	}
	return age
}

// refuse returns storage.ErrUnavailable while so many commits hang that more of
// them would leave no connections to those who read.
func (c *commits) refuse() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	hang := 0
	for _, began := range c.began {
		if time.Since(began) >= slowCommit {
			hang++
		}
	}
	if hang >= c.most {
		return fmt.Errorf("%w: %d commits hang; is the synchronous standby up?", storage.ErrUnavailable, hang)
	}
	return nil
}

// Stalled returns storage.ErrUnavailable while a commit has been waiting for its
// answer for two seconds or longer.
func (s *Store) Stalled() error {
	if age := s.commits.oldest(); age >= slowCommit {
		return fmt.Errorf("%w: a commit has been waiting for %v; is the synchronous standby up?",
			storage.ErrUnavailable, age.Truncate(time.Second))
	}
	return nil
}
