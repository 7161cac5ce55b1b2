package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"
)

// growthPlan is the plan of a run at all sizes, which takes about a quarter of an hour.
var growthPlan = plan{
	name: "growth", limit: 30 * time.Minute, rounds: 3, segment: 2 * time.Second, warm: time.Second,
	backlog: 60_000, worker: 3,
}

// growthSizes are the numbers of states in Postgres.
var growthSizes = []int{10_000, 1_000_000, 10_000_000}

// pageKind is the number of subjects of a page, and the number of different subjects on
// all pages together.
type pageKind struct{ size, different int }

// Each of pageKinds is measured only if the world has at least as many subjects as its
// pages need. The last kind has more than a node keeps in its cache.
var pageKinds = []pageKind{{1, minSubjects}, {20, minSubjects}, {100, minSubjects}, {100, 10 * minSubjects}}

// growthClients is small, because the report has the cost of one request, not the
// throughput. Likes are also measured with many clients, as concurrent likes share costs.
const (
	growthClients = 4
	growthMany    = 128
)

// growth is one run of bench growth.
type growth struct {
	*bench

	of    []*grown // one for each size
	redis *memoryUse
}

// grown is what was measured at one size.
type grown struct {
	world

	filled  time.Duration // how long filling the tables took
	tables  []table
	pages   []*asked
	likes   []*written // one for each number of clients
	work    *written
	checked string // the last output of verify
}

// asked is the result for pages of one kind, with nothing and with everything in Redis.
type asked struct {
	pageKind

	cold, warm *measured
}

// written is the result for likes.
type written struct {
	*measured

	clients int
	log     series // bytes of WAL for each like
}

func parseGrowth(args []string) (o options, sizes []int, err error) {
	flags := flag.NewFlagSet("bench growth", flag.ContinueOnError)
	flags.StringVar(&o.ovation, "ovation", "bin/ovation", "the program to measure")
	flags.StringVar(&o.report, "report", "", "file to write the report to, besides printing it")
	flags.Uint64Var(&o.seed, "seed", 20, "draws who likes what")
	most := flags.Int("max-states", growthSizes[len(growthSizes)-1], "leave out the sizes above this")
	if err := flags.Parse(args); err != nil {
		return o, nil, err
	}
	if flags.NArg() > 0 {
		return o, nil, fmt.Errorf("there is no argument %q", flags.Arg(0))
	}
	o.plan = growthPlan
	for _, states := range growthSizes {
		if states <= *most {
			sizes = append(sizes, states)
		}
	}
	if len(sizes) == 0 {
		return o, nil, fmt.Errorf("-max-states %d leaves nothing to measure: the least size is %d", *most, growthSizes[0])
	}
	return o, sizes, nil
}

// runGrowth measures how costs grow with the number of states and the size of a page.
func runGrowth(ctx context.Context, args []string, stdout io.Writer) error {
	o, sizes, err := parseGrowth(args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.plan.limit, fmt.Errorf("it has taken longer than %v", o.plan.limit))
	defer cancel()
	g := &growth{bench: &bench{options: o, stdout: stdout, began: time.Now(), idle: loadAverage(), meter: newMeter()}}
	for i, states := range sizes {
		if err := g.measure(ctx, worldOf(states), i == len(sizes)-1); err != nil {
			return fmt.Errorf("%s states: %w", grouped(float64(states), 0), err)
		}
	}
	return g.publish(g.text(ctx))
}

// measure measures one size on a separate installation, and at the last size also the
// memory of Redis.
func (g *growth) measure(ctx context.Context, w world, last bool) (err error) {
	if g.site, err = newSite(ctx, g.ovation); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.site.close(ctx)) }()
	g.site.later(func(context.Context) error { return errors.Join(g.stopNode(), g.stopWorker()) })
	if g.versions, err = g.site.askVersions(ctx); err != nil {
		return err
	}
	of := &grown{world: w}
	g.of = append(g.of, of)
	if err := g.prepareWorld(ctx, of); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	for _, kind := range pageKinds {
		if kind.different > w.subjects {
			continue
		}
		if err := g.pages(ctx, of, kind); err != nil {
			return fmt.Errorf("pages of %d: %w", kind.size, err)
		}
	}
	if err := g.writes(ctx, of); err != nil {
		return err
	}
	if err := g.settled(ctx, of); err != nil {
		return err
	}
	if !last {
		return nil
	}
	if g.redis, err = g.weigh(ctx, w); err != nil {
		return fmt.Errorf("memory of Redis: %w", err)
	}
	return nil
}

// prepareWorld fills the tables, verifies all counts, and measures the tables.
func (g *growth) prepareWorld(ctx context.Context, of *grown) (err error) {
	began := time.Now()
	err = of.fill(ctx, g.site.database, func(done int) { g.sayf("  %s states", grouped(float64(done), 0)) })
	if err != nil {
		return err
	}
	of.filled = time.Since(began)
	if _, err := g.site.verify(ctx); err != nil {
		return err
	}
	if of.tables, err = g.site.tables(ctx); err != nil {
		return err
	}
	if g.people, err = of.people(g.site.secret); err != nil {
		return err
	}
	if g.stored, err = g.site.truthOf(ctx, g.people, g.people.names); err != nil {
		return err
	}
	g.people.remember(g.stored)
	g.node = g.ours(nil)
	g.likes, err = g.counted(ctx, &g.node)
	g.sayf("%s states are stored and verified", grouped(float64(of.states), 0))
	return err
}

// settled checks that every acknowledged like is stored and counted, that there are no
// other likes, and that no message is left.
func (g *growth) settled(ctx context.Context, of *grown) (err error) {
	if err := g.people.checkLikes(ctx, g.site); err != nil {
		return err
	}
	likes, err := g.counted(ctx, &g.node)
	if want := g.likes + g.people.acked.Load(); err != nil || likes != want {
		return fmt.Errorf("%d likes are counted and %d were there or acknowledged: %w", likes, want, err)
	}
	if n, err := g.site.waiting(); err != nil || n > 0 {
		return fmt.Errorf("%d messages are left in the queue: %w", n, err)
	}
	of.checked, err = g.site.verify(ctx)
	return err
}

func (g *growth) stopNode() error {
	if g.node.process == nil {
		return nil
	}
	p := g.node.process
	g.node.process = nil
	return p.stop()
}

// fresh starts a node with empty caches over an empty Redis. It also resets the
// mirror's row, or else the node would treat the empty Redis as one that has lost data.
func (g *growth) fresh(ctx context.Context) error {
	if err := errors.Join(g.stopNode(), g.stopWorker()); err != nil {
		return err
	}
	if err := g.site.dropKeys(ctx); err != nil {
		return err
	}
	if _, err := g.site.database.Exec(ctx, `UPDATE mirror SET epoch = 1, open = FALSE, changed_at = 0, free_at = 0`); err != nil {
		return fmt.Errorf("restart the node with an empty Redis: %w", err)
	}
	node, err := g.site.serve(ctx)
	if node != nil {
		g.node = g.ours(node)
		g.meter.watch(nodeName, node)
	}
	return err
}
