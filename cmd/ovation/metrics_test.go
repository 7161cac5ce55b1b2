package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// TestProcessesExposeMetricsOfTheirRole compares the metrics of a node and a worker with
// a table in docs/operations.md. The table states which process exposes which metric.
func TestProcessesExposeMetricsOfTheirRole(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../../docs/operations.md")
	must.Succeed(t, err)
	of := map[string]string{} // maps the name of a metric to its process: serve, work or both
	for _, row := range regexp.MustCompile(`(?m)^\| (.*ovation_.*) \| (serve|work|both) \|`).FindAllStringSubmatch(string(manual), -1) {
		for _, name := range regexp.MustCompile("`(ovation_[a-z_]+)").FindAllStringSubmatch(row[1], -1) {
			of[name[1]] = row[2]
		}
	}
	if len(of) < 30 {
		t.Fatalf("the manual documents %d metrics, want at least 30", len(of))
	}
	s := newSite(t)
	node, worker := s.start(t, "serve"), s.start(t, "work")
	node.like(t, "alice", "movie")
	await.That(t, "the like is counted", func() bool { return s.likes(t) == 1 })
	for process, n := range map[string]*server{"serve": node, "work": worker} {
		_, _, text := get(t, n.url+"/metrics")
		var exposed []string
		for _, found := range regexp.MustCompile(`(?m)^# TYPE (ovation_\w+)`).FindAllStringSubmatch(string(text), -1) {
			exposed = append(exposed, found[1])
			if whose := of[found[1]]; whose != process && whose != "both" {
				t.Errorf("%s exposes %s, which the manual attributes to %q", process, found[1], whose)
			}
		}
		for name, whose := range of {
			if whose == "both" && strings.HasPrefix(name, "ovation_postgres_") && !slices.Contains(exposed, name) {
				t.Errorf("%s does not expose %s, which the manual attributes to both", process, name)
			}
		}
		if other := map[string]string{"serve": "consume", "work": "measure"}[process]; strings.Contains(string(text), `purpose="`+other+`"`) {
			t.Errorf("%s exposes metrics with purpose=%q, want none of the other process", process, other)
		}
	}
}
