package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// text returns the report of the run.
func (g *growth) text(ctx context.Context) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Growth\n\nWritten by `make bench-growth` (see the documentation of package bench). A run of %.0f s on %s, seed %d.\n\n",
		since(g.began), time.Now().UTC().Format(time.DateOnly), g.seed)
	if loaded(g.idle) {
		fmt.Fprintf(&out, "**The machine was not idle when it began (load average %s): latencies are too high, "+
			"and so is CPU time, as far as caches were shared.**\n\n", g.idle)
	}
	for _, line := range g.machine(ctx, g.noise()) {
		fmt.Fprintf(&out, "- %s\n", line)
	}
	fmt.Fprintf(&out, "\nA state is a like or a collection of one user. One user in a hundred has %d of them, the others %d. "+
		"Of S subjects the first n have √(n/S) of all states. Ids have 12 characters. "+
		"Everything runs on this machine: Ovation, the three services, and %d clients, each of which sends its next request when the last is answered. "+
		"Values with a range are the median of %d rounds (least–most). CPU is user and system time per request.\n",
		heavyUserStates, typicalUserStates, growthClients, g.plan.rounds)
	g.pageText(&out)
	g.likeText(&out)
	g.workText(&out)
	g.tableText(&out)
	g.redis.text(&out)
	out.WriteString("\n## Checked\n\nEvery page was compared, to the byte, with what Postgres holds. Every acknowledged like was in Postgres in the end, " +
		"no other was counted, no message was left in a queue. `ovation verify` said, before the measurements, that nothing differs, and after them:\n\n")
	for _, of := range g.of {
		fmt.Fprintf(&out, "- %s states: %s\n", of.title(), strings.ReplaceAll(of.checked, "\n", "; "))
	}
	if n := g.people.bypassed.Load(); n > 0 {
		fmt.Fprintf(&out, "\nAt the last size %d likes were persisted by the node itself, because the queue did not confirm in time.\n", n)
	}
	return out.String()
}

// loaded reports whether the load average of the last minute exceeds the number of
// processors.
func loaded(average string) bool {
	minute, _, _ := strings.Cut(average, " ")
	n, err := strconv.ParseFloat(minute, 64)
	return err == nil && n > float64(runtime.NumCPU())
}

func (w world) title() string { return grouped(float64(w.states), 0) }

// noise returns the CPU time that everything else took, load by load.
func (g *growth) noise() (out series) {
	for _, of := range g.of {
		all := []*measured{of.work.measured}
		for _, pages := range of.pages {
			all = append(all, pages.cold, pages.warm)
		}
		for _, likes := range of.likes {
			all = append(all, likes.measured)
		}
		for _, m := range all {
			out = append(out, m.shares[elsewhere]...)
		}
	}
	return out
}

func (g *growth) pageText(out *strings.Builder) {
	out.WriteString("\n## A page\n\nCounts, liked and collected of this many subjects. The first time, neither the viewer nor any subject is in Redis, and Postgres is read. " +
		"Then the same pages are requested repeatedly. A node caches the counts of some hundred thousand subjects; if the pages have more, it reads Redis.\n\n" +
		"| states | subjects | | p50 ms | p99 ms | CPU µs: serve | redis | postgres |\n|---|---|---|---|---|---|---|---|\n")
	for _, of := range g.of {
		for _, pages := range of.pages {
			for _, m := range []*measured{pages.cold, pages.warm} {
				fmt.Fprintf(out, "| %s | %d of %s | %s | %s | %s | %s | %s | %s |\n", of.title(), pages.size, grouped(float64(pages.different), 0), m.name,
					spread(m.p50, 2), spread(m.p99, 2), spread(m.cost(nodeName), 0), spread(m.cost("redis"), 0), spread(m.cost("postgres"), 0))
			}
		}
	}
}

// The services that take part in a write, in the order of the tables.
var writers = []string{nodeName, workerName, "postgres", "redis", "rabbitmq"}

func costs(m *measured) string {
	var out strings.Builder
	for _, name := range writers {
		fmt.Fprintf(&out, " %s |", spread(m.cost(name), 0))
	}
	return out.String()
}

func (g *growth) likeText(out *strings.Builder) {
	fmt.Fprintf(out, "\n## A like\n\nLikes of users who have viewed a page before, while a worker persists them. Those of many clients share messages, confirms and commits. "+
		"Logged bytes are what Postgres writes to its WAL, including a full image of each page at its first change after a checkpoint.\n\n"+
		"| states | clients | a second | p50 ms | p99 ms | CPU µs: %s | logged bytes |\n|---|---|---|---|---|%s---|\n",
		strings.Join(writers, " | "), strings.Repeat("---|", len(writers)))
	for _, of := range g.of {
		for _, m := range of.likes {
			fmt.Fprintf(out, "| %s | %d | %s | %s | %s |%s %s |\n", of.title(), m.clients,
				spread(m.rate, 0), spread(m.p50, 2), spread(m.p99, 2), costs(m.measured), spread(m.log, 0))
		}
	}
}

func (g *growth) workText(out *strings.Builder) {
	fmt.Fprintf(out, "\n## The worker\n\nLikes wait in the queue, %s in messages of %d, when the worker starts.\n\n"+
		"| states | actions a second | CPU µs: %s | logged bytes |\n|---|---|%s---|\n",
		grouped(float64(g.plan.backlog), 0), messageSize, strings.Join(writers[1:], " | "), strings.Repeat("---|", len(writers)-1))
	for _, of := range g.of {
		_, without, _ := strings.Cut(costs(of.work.measured), "|") // the node
		fmt.Fprintf(out, "| %s | %s |%s %s |\n", of.title(), spread(of.work.rate, 0), without, spread(of.work.log, 0))
	}
}

func (g *growth) tableText(out *strings.Builder) {
	out.WriteString("\n## Postgres\n\nAs filled in bulk: indexes that grow by one row at a time are up to 50 % larger, because their pages are less full.\n\n" +
		"| states | filled in | table | rows | MiB | MiB of indexes | bytes a row, with indexes |\n|---|---|---|---|---|---|---|\n")
	for _, of := range g.of {
		whole := int64(0)
		for i, t := range of.tables {
			size, filled := of.title(), fmt.Sprintf("%.0f s", of.filled.Seconds())
			if i > 0 {
				size, filled = "", ""
			}
			whole += t.heap + t.index
			fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s |\n", size, filled, t.name, grouped(float64(t.rows), 0), mb(t.heap), mb(t.index),
				grouped(float64(t.heap+t.index)/float64(max(1, t.rows)), 0))
		}
		fmt.Fprintf(out, "| | | all, for each state | %s | %s | | %s |\n", of.title(), mb(whole), grouped(float64(whole)/float64(of.states), 0))
	}
}

func mb(bytes int64) string { return grouped(float64(bytes)/(1<<20), 1) }

func (h *memoryUse) text(out *strings.Builder) {
	const million, gb = 1e6, 1 << 30
	fmt.Fprintf(out, "\n## Redis\n\nHow `used_memory` grows with active users and subjects, at %s states.\n\n| what | measured with | bytes each |\n|---|---|---|\n", grouped(float64(h.states), 0))
	for _, line := range []struct {
		what string
		itemSize
	}{
		{"counts of a subject, cached by one node", h.subject},
		{"the same subject, cached by one more node", h.known},
		{"window of a user with no states", h.idle},
		{fmt.Sprintf("window of a user with %d states", typicalUserStates), h.typical},
		{fmt.Sprintf("window of a user with %d states", heavyUserStates), h.heavy},
	} {
		fmt.Fprintf(out, "| %s | %s | %s |\n", line.what, grouped(float64(line.n), 0), grouped(line.each, 0))
	}
	users := ((heavyUserEvery-1)*h.typical.each + h.heavy.each) / heavyUserEvery
	fmt.Fprintf(out, "\nA state takes %.0f bytes in a small window ((%.0f − %.0f) / %d) and %.0f in a large one ((%.0f − %.0f) / %d).\n\n"+
		"For a million active users like these and a million requested subjects, by one node:\n"+
		"10⁶ × (%.0f + %.0f) bytes = %.2f GiB; each further node that caches them adds 10⁶ × %.0f bytes = %.2f GiB. "+
		"Extrapolated, without the allocator's fragmentation.\n",
		(h.typical.each-h.idle.each)/typicalUserStates, h.typical.each, h.idle.each, typicalUserStates,
		(h.heavy.each-h.idle.each)/heavyUserStates, h.heavy.each, h.idle.each, heavyUserStates,
		users, h.subject.each, million*(users+h.subject.each)/gb, h.known.each, million*h.known.each/gb)
}
