//go:build long

package faults_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// opening is how long a breaker may take to open.
	opening = 2 * time.Second
	// bound is how long a request may take while a part is dead.
	bound = 500 * time.Millisecond
)

// rules are the errors and delays that are allowed during a phase. The zero value is for
// a phase without faults: no errors, but any delay.
type rules struct {
	dead        bool     // a service is dead: no request takes longer than bound, once breakers are open
	unavailable []string // the services that are unavailable; if there are two, mutations may be UNAVAILABLE
	hiccup      bool     // requests may be UNAVAILABLE at any time, as all processes reconnect
}

// noDatabase reports whether Postgres is unavailable.
func (r rules) noDatabase() bool { return slices.Contains(r.unavailable, postgres) }

// phase is a period of the run, with what the clients saw in it.
type phase struct {
	name  string
	rules rules
	began time.Time
	ended time.Time

	requests, early, late int           // early and late are UNAVAILABLE mutations
	refused               int           // requests to a killed node
	missing               int           // LIVE replies that lacked actions which they may lack (see unseen)
	slowest, slowestLate  time.Duration // of the requests that began in it; late, once breakers had opened
	begun, over           int           // the requests that began in it, and those of them over bound
	afterOpening, slow    int           // the same once breakers had opened
	pulse                 time.Duration // the longest time that a node took to answer a liveness probe
	fresh                 map[string]int
	recovery              time.Duration
}

// opened reports whether breakers had enough time to open by that moment.
func (p *phase) opened(at time.Time) bool { return at.Sub(p.began) >= opening }

// record is everything that the clients saw.
type record struct {
	mu         sync.Mutex
	phases     []*phase
	violations map[string][]string // by kind
}

// enter begins a phase.
func (s *site) enter(name string, r rules) {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	now := time.Now()
	if n := len(s.record.phases); n > 0 {
		s.record.phases[n-1].ended = now
	}
	s.record.phases = append(s.record.phases, &phase{name: name, rules: r, began: now, fresh: map[string]int{}})
}

func (s *site) currentPhase() *phase {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	return s.record.phases[len(s.record.phases)-1]
}

// tally updates the present phase.
func (s *site) tally(add func(*phase)) {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	add(s.record.phases[len(s.record.phases)-1])
}

// violationf records a violation.
func (s *site) violationf(kind string, c *client, format string, args ...any) {
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

// control returns the share of requests that took longer than bound while nothing was
// down.
func (r *record) control() float64 {
	over, begun := 0, 0
	for _, p := range r.phases {
		if p.name == "quiet" {
			over, begun = over+p.over, begun+p.begun
		}
	}
	return share(over, begun)
}

func share(some, all int) float64 { return float64(some) / float64(max(all, 1)) }

// judge decides whether the outcome of a request is allowed. The request began in the
// phase from and ended in the present one.
func (s *site) judge(c *client, from *phase, e *entry) {
	to := s.currentPhase()
	var verdict string
	switch {
	case e.code == "":
	case e.code == "NOT_FOUND" && e.mayMiss:
	case e.code == "NODE":
		s.tally(func(p *phase) { p.refused++ })
	case e.code != "UNAVAILABLE":
		verdict = "an error that is not UNAVAILABLE"
	case e.what == "page":
		verdict = "a query failed"
	case e.direct:
		if !from.rules.hiccup && !to.rules.hiccup && !from.rules.noDatabase() && !to.rules.noDatabase() {
			verdict = e.what + ": it failed, and the database is there"
		}
	default:
		verdict = s.judgeMutation(from, to, e)
	}
	took := e.took - s.pauses.between(e.at, e.at.Add(e.took))
	if verdict == "" && e.limit > 0 && took > e.limit && e.code != "NODE" {
		verdict = e.what + ": it took longer than " + e.limit.String()
	}
	if verdict != "" {
		s.violationf(verdict, c, "%s of %v %s on %s after %v: %s", e.what, e.subject, e.about, e.node, e.took, e.code)
	}
	s.tally(func(p *phase) {
		p.requests++
		if e.code != "NODE" {
			from.slowest = max(from.slowest, e.took)
			over := 0
			switch {
			case e.limit > 0:
				return
			case took > bound:
				over = 1
			}
			from.begun++
			from.over += over
			if from.opened(e.at) {
				from.slowestLate = max(from.slowestLate, e.took)
				from.afterOpening++
				from.slow += over
			}
		}
	})
}

// judgeMutation decides whether a mutation may be UNAVAILABLE: while only one service is
// unavailable, none may be once the breakers are open.
func (s *site) judgeMutation(from, to *phase, e *entry) string {
	late := from == to && from.opened(e.at)
	s.tally(func(p *phase) {
		if late {
			p.late++
		} else {
			p.early++
		}
	})
	folder := e.what == collectIntoFolder && (from.rules.noDatabase() || to.rules.noDatabase())
	switch {
	case from.rules.hiccup, to.rules.hiccup, folder, len(from.rules.unavailable) > 1, len(to.rules.unavailable) > 1:
		return ""
	case len(from.rules.unavailable)+len(to.rules.unavailable) == 0:
		return "a mutation failed, and nothing is unavailable"
	case late:
		return "a mutation failed, and only one part is unavailable"
	}
	return ""
}

// probeLiveness probes the liveness of a node again and again. The durations show how busy the
// machine is.
func (s *site) probeLiveness(done <-chan struct{}) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		began, node := time.Now(), s.node(i%2)
		if node.get("/healthz") == http.StatusOK {
			s.tally(func(p *phase) { p.pulse = max(p.pulse, time.Since(began)) })
		}
	}
}

// table returns the phases as a table.
func (r *record) table() string {
	var b strings.Builder
	all, total, lacking := map[string]int{}, 0, 0
	fmt.Fprintf(&b, "%-34s %6s %8s %6s %6s %6s %9s %9s %9s %9s  %s\n", "phase", "s", "requests", "early", "late", "killed", "slowest", "late", "pulse", "recovery", "freshness")
	for _, p := range r.phases {
		if p.ended.IsZero() {
			p.ended = time.Now()
		}
		ms := func(d time.Duration) string { return d.Round(time.Millisecond).String() }
		fmt.Fprintf(&b, "%-34s %6.1f %8d %6d %6d %6d %9s %9s %9s %9s  %v\n", p.name, p.ended.Sub(p.began).Seconds(), p.requests,
			p.early, p.late, p.refused, ms(p.slowest), ms(p.slowestLate), ms(p.pulse), ms(p.recovery), p.fresh)
		lacking += p.missing
		for freshness, n := range p.fresh {
			all[freshness] += n
			total += n
		}
	}
	fmt.Fprintf(&b, "%.1f %% of %d subjects shown were STALE, %.2f %% UNAVAILABLE\n",
		100*float64(all["STALE"])/float64(max(total, 1)), total, 100*float64(all["UNAVAILABLE"])/float64(max(total, 1)))
	fmt.Fprintf(&b, "%d LIVE answers lacked what a node without Redis had acknowledged %v before a worker persisted it\n", lacking, awaitTime)
	return b.String()
}
