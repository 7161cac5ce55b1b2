package main

import (
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"ovation/cmd/ovation/internal/balance"
)

// balancerDrain is longer than balance.ProbeEvery and the timeout of a probe together, 2.1
// s. The balancer thus notices in time that a node is stopping, even if it is busy with
// another probe.
const balancerDrain = 5 * time.Second

// TestRollingRestartLosesNoRequest replaces every node and every worker, one after
// another, while many users click through a balancer.
func TestRollingRestartLosesNoRequest(t *testing.T) {
	moderate.rollingRestart(t, balancerDrain)
}

func (p clickLoad) rollingRestart(t *testing.T, drain time.Duration) {
	t.Helper()
	s := newSite(t)
	s.variables["OVATION_DRAIN"] = drain.String()
	log := newBannerWriter()
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

	users, clicks, errs := p.run(func() {
		for i := range nodes {
			nodes[i].stop().want(t, 0)
			nodes[i] = start()
			eventually(t, "the balancer knows the new node", func() bool { return balancer.Ready() == 2 })
			workers[i].stop().want(t, 0)
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
