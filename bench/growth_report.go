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
		"Of S subjects the first n have √(n/S) of all states. Ovation, the services and %d clients run on this machine. "+
		"Values are the median of %d rounds (least–most). CPU is user and system time per request, in µs.\n",
		heavyUserStates, typicalUserStates, growthClients, g.runPlan.rounds)
	g.writePages(&out)
	g.writeLikes(&out)
	g.writeWorker(&out)
	g.writeTables(&out)
	g.redisMemory.write(&out)
	out.WriteString("\n## Checked\n\nEvery page was compared with what Postgres holds. Every acknowledged like was in Postgres in the end, " +
		"and no other. After the measurements, `ovation verify` printed:\n\n")
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
	out.WriteString("\n## A page\n\nCounts, liked and collected of the subjects of a page: how many, of at most how many different ones in all pages. The first time, Redis is empty and Postgres is read; " +
		"then the same pages are requested again. A node caches the counts of some hundred thousand subjects.\n\n" +
		"| states | subjects | first: p50 ms | p99 ms | CPU: serve | redis | postgres | again: p50 ms | p99 ms | CPU: serve | redis |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, of := range g.results {
		for _, pages := range of.pages {
			cold, warm := pages.cold, pages.warm
			fmt.Fprintf(out, "| %s | %d of %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", of.label(), pages.size, formatNumber(float64(pages.distinctSubjects), 0),
				formatSpread(cold.p50, 2), formatMedian(cold.p99, 1, 2), formatMedian(cold.cpuPerRequest(nodeName), 1, 0), formatMedian(cold.cpuPerRequest("redis"), 1, 0), formatMedian(cold.cpuPerRequest("postgres"), 1, 0),
				formatSpread(warm.p50, 2), formatMedian(warm.p99, 1, 2), formatMedian(warm.cpuPerRequest(nodeName), 1, 0), formatMedian(warm.cpuPerRequest("redis"), 1, 0))
		}
	}
}

// writeServices holds the services that take part in a write, in the order of the columns
// in the report's tables.
var writeServices = []string{nodeName, workerName, "postgres", "redis", "rabbitmq"}

func formatCosts(m *measurement) string {
	var out strings.Builder
	for _, name := range writeServices {
		fmt.Fprintf(&out, " %s |", formatMedian(m.cpuPerRequest(name), 1, 0))
	}
	return out.String()
}

func (g *growth) writeLikes(out *strings.Builder) {
	fmt.Fprintf(out, "\n## A like\n\nLikes while a worker persists them. Logged bytes are Postgres's WAL, with a full image of each page at its first change after a checkpoint.\n\n"+
		"| states | clients | a second | p50 ms | p99 ms | CPU: %s | logged bytes |\n|---|---|---|---|---|%s---|\n",
		strings.Join(writeServices, " | "), strings.Repeat("---|", len(writeServices)))
	for _, of := range g.results {
		for _, m := range of.likes {
			fmt.Fprintf(out, "| %s | %d | %s | %s | %s |%s %s |\n", of.label(), m.clients,
				formatSpread(m.rate, 0), formatMedian(m.p50, 1, 2), formatMedian(m.p99, 1, 2), formatCosts(m.measurement), formatMedian(m.walBytes, 1, 0))
		}
	}
}

func (g *growth) writeWorker(out *strings.Builder) {
	fmt.Fprintf(out, "\n## The worker\n\nLikes wait in the queue, %s in messages of %d, when the worker starts.\n\n"+
		"| states | actions a second | CPU: %s | logged bytes |\n|---|---|%s---|\n",
		formatNumber(float64(g.runPlan.backlogActions), 0), actionsPerMessage, strings.Join(writeServices[1:], " | "), strings.Repeat("---|", len(writeServices)-1))
	for _, of := range g.results {
		_, without, _ := strings.Cut(formatCosts(of.worker.measurement), "|") // without the column of the node
		fmt.Fprintf(out, "| %s | %s |%s %s |\n", of.label(), formatSpread(of.worker.rate, 0), without, formatMedian(of.worker.walBytes, 1, 0))
	}
}

func (g *growth) writeTables(out *strings.Builder) {
	out.WriteString("\n## Postgres\n\nAs filled in bulk: indexes that grow by one row at a time are up to 50 % larger. The tables are those of the last size.\n\n" +
		"| table | rows | MiB | MiB of indexes | bytes a row, with indexes |\n|---|---|---|---|---|\n")
	for i, of := range g.results {
		whole := int64(0)
		for _, t := range of.tables {
			whole += t.heap + t.index
			if i == len(g.results)-1 {
				fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", t.name, formatNumber(float64(t.rows), 0), formatMiB(t.heap), formatMiB(t.index),
					formatNumber(float64(t.heap+t.index)/float64(max(1, t.rows)), 0))
			}
		}
		fmt.Fprintf(out, "| all, for each state | %s | %s | | %s |\n", of.label(), formatMiB(whole), formatNumber(float64(whole)/float64(of.states), 0))
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
