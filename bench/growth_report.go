package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// report returns the report of the run.
func (g *growth) report(ctx context.Context) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Growth\n\nWritten by `make bench-growth` (see the documentation of package bench). A run of %.0f s on %s, seed %d.\n\n",
		secondsSince(g.started), time.Now().UTC().Format(time.DateOnly), g.seed)
	if overloaded(g.initialLoadAverage) {
		fmt.Fprintf(&out, "**The machine was not idle when it began (load average %s): latencies are too high, "+
			"and so is CPU time, as far as caches were shared.**\n\n", g.initialLoadAverage)
	}
	for _, line := range g.describeMachine(ctx, g.othersCPU()) {
		fmt.Fprintf(&out, "- %s\n", line)
	}
	fmt.Fprintf(&out, "\nA state is a like or a collection of one user. One user in a hundred has %d of them, the others %d. "+
		"Of S subjects the first n have √(n/S) of all states. Ids have 12 characters. "+
		"Everything runs on this machine: Ovation, the three services, and %d clients, each of which sends its next request when the last is answered. "+
		"Values with a range are the median of %d rounds (least–most). CPU is user and system time per request.\n",
		heavyUserStates, typicalUserStates, growthClients, g.runPlan.rounds)
	g.writePages(&out)
	g.writeLikes(&out)
	g.writeWorker(&out)
	g.writeTables(&out)
	g.redisMemory.write(&out)
	out.WriteString("\n## Checked\n\nEvery page was compared, to the byte, with what Postgres holds. Every acknowledged like was in Postgres in the end, " +
		"no other was counted, no message was left in a queue. `ovation verify` said, before the measurements, that nothing differs, and after them:\n\n")
	for _, of := range g.results {
		fmt.Fprintf(&out, "- %s states: %s\n", of.label(), strings.ReplaceAll(of.verifyOutput, "\n", "; "))
	}
	if n := g.users.bypassedQueue.Load(); n > 0 {
		fmt.Fprintf(&out, "\nAt the last size %d likes were persisted by the node itself, because the queue did not confirm in time.\n", n)
	}
	return out.String()
}

// overloaded reports whether the load average of the last minute exceeds the number of
// processors.
func overloaded(average string) bool {
	minute, _, _ := strings.Cut(average, " ")
	n, err := strconv.ParseFloat(minute, 64)
	return err == nil && n > float64(runtime.NumCPU())
}

func (w growthData) label() string { return formatNumber(float64(w.states), 0) }

// othersCPU returns the number of processors that other processes used during each load.
func (g *growth) othersCPU() (out series) {
	for _, of := range g.results {
		all := []*measurement{of.worker.measurement}
		for _, pages := range of.pages {
			all = append(all, pages.cold, pages.warm)
		}
		for _, likes := range of.likes {
			all = append(all, likes.measurement)
		}
		for _, m := range all {
			out = append(out, m.processors[othersName]...)
		}
	}
	return out
}

func (g *growth) writePages(out *strings.Builder) {
	out.WriteString("\n## A page\n\nCounts, liked and collected of the subjects of a page. The second column states how many subjects a page has, and how many different ones all pages have at most. The first time, neither the viewer nor any subject is in Redis, and Postgres is read. " +
		"Then the same pages are requested repeatedly. A node caches the counts of some hundred thousand subjects; if the pages have more, it reads Redis.\n\n" +
		"| states | subjects | | p50 ms | p99 ms | CPU µs: serve | redis | postgres |\n|---|---|---|---|---|---|---|---|\n")
	for _, of := range g.results {
		for _, pages := range of.pages {
			for _, m := range []*measurement{pages.cold, pages.warm} {
				fmt.Fprintf(out, "| %s | %d of ≤ %s | %s | %s | %s | %s | %s | %s |\n", of.label(), pages.size, formatNumber(float64(pages.distinctSubjects), 0), m.name,
					formatSpread(m.p50, 2), formatSpread(m.p99, 2), formatSpread(m.cpuPerRequest(nodeName), 0), formatSpread(m.cpuPerRequest("redis"), 0), formatSpread(m.cpuPerRequest("postgres"), 0))
			}
		}
	}
}

// writeServices holds the services that take part in a write, in the order of the columns
// in the report's tables.
var writeServices = []string{nodeName, workerName, "postgres", "redis", "rabbitmq"}

func formatCosts(m *measurement) string {
	var out strings.Builder
	for _, name := range writeServices {
		fmt.Fprintf(&out, " %s |", formatSpread(m.cpuPerRequest(name), 0))
	}
	return out.String()
}

func (g *growth) writeLikes(out *strings.Builder) {
	fmt.Fprintf(out, "\n## A like\n\nLikes of users who have viewed a page before, while a worker persists them. Those of many clients share messages, confirms and commits. "+
		"Logged bytes are what Postgres writes to its WAL, including a full image of each page at its first change after a checkpoint.\n\n"+
		"| states | clients | a second | p50 ms | p99 ms | CPU µs: %s | logged bytes |\n|---|---|---|---|---|%s---|\n",
		strings.Join(writeServices, " | "), strings.Repeat("---|", len(writeServices)))
	for _, of := range g.results {
		for _, m := range of.likes {
			fmt.Fprintf(out, "| %s | %d | %s | %s | %s |%s %s |\n", of.label(), m.clients,
				formatSpread(m.rate, 0), formatSpread(m.p50, 2), formatSpread(m.p99, 2), formatCosts(m.measurement), formatSpread(m.walBytes, 0))
		}
	}
}

func (g *growth) writeWorker(out *strings.Builder) {
	fmt.Fprintf(out, "\n## The worker\n\nLikes wait in the queue, %s in messages of %d, when the worker starts.\n\n"+
		"| states | actions a second | CPU µs: %s | logged bytes |\n|---|---|%s---|\n",
		formatNumber(float64(g.runPlan.backlogActions), 0), actionsPerMessage, strings.Join(writeServices[1:], " | "), strings.Repeat("---|", len(writeServices)-1))
	for _, of := range g.results {
		_, without, _ := strings.Cut(formatCosts(of.worker.measurement), "|") // without the column of the node
		fmt.Fprintf(out, "| %s | %s |%s %s |\n", of.label(), formatSpread(of.worker.rate, 0), without, formatSpread(of.worker.walBytes, 0))
	}
}

func (g *growth) writeTables(out *strings.Builder) {
	out.WriteString("\n## Postgres\n\nAs filled in bulk: indexes that grow by one row at a time are up to 50 % larger, because their pages are less full.\n\n" +
		"| states | filled in | table | rows | MiB | MiB of indexes | bytes a row, with indexes |\n|---|---|---|---|---|---|---|\n")
	for _, of := range g.results {
		whole := int64(0)
		for i, t := range of.tables {
			size, filled := of.label(), fmt.Sprintf("%.0f s", of.fillTime.Seconds())
			if i > 0 {
				size, filled = "", ""
			}
			whole += t.heap + t.index
			fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s |\n", size, filled, t.name, formatNumber(float64(t.rows), 0), formatMiB(t.heap), formatMiB(t.index),
				formatNumber(float64(t.heap+t.index)/float64(max(1, t.rows)), 0))
		}
		fmt.Fprintf(out, "| | | all, for each state | %s | %s | | %s |\n", of.label(), formatMiB(whole), formatNumber(float64(whole)/float64(of.states), 0))
	}
}

func formatMiB(bytes int64) string { return formatNumber(float64(bytes)/(1<<20), 1) }

func (h *redisMemory) write(out *strings.Builder) {
	const million, gb = 1e6, 1 << 30
	fmt.Fprintf(out, "\n## Redis\n\nHow `used_memory` grows with active users and subjects, at %s states.\n\n| what | measured with | bytes each |\n|---|---|---|\n", formatNumber(float64(h.states), 0))
	for _, line := range []struct {
		what string
		itemSize
	}{
		{"counts of a subject, cached by one node", h.subject},
		{"the same subject, cached by one more node", h.secondNode},
		{"window of a user with no states", h.emptyWindow},
		{fmt.Sprintf("window of a user with %d states", typicalUserStates), h.smallWindow},
		{fmt.Sprintf("window of a user with %d states", heavyUserStates), h.largeWindow},
	} {
		fmt.Fprintf(out, "| %s | %s | %s |\n", line.what, formatNumber(float64(line.count), 0), formatNumber(line.bytesEach, 0))
	}
	users := ((heavyUserInterval-1)*h.smallWindow.bytesEach + h.largeWindow.bytesEach) / heavyUserInterval
	fmt.Fprintf(out, "\nA state takes %.0f bytes in a small window ((%.0f − %.0f) / %d) and %.0f in a large one ((%.0f − %.0f) / %d).\n\n"+
		"For a million active users like these and a million requested subjects, by one node:\n"+
		"10⁶ × (%.0f + %.0f) bytes = %.2f GiB; each further node that caches them adds 10⁶ × %.0f bytes = %.2f GiB. "+
		"Extrapolated, without the allocator's fragmentation.\n",
		(h.smallWindow.bytesEach-h.emptyWindow.bytesEach)/typicalUserStates, h.smallWindow.bytesEach, h.emptyWindow.bytesEach, typicalUserStates,
		(h.largeWindow.bytesEach-h.emptyWindow.bytesEach)/heavyUserStates, h.largeWindow.bytesEach, h.emptyWindow.bytesEach, heavyUserStates,
		users, h.subject.bytesEach, million*(users+h.subject.bytesEach)/gb, h.secondNode.bytesEach, million*h.secondNode.bytesEach/gb)
}
