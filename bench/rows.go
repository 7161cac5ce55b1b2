package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"ovation/bench/load"
)

// row is one row of the report.
type row struct {
	key    string // to choose it by
	title  string
	target string
	result string // in words
	met    bool
	notes  []string
	of     []*measured
}

// rowFunc measures what a row of the report tells, and fills it in.
type rowFunc func(ctx context.Context, b *bench, r *row) error

// rows are all, in the order in which they are measured: those that leave most
// behind in the tables come late.
var rows = []struct {
	row

	measure rowFunc
}{
	{row{key: "page", title: "page of 20, closed loop", target: "≥ 60 % of the reference, aim 80 %"}, pageRow},
	{row{key: "mixed", title: "page of 20 with 10 % likes, closed loop", target: "≥ 60 % of the reference, aim 80 %"}, mixedRow},
	{row{key: "hot", title: "page with a subject that 1,000 users a second like", target: "≥ 80 % of pages without it"}, hotRow},
	{row{key: "worker", title: "worker into Postgres", target: "≥ 50,000 actions/s"}, workerRow},
	{row{key: "open", title: "like, open loop at 2,800/s", target: "p99 < 5 ms, no error, seen by others < 100 ms p99, queue empty at the end"}, openRow},
	{row{key: "like", title: "like, closed loop", target: "≥ 100 % of the reference"}, likeRow},
	{row{key: "like-alone", title: "like, closed loop, no worker running", target: "≥ 100 % of the reference"}, likeAloneRow},
	{row{key: "live", title: "subscribers of one subject on one node", target: "10,000 of them; a change is told p99 < 250 ms; each at rest ≤ 20 KB, ≤ 3 goroutines"}, liveRow},
	{row{key: "import", title: "bulk import", target: "≥ 100,000 rows/s"}, importRow},
}

const (
	enough  = 0.60 // of the reference, for a page
	hotLeft = 0.80 // of a page without the hot subject
)

// pageRow compares pages while nothing changes.
func pageRow(ctx context.Context, b *bench, r *row) error {
	drawn := b.drawPages(pages, nil)
	_, sides, books, err := b.books(ctx, drawn)
	if err != nil {
		return err
	}
	var two [2]contender
	for i, s := range sides {
		two[i] = contender{name: s.name, side: s, ready: func(context.Context, int) ([]load.Client, error) {
			return books[i].pagers(pageClients, false), nil
		}}
	}
	return b.judge(ctx, r, two, enough)
}

// mixedRow compares pages while one request of ten is a like.
func mixedRow(ctx context.Context, b *bench, r *row) error {
	drawn := b.drawPages(pages, nil)
	t, sides, books, err := b.books(ctx, drawn)
	if err != nil {
		return err
	}
	var two [2]contender
	for i, s := range sides {
		two[i] = contender{name: s.name, side: s, after: b.drain, ready: func(_ context.Context, round int) ([]load.Client, error) {
			return books[i].mixers(b.people, drawn, s, t, pageClients, b.seed+uint64(10*round+i), false), nil
		}}
	}
	r.notes = append(r.notes, "A request is a page or a like.")
	if err := b.judge(ctx, r, two, enough); err != nil {
		return err
	}
	return b.people.check(ctx, b.site, b.had)
}

// judge has two contenders take turns and compares the first with the second.
func (b *bench) judge(ctx context.Context, r *row, two [2]contender, least float64) error {
	of, err := b.compare(ctx, two)
	if err != nil {
		return err
	}
	r.of = of[:]
	share := ratios(of[0], of[1])
	r.met = share.median() >= least
	r.result = fmt.Sprintf("%s of %s", percent(share), of[1].who)
	return nil
}

// hotRow compares pages with a subject that is being liked with pages without
// it. The likes go on beside both.
func hotRow(ctx context.Context, b *bench, r *row) error {
	hot := newSet(len(b.people.of))
	const popular = 200 // the first that may be hot: of the middle
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
		c := contender{name: name, side: s, after: b.drain}
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
			return all.mixers(b.people, asked, s, t, pageClients, b.seed, true), nil
		}
		c.beside = func(ctx context.Context, round int, during time.Duration) error {
			clients := b.people.likers(s, hotClients, b.seed+uint64(round), func(l *liker) { l.hot = subject(round) })
			random := rand.New(rand.NewPCG(b.seed, uint64(round))) //nolint:gosec // it is meant to be the same each time
			result, err := load.Open(ctx, s.process.address, clients, hotRate, during, random)
			if err != nil {
				return err
			}
			return faultsOf(result)
		}
		two[i] = c
	}
	r.notes = append(r.notes, fmt.Sprintf("Beside both, %d users a second like one subject. CPU and allocations are those of pages and likes together.", hotRate))
	if err := b.judge(ctx, r, two, hotLeft); err != nil {
		return err
	}
	return b.people.check(ctx, b.site, b.had)
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

// likeRow compares likes while a worker persists them.
func likeRow(ctx context.Context, b *bench, r *row) error {
	return b.compareLikes(ctx, r, b.drain)
}

// likeAloneRow compares likes that a worker persists later: it takes nothing of
// the machine.
func likeAloneRow(ctx context.Context, b *bench, r *row) error {
	if err := b.stopWorker(); err != nil {
		return err
	}
	if err := b.compareLikes(ctx, r, nil); err != nil {
		return err
	}
	if err := b.startWorker(ctx); err != nil {
		return err
	}
	if err := b.drain(ctx); err != nil {
		return err
	}
	return b.people.check(ctx, b.site, b.had)
}

func (b *bench) compareLikes(ctx context.Context, r *row, after func(context.Context) error) error {
	var two [2]contender
	for i, s := range []*side{&b.node, &b.plain} {
		two[i] = contender{name: s.name, side: s, after: after, ready: func(_ context.Context, round int) ([]load.Client, error) {
			return b.people.likers(s, likeClients, b.seed+uint64(10*round+i), func(*liker) {}), nil
		}}
	}
	if err := b.judge(ctx, r, two, 1); err != nil || after == nil {
		return err
	}
	return b.people.check(ctx, b.site, b.had)
}
