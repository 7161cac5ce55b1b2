//go:build long

package faults_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ovation/internal/testing/must"
)

// TestLongFailoverToADisconnectedStandby makes commits hang for a while, and then
// promotes the standby, which has none of these commits. Acknowledged actions must still
// be in the queues, and no reply may have shown a lost commit.
func TestLongFailoverToADisconnectedStandby(t *testing.T) {
	runUnderLoad(t, startCluster, func(s *installation) {
		s.injectFault(t, fault{"a lagging standby takes over", allowances{reconnecting: true, unavailable: []string{postgres}}, failOverToLaggingStandby})
	})
}

func failOverToLaggingStandby(t *testing.T, s *installation) {
	t.Helper()
	c := s.cluster
	c.awaitStandby(t)
	standby := c.postgres[1-c.primary]
	standby.kill()
	awaitCondition(t, "a worker is not ready while its commit hangs", func() bool {
		return s.workers[0].status("/readyz") == http.StatusServiceUnavailable || s.workers[1].status("/readyz") == http.StatusServiceUnavailable
	})
	awaitCondition(t, "a worker logs that its commit hangs", func() bool { return s.workerLogged(t, "commits hang") })
	s.runFor(45 * time.Second) // longer than any other call may take
	c.postgres[c.primary].kill()
	c.primary = 1 - c.primary
	standby.start(t)
	c.execSQL(t, c.primary, "SELECT 1")
	_, err := c.runTool(filepath.Join(postgresBinDir(t), "pg_ctl"), "promote", "-w", "-D", filepath.Join(standby.dir, "data"))
	must.Succeed(t, err)
	c.startStandby(t, 1-c.primary)
	c.awaitStandby(t)
}

// workerLogged reports whether a worker has logged the given words.
func (s *installation) workerLogged(t *testing.T, words string) bool {
	t.Helper()
	for _, p := range s.workers {
		text, err := os.ReadFile(p.log)
		must.Succeed(t, err)
		if strings.Contains(string(text), words) {
			return true
		}
	}
	return false
}

// failOverPostgres kills the primary, promotes the standby and makes the old primary the
// standby of the new one.
func failOverPostgres(t *testing.T, s *installation) {
	t.Helper()
	c := s.cluster
	c.awaitStandby(t)
	c.postgres[c.primary].kill()
	c.primary = 1 - c.primary
	_, err := c.runTool(filepath.Join(postgresBinDir(t), "pg_ctl"), "promote", "-w", "-D", filepath.Join(c.postgres[c.primary].dir, "data"))
	must.Succeed(t, err)
	c.startStandby(t, 1-c.primary)
	c.awaitStandby(t)
}

// killStandby kills the standby and restarts it after a while. Meanwhile commits hang
// until they are cancelled.
func killStandby(t *testing.T, s *installation) {
	t.Helper()
	c := s.cluster
	c.awaitStandby(t)
	c.postgres[1-c.primary].kill()
	s.runFor(failoverDowntime)
	c.postgres[1-c.primary].start(t)
	c.awaitStandby(t)
}
