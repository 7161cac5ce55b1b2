package main

import (
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"ovation/cmd/ovation/internal/balance"
)

// TestRollingRestartLosesNoRequest replaces every node and every worker, one
// after the other, while many users click through a balancer.
func TestRollingRestartLosesNoRequest(t *testing.T) {
	moderate.rollingRestart(t, stackDrain) // which is for this balancer
}

func (p pressure) rollingRestart(t *testing.T, drain time.Duration) {
	t.Helper()
	s := newSite(t)
	s.variables["OVATION_DRAIN"] = drain.String()
	log := newWatch()
	balancer := balance.New(slog.New(slog.NewTextHandler(log, nil)))
	front := httptest.NewServer(balancer)
	t.Cleanup(func() {
		front.Close()
		balancer.Close()
	})
	through := &server{url: front.URL, as: as}
	var nodes, workers []*server
	start := func() *server {
		node := s.start(t, "serve")
		must(t, balancer.Add(node.url))
		return node
	}
	for range 2 {
		nodes, workers = append(nodes, start()), append(workers, s.start(t, "work"))
	}
	eventually(t, "the balancer knows both nodes", func() bool { return balancer.Ready() == 2 })

	users, clicks, errs := p.press(func() {
		for i := range nodes {
			stopped(t, "serve", nodes[i])
			nodes[i] = start()
			eventually(t, "the balancer knows the new node", func() bool { return balancer.Ready() == 2 })
			stopped(t, "work", workers[i])
			workers[i] = s.start(t, "work")
		}
	}, through)
	for _, err := range errs {
		t.Error(err)
	}
	t.Logf("%d users, %d mutations", len(users), clicks)
	if t.Failed() {
		t.Log(log)
	}
	s.settled(t, users, nodes...)
}

// stopped stops a process, which must end well and say nothing of it.
func stopped(t *testing.T, command string, s *server) {
	t.Helper()
	if e := s.stop(); e.code != 0 {
		t.Errorf("%s ended with %d: %s", command, e.code, e.stderr)
	}
}
