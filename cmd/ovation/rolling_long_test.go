//go:build long

package main

import (
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"ovation/cmd/ovation/internal/balance"
	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// balancerDrain is longer than balance.ProbeEvery and the timeout of a probe together, 2.1
// s. The balancer thus notices in time that a node is stopping, even if it is busy with
// another probe.
const balancerDrain = 5 * time.Second

// TestLongRollingRestartLosesNoRequest replaces every node and every worker, one after
// another, while many users click through a balancer. It runs fewer users than
// promisedLoad has. The users share the processors with the nodes and the balancer. With
// more users, probes would not be answered in time, and a node could not report that it
// is stopping.
func TestLongRollingRestartLosesNoRequest(t *testing.T) {
	p := clickLoad{users: 250, during: 30 * time.Second}
	s := newSite(t)
	s.variables["OVATION_DRAIN"] = balancerDrain.String()
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
		must.Succeed(t, balancer.Add(node.url))
		return node
	}
	for range 2 {
		nodes, workers = append(nodes, start()), append(workers, s.start(t, "work"))
	}
	await.That(t, "the balancer knows both nodes", func() bool { return balancer.Ready() == 2 })

	users, clicks, errs := p.run(func() {
		for i := range nodes {
			nodes[i].stop().want(t, 0)
			nodes[i] = start()
			await.That(t, "the balancer knows the new node", func() bool { return balancer.Ready() == 2 })
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
