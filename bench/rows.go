package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"ovation/bench/load"
)

// row is one row of the report.
type row struct {
	key          string // selects the row on the command line
	title        string
	target       string
	result       string // the measured values
	met          bool
	notes        []string
	measurements []*measurement
}

// rowFunc measures a row of the report and fills it in.
type rowFunc func(ctx context.Context, b *bench, r *row) error

// rowSpec is a row with the function that measures it.
type rowSpec struct {
	row

	measure rowFunc
}

// rows lists the rows of the report in the order in which they are measured. Rows that
// leave the most data in the tables come last.
var rows = slices.Concat(
	comparisonRows("page", "page of 20, closed loop", "≥ 80 % of the floor, Redis ≤ 1.5 times its", measurePages),
	comparisonRows("mixed", "page of 20 with 10 % likes, closed loop", "≥ 80 % of the floor", measureMixed),
	comparisonRows("like", "like, closed loop", "≥ 80 % of the floor, p50 ≤ 1.5 times, Redis ≤ 2.5 times its", measureLikes),
	[]rowSpec{
		{row{key: "authors", title: "page of 20 with author and followed, 32 connections", target: "≥ 75 % of the page without"}, measureAuthors},
		{row{key: "follow", title: "follow, 32 connections", target: "≥ 90 % of like"}, measureFollows},
		{row{key: "comment", title: "comment, 32 connections", target: "≥ 60 % of inserts into Postgres, in batches of 32"}, measureComments},
		{row{key: "comments", title: "page of 20 comments, 32 connections", target: "none, beside pages of 20 subjects"}, measureCommentPages},
		{row{key: "hot", title: "page with a subject that 1,000 users a second like", target: "≥ 80 % of pages without it"}, measureHot},
		{row{key: "worker", title: "worker into Postgres", target: "≥ 50,000 actions/s"}, measureWorker},
		{row{key: "platform-page", title: "page of 20 as a trusted document, with federation and a configuration, 32 connections", target: "none, beside the page without"}, measurePlatformPages},
		{row{key: "platform-like", title: "like with all of these and events, 32 connections", target: "≥ 85 % of the like without"}, measurePlatformLikes},
		{row{key: "events", title: "worker into Postgres, with a log of events", target: "≥ 85 % of the rate without"}, measureEvents},
		{row{key: "open", title: "like, open loop at 2,800/s", target: "p99 ≤ 1.5 times that of the floor, no error, seen by others < 100 ms p99, queue empty at the end"}, measureOpen},
		{row{key: "live", title: "subscribers of one subject on one node", target: "10,000 of them; changes delivered p99 < 250 ms; each idle ≤ 20 KB, ≤ 3 goroutines"}, measureLive},
		{row{key: "import", title: "bulk import", target: "≥ 100,000 rows/s"}, measureImport},
	},
)

// comparisonRows returns the rows that compare Ovation with the floor, one for each
// number of connections.
func comparisonRows(key, title, target string, measure func(ctx context.Context, b *bench, r *row, clients int) error) (out []rowSpec) {
	for _, n := range connectionCounts {
		out = append(out, rowSpec{
			row{key: fmt.Sprintf("%s-%d", key, n), title: fmt.Sprintf("%s, %d connections", title, n), target: target},
			func(ctx context.Context, b *bench, r *row) error { return measure(ctx, b, r, n) },
		})
	}
	return out
}

const (
	minRatio          = 0.80 // minimum ratio of the first variant's rate to the second's, unless a row sets its own
	maxPageRedisRatio = 1.5  // maximum ratio of Redis's CPU time for Ovation to that for the floor
	maxLikeRedisRatio = 2.5
	maxLikeP50Ratio   = 1.5 // maximum ratio of the p50 of likes to the floor's
)

// measurePages compares pages while no writes are in progress.
func measurePages(ctx context.Context, b *bench, r *row, clients int) error {
	_, systems, workloads, err := b.warmWorkloads(ctx, b.drawPages(pageCount, nil))
	if err != nil {
		return err
	}
	var variants [2]variant
	for i, s := range systems {
		variants[i] = variant{name: s.name, system: s, newClients: func(context.Context, int) ([]load.Client, error) {
			return workloads[i].newPageClients(clients, false), nil
		}}
	}
	if err := b.compareRates(ctx, r, variants); err != nil {
		return err
	}
	r.requireAtMost("Redis", r.measurements[0].cpuPerRequest(redisName).median()/r.measurements[1].cpuPerRequest(redisName).median(), maxPageRedisRatio)
	return b.crossCheck(ctx, r, systems, workloads, clients)
}

// measureMixed compares pages while one request in ten is a like.
func measureMixed(ctx context.Context, b *bench, r *row, clients int) error {
	drawn := b.drawPages(pageCount, nil)
	states, systems, workloads, err := b.warmWorkloads(ctx, drawn)
	if err != nil {
		return err
	}
	var variants [2]variant
	for i, s := range systems {
		variants[i] = variant{name: s.name, system: s, afterRound: b.drainFunc(s), newClients: func(_ context.Context, round int) ([]load.Client, error) {
			return workloads[i].newMixedClients(drawn, s, states[i], clients, b.seed+uint64(10*round+i), false), nil
		}}
	}
	r.notes = append(r.notes, "A request is a page or a like.")
	if err := b.compareRates(ctx, r, variants); err != nil {
		return err
	}
	return errors.Join(b.checkLikes(ctx, &b.node), b.checkLikes(ctx, &b.floor))
}

// measureLikes compares likes while workers persist them.
func measureLikes(ctx context.Context, b *bench, r *row, clients int) error {
	var variants [2]variant
	for i, s := range []*system{&b.node, &b.floor} {
		variants[i] = variant{name: s.name, system: s, afterRound: b.drainFunc(s), newClients: func(_ context.Context, round int) ([]load.Client, error) {
			return s.newLikeClients(clients, b.seed+uint64(10*round+i), func(*likeClient) {}), nil
		}}
	}
	if err := b.compareRates(ctx, r, variants); err != nil {
		return err
	}
	r.requireAtMost("p50", r.measurements[0].p50.median()/r.measurements[1].p50.median(), maxLikeP50Ratio)
	r.requireAtMost("Redis", r.measurements[0].cpuPerRequest(redisName).median()/r.measurements[1].cpuPerRequest(redisName).median(), maxLikeRedisRatio)
	return errors.Join(b.checkLikes(ctx, &b.node), b.checkLikes(ctx, &b.floor))
}

func (b *bench) drainFunc(s *system) func(context.Context) error {
	return func(ctx context.Context) error { return b.drain(ctx, s) }
}

// compareRates measures two variants alternately and compares the first with the second.
func (b *bench) compareRates(ctx context.Context, r *row, variants [2]variant) error {
	of, err := b.measureAlternately(ctx, variants)
	if err == nil {
		r.evaluateRates(of, minRatio)
	}
	return err
}

// evaluateRates compares the rates of the first variant with the rates of the second. The
// target is met if the median of the ratios is not below the given minimum.
func (r *row) evaluateRates(of [2]*measurement, least float64) {
	share := rateRatios(of[0], of[1])
	r.measurements, r.met, r.result = of[:], share.median() >= least, fmt.Sprintf("%s of %s", formatPercent(share), of[1].name)
}

// requireAtMost adds a ratio to the row's result: a cost of Ovation divided by the same
// cost for the floor. The target is missed if the ratio exceeds the given maximum; an
// unknown ratio does not affect the target. The parameter what is the name of the cost in
// the result.
func (r *row) requireAtMost(what string, times, most float64) {
	if math.IsNaN(times) || math.IsInf(times, 0) {
		r.result += "; " + what + " not known"
		return
	}
	r.met = r.met && times <= most
	r.result += fmt.Sprintf("; %s %.2f times", what, times)
}

// measureHot compares pages that include a hot subject with pages that do not. Likes of
// the hot subject continue during both measurements.
func measureHot(ctx context.Context, b *bench, r *row) error {
	hot := newBitset(len(b.users.subjectIndex))
	const popular = 200 // the hot subjects rank after this many more popular ones
	for i := range 2 * (b.runPlan.rounds + 1) {
		hot.add(popular + i)
	}
	cold := b.drawPages(pageCount/4, hot)
	state, err := b.installation.readState(ctx, b.users)
	if err != nil {
		return err
	}
	s := &b.node
	var variants [2]variant
	for i, name := range []string{"pages with the hot subject", "pages without it"} {
		c := variant{name: name, system: s, afterRound: b.drainFunc(s)}
		subject := func(round int) int { return popular + 2*round + i }
		c.newClients = func(ctx context.Context, round int) ([]load.Client, error) {
			pages := cold
			if i == 0 {
				pages = withSubject(cold, subject(round))
			}
			w := s.newWorkload(b.users, state, pages)
			if err := b.warmUp(ctx, []*system{s}, []*workload{w}); err != nil {
				return nil, err
			}
			return w.newMixedClients(pages, s, state, hotPageConnections, b.seed, true), nil
		}
		c.backgroundLoad = func(ctx context.Context, round int, during time.Duration) error {
			clients := s.newLikeClients(hotLikeConnections, b.seed+uint64(round), func(l *likeClient) { l.hotSubject = subject(round) })
			random := rand.New(rand.NewPCG(b.seed, uint64(round))) //nolint:gosec // it is meant to be the same each time
			result, err := load.Open(ctx, s.process.address, clients, hotRate, during, random)
			if err != nil {
				return err
			}
			return replyErrors(result)
		}
		variants[i] = c
	}
	r.notes = append(r.notes, fmt.Sprintf("In both cases %d users a second like one subject. CPU and allocations are those of pages and likes together.", hotRate))
	if err := b.compareRates(ctx, r, variants); err != nil {
		return err
	}
	return b.checkLikes(ctx, s)
}

// withSubject returns copies of the pages, with subject in the middle of each.
func withSubject(all []page, subject int) []page {
	out := make([]page, len(all))
	for i := range all {
		out[i] = page{all[i].viewer, append([]int(nil), all[i].subjects...)}
		out[i].subjects[pageSize/2] = subject
	}
	return out
}
