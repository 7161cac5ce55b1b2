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
	key    string // selects the row on the command line
	title  string
	target string
	result string // in words
	met    bool
	notes  []string
	of     []*measured
}

// rowFunc measures a row of the report and fills it in.
type rowFunc func(ctx context.Context, b *bench, r *row) error

// entry is a row and how it is measured.
type entry struct {
	row

	measure rowFunc
}

// rows has every row of the report, in the order in which they are measured: those that
// leave the most data in the tables come towards the end.
var rows = slices.Concat(
	compared("page", "page of 20, closed loop", "≥ 80 % of the floor, Redis ≤ 1.5 times its", pageRow),
	compared("mixed", "page of 20 with 10 % likes, closed loop", "≥ 80 % of the floor", mixedRow),
	compared("like", "like, closed loop", "≥ 80 % of the floor, p50 ≤ 1.5 times, Redis ≤ 2.5 times its", likeRow),
	[]entry{
		{row{key: "authors", title: "page of 20 with author and followed, 32 connections", target: "≥ 75 % of the page without"}, authorsRow},
		{row{key: "follow", title: "follow, 32 connections", target: "≥ 90 % of like"}, followRow},
		{row{key: "comment", title: "comment, 32 connections", target: "≥ 60 % of inserts into Postgres, in batches of 32"}, commentRow},
		{row{key: "comments", title: "page of 20 comments, 32 connections", target: "none, beside pages of 20 subjects"}, commentsRow},
		{row{key: "hot", title: "page with a subject that 1,000 users a second like", target: "≥ 80 % of pages without it"}, hotRow},
		{row{key: "worker", title: "worker into Postgres", target: "≥ 50,000 actions/s"}, workerRow},
		{row{key: "open", title: "like, open loop at 2,800/s", target: "p99 ≤ 1.5 times that of the floor, no error, seen by others < 100 ms p99, queue empty at the end"}, openRow},
		{row{key: "live", title: "subscribers of one subject on one node", target: "10,000 of them; changes delivered p99 < 250 ms; each idle ≤ 20 KB, ≤ 3 goroutines"}, liveRow},
		{row{key: "import", title: "bulk import", target: "≥ 100,000 rows/s"}, importRow},
	},
)

// compared are the rows of a comparison with the floor, one for each number of
// connections.
func compared(key, title, target string, measure func(ctx context.Context, b *bench, r *row, clients int) error) (out []entry) {
	for _, n := range clients {
		out = append(out, entry{
			row{key: fmt.Sprintf("%s-%d", key, n), title: fmt.Sprintf("%s, %d connections", title, n), target: target},
			func(ctx context.Context, b *bench, r *row) error { return measure(ctx, b, r, n) },
		})
	}
	return out
}

const (
	minRatio  = 0.80 // required share of the second contender's rate, unless a row has its own
	pageRedis = 1.5  // times the CPU time of Redis for the floor
	likeRedis = 2.5
	likeP50   = 1.5 // times the floor's
)

// pageRow compares pages while nothing changes.
func pageRow(ctx context.Context, b *bench, r *row, clients int) error {
	_, sides, books, err := b.books(ctx, b.drawPages(pages, nil))
	if err != nil {
		return err
	}
	var two [2]contender
	for i, s := range sides {
		two[i] = contender{name: s.name, side: s, ready: func(context.Context, int) ([]load.Client, error) {
			return books[i].pagers(clients, false), nil
		}}
	}
	if err := b.judge(ctx, r, two); err != nil {
		return err
	}
	r.atMost("Redis", r.of[0].cost(redisName).median()/r.of[1].cost(redisName).median(), pageRedis)
	return b.askAgain(ctx, r, sides, books, clients)
}

// mixedRow compares pages while one request of ten is a like.
func mixedRow(ctx context.Context, b *bench, r *row, clients int) error {
	drawn := b.drawPages(pages, nil)
	holds, sides, books, err := b.books(ctx, drawn)
	if err != nil {
		return err
	}
	var two [2]contender
	for i, s := range sides {
		two[i] = contender{name: s.name, side: s, after: b.drained(s), ready: func(_ context.Context, round int) ([]load.Client, error) {
			return books[i].mixers(drawn, s, holds[i], clients, b.seed+uint64(10*round+i), false), nil
		}}
	}
	r.notes = append(r.notes, "A request is a page or a like.")
	if err := b.judge(ctx, r, two); err != nil {
		return err
	}
	return errors.Join(b.check(ctx, &b.node), b.check(ctx, &b.floor))
}

// likeRow compares likes while workers persist them.
func likeRow(ctx context.Context, b *bench, r *row, clients int) error {
	var two [2]contender
	for i, s := range []*side{&b.node, &b.floor} {
		two[i] = contender{name: s.name, side: s, after: b.drained(s), ready: func(_ context.Context, round int) ([]load.Client, error) {
			return s.likers(clients, b.seed+uint64(10*round+i), func(*liker) {}), nil
		}}
	}
	if err := b.judge(ctx, r, two); err != nil {
		return err
	}
	r.atMost("p50", r.of[0].p50.median()/r.of[1].p50.median(), likeP50)
	r.atMost("Redis", r.of[0].cost(redisName).median()/r.of[1].cost(redisName).median(), likeRedis)
	return errors.Join(b.check(ctx, &b.node), b.check(ctx, &b.floor))
}

func (b *bench) drained(s *side) func(context.Context) error {
	return func(ctx context.Context) error { return b.drain(ctx, s) }
}

// judge measures two contenders alternately and compares the first with the second.
func (b *bench) judge(ctx context.Context, r *row, two [2]contender) error {
	of, err := b.compare(ctx, two)
	if err == nil {
		r.judge(of, minRatio)
	}
	return err
}

// judge compares the rates of the first with those of the second. The row is met if the
// median of their ratios is at least least.
func (r *row) judge(of [2]*measured, least float64) {
	share := ratios(of[0], of[1])
	r.of, r.met, r.result = of[:], share.median() >= least, fmt.Sprintf("%s of %s", percent(share), of[1].name)
}

// atMost adds to the result of a row how many times as much of something Ovation takes
// as the floor. The row is not met if that is above most. An unknown value does not
// fail the row.
func (r *row) atMost(what string, times, most float64) {
	if math.IsNaN(times) || math.IsInf(times, 0) {
		r.result += "; " + what + " not known"
		return
	}
	r.met = r.met && times <= most
	r.result += fmt.Sprintf("; %s %.2f times", what, times)
}

// hotRow compares pages with a subject that is being liked with pages without it. The
// likes go on during both.
func hotRow(ctx context.Context, b *bench, r *row) error {
	hot := newSet(len(b.people.of))
	const popular = 200 // the hot subject is none of the most popular ones
	for i := range 2 * (b.plan.rounds + 1) {
		hot.add(popular + i)
	}
	cold := b.drawPages(pages/4, hot)
	t, err := b.site.readTruth(ctx, b.people)
	if err != nil {
		return err
	}
	s := &b.node
	var two [2]contender
	for i, name := range []string{"pages with the hot subject", "pages without it"} {
		c := contender{name: name, side: s, after: b.drained(s)}
		subject := func(round int) int { return popular + 2*round + i }
		c.ready = func(ctx context.Context, round int) ([]load.Client, error) {
			asked := cold
			if i == 0 {
				asked = withSubject(cold, subject(round))
			}
			all := s.book(b.people, t, asked)
			if err := b.warm(ctx, []*side{s}, []*book{all}); err != nil {
				return nil, err
			}
			return all.mixers(asked, s, t, hotPages, b.seed, true), nil
		}
		c.concurrent = func(ctx context.Context, round int, during time.Duration) error {
			clients := s.likers(hotClients, b.seed+uint64(round), func(l *liker) { l.hot = subject(round) })
			random := rand.New(rand.NewPCG(b.seed, uint64(round))) //nolint:gosec // it is meant to be the same each time
			result, err := load.Open(ctx, s.process.address, clients, hotRate, during, random)
			if err != nil {
				return err
			}
			return faultsOf(result)
		}
		two[i] = c
	}
	r.notes = append(r.notes, fmt.Sprintf("In both cases %d users a second like one subject. CPU and allocations are those of pages and likes together.", hotRate))
	if err := b.judge(ctx, r, two); err != nil {
		return err
	}
	return b.check(ctx, s)
}

// withSubject puts a subject into the middle of each page.
func withSubject(all []page, subject int) []page {
	out := make([]page, len(all))
	for i := range all {
		out[i] = page{all[i].viewer, append([]int(nil), all[i].subjects...)}
		out[i].subjects[pageSize/2] = subject
	}
	return out
}
