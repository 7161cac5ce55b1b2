//go:build long

package faults_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLongFailoverToAStandbyThatWasDisconnected makes commits hang for a while, and then replaces
// the primary by the standby, which has none of these commits: acknowledged actions must
// still be in the queues, and nobody may have seen what is lost.
func TestLongFailoverToAStandbyThatWasDisconnected(t *testing.T) {
	underLoad(t, startCluster, func(s *site) {
		s.inject(t, fault{"a lagging standby takes over", rules{hiccup: true, unavailable: []string{postgres}}, failOverLate})
	})
}

func failOverLate(t *testing.T, s *site) {
	t.Helper()
	c := s.cluster
	c.awaitStandby(t)
	standby := c.postgres[1-c.primary]
	standby.kill()
	eventually(t, "a worker is not ready while its commit hangs", waitTimeout, func() bool {
		return s.workers[0].get("/readyz") == http.StatusServiceUnavailable || s.workers[1].get("/readyz") == http.StatusServiceUnavailable
	})
	eventually(t, "a worker says that its commit hangs", waitTimeout, func() bool { return s.logged(t, "commits hang") })
	s.during(45 * time.Second) // longer than any other call may take
	c.postgres[c.primary].kill()
	c.primary = 1 - c.primary
	standby.start(t)
	c.sql(t, c.primary, "SELECT 1")
	_, err := c.tool(filepath.Join(programs(t), "pg_ctl"), "promote", "-w", "-D", filepath.Join(standby.folder, "data"))
	must(t, err)
	c.follow(t, 1-c.primary)
	c.awaitStandby(t)
}

// logged reports whether a worker has logged the words.
func (s *site) logged(t *testing.T, words string) bool {
	t.Helper()
	for _, p := range s.workers {
		text, err := os.ReadFile(p.log)
		must(t, err)
		if strings.Contains(string(text), words) {
			return true
		}
	}
	return false
}

// postgresFailsOver kills the primary, promotes the standby and makes the old
// primary the standby of the new one.
func postgresFailsOver(t *testing.T, s *site) {
	t.Helper()
	c := s.cluster
	c.awaitStandby(t)
	c.postgres[c.primary].kill()
	c.primary = 1 - c.primary
	_, err := c.tool(filepath.Join(programs(t), "pg_ctl"), "promote", "-w", "-D", filepath.Join(c.postgres[c.primary].folder, "data"))
	must(t, err)
	c.follow(t, 1-c.primary)
	c.awaitStandby(t)
}

// standbyUnavailable kills the standby for a while: commits hang until they are cancelled.
func standbyUnavailable(t *testing.T, s *site) {
	t.Helper()
	c := s.cluster
	c.awaitStandby(t)
	c.postgres[1-c.primary].kill()
	s.during(failoverDowntime)
	c.postgres[1-c.primary].start(t)
	c.awaitStandby(t)
}
