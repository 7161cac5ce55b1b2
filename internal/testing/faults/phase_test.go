//go:build long

package faults_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// breakerOpenTime is the maximum time for a breaker to open.
	breakerOpenTime = 2 * time.Second
	// maxDelay is the duration above which a request is overdue.
	maxDelay = 500 * time.Millisecond
	// maxRequestDuration is the maximum duration of any request.
	maxRequestDuration = 20 * time.Second
)

// allowances holds the errors and delays that are allowed during a phase. The zero value
// is for a phase without faults: no errors, but any delay.
type allowances struct {
	serviceDown  bool     // a service is dead: once breakers are open, few requests may be overdue (see checkRecord)
	unavailable  []string // the services that are unavailable; if there are several, mutations may be UNAVAILABLE
	reconnecting bool     // requests may be UNAVAILABLE at any time, because all processes reconnect
}

// databaseUnavailable reports whether Postgres is unavailable.
func (r allowances) databaseUnavailable() bool { return slices.Contains(r.unavailable, postgres) }

// phase describes a period of the run, and the replies that the clients received in that
// period.
type phase struct {
	name    string
	allowed allowances
	started time.Time
	ended   time.Time

	requests, earlyFailures, lateFailures  int           // all requests; UNAVAILABLE mutations, before and after breakers must be open
	nodeErrors                             int           // requests that failed because the node was killed
	lackingReplies                         int           // LIVE replies that lack an action that they may lack (see unmirrored)
	slowest, slowestAfterOpening           time.Duration // the longest duration of a request sent in the phase; the same once breakers must be open
	timed, overdue                         int           // the requests sent in the phase without a maxDuration; the overdue ones among them
	timedAfterOpening, overdueAfterOpening int           // the same for requests that were sent once breakers must be open
	slowestProbe                           time.Duration // the longest duration of a successful liveness probe
	byFreshness                            map[string]int
	recoveryTime                           time.Duration
}

// breakersOpen reports whether breakers must be open at the given time of a phase. The
// machine's pauses do not count.
func (s *installation) breakersOpen(p *phase, at time.Time) bool {
	elapsed := at.Sub(p.started)
	return elapsed >= breakerOpenTime && elapsed-s.pauses.durationBetween(p.started, at) >= breakerOpenTime
}

// record holds the phases and violations of a run.
type record struct {
	mu         sync.Mutex
	phases     []*phase
	violations map[string][]string // by kind
}

// enterPhase begins a phase.
func (s *installation) enterPhase(name string, r allowances) {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	now := time.Now()
	if n := len(s.record.phases); n > 0 {
		s.record.phases[n-1].ended = now
	}
	s.record.phases = append(s.record.phases, &phase{name: name, allowed: r, started: now, byFreshness: map[string]int{}})
}

func (s *installation) currentPhase() *phase {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	return s.record.phases[len(s.record.phases)-1]
}

// updatePhase updates the current phase.
func (s *installation) updatePhase(add func(*phase)) {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	add(s.record.phases[len(s.record.phases)-1])
}

// violationf records a violation.
func (s *installation) violationf(kind string, c *client, format string, args ...any) {
	who := ""
	if c != nil {
		who = c.name + ": "
	}
	text := fmt.Sprintf(format, args...)
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	p := s.record.phases[len(s.record.phases)-1]
	s.record.violations[kind] = append(s.record.violations[kind],
		fmt.Sprintf("%s [%s] %s%s", time.Now().Format("15:04:05.000"), p.name, who, text))
}

// quietShare returns the share of requests that were overdue while all services were
// running.
func (r *record) quietShare() float64 {
	over, begun := 0, 0
	for _, p := range r.phases {
		if p.name == "quiet" {
			over, begun = over+p.overdue, begun+p.timed
		}
	}
	return ratio(over, begun)
}

func ratio(some, all int) float64 { return float64(some) / float64(max(all, 1)) }

// checkOutcome records a violation if the outcome of a request is not allowed. The
// parameter from is the phase in which the request began. The request ended in the
// current phase.
func (s *installation) checkOutcome(c *client, from *phase, e *journalEntry) {
	to := s.currentPhase()
	var verdict string
	switch {
	case e.code == "":
	case e.code == "NOT_FOUND" && e.mayBeNotFound:
	case e.code == "NODE":
		s.updatePhase(func(p *phase) { p.nodeErrors++ })
	case e.code != "UNAVAILABLE":
		verdict = "an error that is not UNAVAILABLE"
	case e.operation == "page":
		verdict = "a query failed"
	case e.needsDatabase:
		if !from.allowed.reconnecting && !to.allowed.reconnecting && !from.allowed.databaseUnavailable() && !to.allowed.databaseUnavailable() {
			verdict = e.operation + ": it failed while the database was available"
		}
	default:
		verdict = s.checkFailedMutation(from, to, e)
	}
	took := e.elapsed
	if took > maxDelay {
		took -= s.pauses.durationBetween(e.sentAt, e.sentAt.Add(e.elapsed))
	}
	if most := cmp.Or(e.maxDuration, maxRequestDuration); verdict == "" && took > most && e.code != "NODE" {
		verdict = e.operation + ": it took longer than " + most.String()
	}
	open := s.breakersOpen(from, e.sentAt)
	if verdict != "" {
		s.violationf(verdict, c, "%s of %v %s on %s after %v: %s", e.operation, e.subject, e.detail, e.node, e.elapsed, e.code)
	}
	s.updatePhase(func(p *phase) {
		p.requests++
		if e.code != "NODE" {
			from.slowest = max(from.slowest, e.elapsed)
			over := 0
			switch {
			case e.maxDuration > 0:
				return
			case took > maxDelay:
				over = 1
			}
			from.timed++
			from.overdue += over
			if open {
				from.slowestAfterOpening = max(from.slowestAfterOpening, e.elapsed)
				from.timedAfterOpening++
				from.overdueAfterOpening += over
			}
		}
	})
}

// checkFailedMutation returns why a mutation must not be UNAVAILABLE, or "" if it may be.
// While only one service is unavailable, no mutation may be UNAVAILABLE once the breakers
// are open. The exception is collectIntoFolder while the database is unavailable.
func (s *installation) checkFailedMutation(from, to *phase, e *journalEntry) string {
	late := from == to && s.breakersOpen(from, e.sentAt)
	s.updatePhase(func(p *phase) {
		if late {
			p.lateFailures++
		} else {
			p.earlyFailures++
		}
	})
	folder := e.operation == collectIntoFolder && (from.allowed.databaseUnavailable() || to.allowed.databaseUnavailable())
	switch {
	case from.allowed.reconnecting, to.allowed.reconnecting, folder, len(from.allowed.unavailable) > 1, len(to.allowed.unavailable) > 1:
		return ""
	case len(from.allowed.unavailable)+len(to.allowed.unavailable) == 0:
		return "a mutation failed while all services were available"
	case late:
		return "a mutation failed while only one service was unavailable"
	}
	return ""
}

// probeLiveness probes the liveness of the nodes periodically. The durations show how
// busy the machine is.
func (s *installation) probeLiveness(done <-chan struct{}) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		began, node := time.Now(), s.node(i%2)
		if node.status("/healthz") == http.StatusOK {
			s.updatePhase(func(p *phase) { p.slowestProbe = max(p.slowestProbe, time.Since(began)) })
		}
	}
}

// format returns the phases as a table.
func (r *record) format() string {
	var b strings.Builder
	all, total, lacking := map[string]int{}, 0, 0
	fmt.Fprintf(&b, "%-34s %6s %8s %6s %6s %6s %9s %9s %9s %9s  %s\n", "phase", "s", "requests", "early", "late", "killed", "slowest", "late", "pulse", "recovery", "freshness")
	for _, p := range r.phases {
		if p.ended.IsZero() {
			p.ended = time.Now()
		}
		ms := func(d time.Duration) string { return d.Round(time.Millisecond).String() }
		fmt.Fprintf(&b, "%-34s %6.1f %8d %6d %6d %6d %9s %9s %9s %9s  %v\n", p.name, p.ended.Sub(p.started).Seconds(), p.requests,
			p.earlyFailures, p.lateFailures, p.nodeErrors, ms(p.slowest), ms(p.slowestAfterOpening), ms(p.slowestProbe), ms(p.recoveryTime), p.byFreshness)
		lacking += p.lackingReplies
		for freshness, n := range p.byFreshness {
			all[freshness] += n
			total += n
		}
	}
	fmt.Fprintf(&b, "%.1f %% of %d subjects shown were STALE, %.2f %% UNAVAILABLE\n",
		100*float64(all["STALE"])/float64(max(total, 1)), total, 100*float64(all["UNAVAILABLE"])/float64(max(total, 1)))
	fmt.Fprintf(&b, "%d LIVE answers lacked what a node without Redis had acknowledged %v before a worker persisted it\n", lacking, persistWait)
	return b.String()
}
