package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"
)

// growthRunPlan is the plan for a run at all sizes, which takes about a quarter of an
// hour.
var growthRunPlan = runPlan{
	name: "growth", timeout: 30 * time.Minute, rounds: 3, segment: 2 * time.Second, warmUp: time.Second,
	backlogActions: 60_000, workerRounds: 3,
}

// growthSizes holds the sizes at which costs are measured, as numbers of states in
// Postgres.
var growthSizes = []int{10_000, 1_000_000, 10_000_000}

// pageKind is a kind of page. size is the number of subjects on a page. distinctSubjects
// is the maximum number of different subjects on all pages together.
type pageKind struct{ size, distinctSubjects int }

// pageKinds holds the measured kinds of pages. A kind is skipped at sizes with fewer
// subjects than its pages need. The last kind needs more subjects than a node caches.
var pageKinds = []pageKind{{1, minSubjects}, {20, minSubjects}, {100, minSubjects}, {100, 10 * minSubjects}}

// growthClients is small, because the report states the cost of one request, not the
// throughput. Likes are also measured with growthManyClients clients, because concurrent
// likes share costs.
const (
	growthClients     = 4
	growthManyClients = 128
)

// growth is one run of bench growth.
type growth struct {
	*bench

	results     []*sizeResult // one for each size
	redisMemory *redisMemory
}

// sizeResult holds the results at one size.
type sizeResult struct {
	growthData

	fillTime     time.Duration // duration of filling the tables
	tables       []tableSize
	pages        []*pageResult
	likes        []*likeResult // one for each number of clients
	worker       *likeResult
	verifyOutput string // the last output of verify
}

// pageResult holds the results for one kind of page, first with an empty Redis and then
// with a filled one.
type pageResult struct {
	pageKind

	cold, warm *measurement
}

// likeResult holds the results for likes, or for a worker that persists them.
type likeResult struct {
	*measurement

	clients  int
	walBytes series // bytes of WAL for each like
}

func parseGrowth(args []string) (o options, sizes []int, err error) {
	flags := flag.NewFlagSet("bench growth", flag.ContinueOnError)
	flags.StringVar(&o.ovation, "ovation", "bin/ovation", "the program to measure")
	flags.StringVar(&o.report, "report", "", "file to write the report to, besides printing it")
	flags.Uint64Var(&o.seed, "seed", 20, "seed of the random likes")
	most := flags.Int("max-states", growthSizes[len(growthSizes)-1], "skip larger sizes")
	if err := flags.Parse(args); err != nil {
		return o, nil, err
	}
	if flags.NArg() > 0 {
		return o, nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	o.runPlan = growthRunPlan
	for _, states := range growthSizes {
		if states <= *most {
			sizes = append(sizes, states)
		}
	}
	if len(sizes) == 0 {
		return o, nil, fmt.Errorf("-max-states %d leaves no size to measure: the smallest is %d", *most, growthSizes[0])
	}
	return o, sizes, nil
}

// runGrowth measures how costs grow with the number of states and the size of a page.
func runGrowth(ctx context.Context, args []string, stdout io.Writer) error {
	o, sizes, err := parseGrowth(args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.runPlan.timeout, fmt.Errorf("the run took longer than %v", o.runPlan.timeout))
	defer cancel()
	g := &growth{bench: &bench{options: o, stdout: stdout, started: time.Now(), initialLoadAverage: loadAverage(), meter: newCPUMeter()}}
	for i, states := range sizes {
		if err := g.measureSize(ctx, newGrowthData(states), i == len(sizes)-1); err != nil {
			return fmt.Errorf("%s states: %w", formatNumber(float64(states), 0), err)
		}
	}
	return g.writeReport(g.report(ctx))
}

// measureSize measures costs at one size, on a separate installation. If last is true, it
// also measures the memory that Redis uses.
func (g *growth) measureSize(ctx context.Context, w growthData, last bool) (err error) {
	if g.installation, err = newInstallation(ctx, g.ovation); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.installation.close(ctx)) }()
	g.installation.onClose(func(context.Context) error { return errors.Join(g.stopNode(), g.stopWorker()) })
	if g.serviceVersions, err = g.installation.readVersions(ctx); err != nil {
		return err
	}
	of := &sizeResult{growthData: w}
	g.results = append(g.results, of)
	if err := g.fillDatabase(ctx, of); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	for _, kind := range pageKinds {
		if kind.distinctSubjects > w.subjects {
			continue
		}
		if err := g.measureColdAndWarm(ctx, of, kind); err != nil {
			return fmt.Errorf("pages of %d: %w", kind.size, err)
		}
	}
	if err := g.measureWrites(ctx, of); err != nil {
		return err
	}
	if err := g.checkDatabase(ctx, of); err != nil {
		return err
	}
	if !last {
		return nil
	}
	if g.redisMemory, err = g.measureRedis(ctx, w); err != nil {
		return fmt.Errorf("memory of Redis: %w", err)
	}
	return nil
}

// fillDatabase fills the tables, verifies all counts, measures the tables and reads the
// initial state.
func (g *growth) fillDatabase(ctx context.Context, of *sizeResult) (err error) {
	began := time.Now()
	err = of.fill(ctx, g.installation.database, func(done int) { g.progressf("  %s states", formatNumber(float64(done), 0)) })
	if err != nil {
		return err
	}
	of.fillTime = time.Since(began)
	if _, err := g.installation.verify(ctx); err != nil {
		return err
	}
	if of.tables, err = g.installation.readTableSizes(ctx); err != nil {
		return err
	}
	if g.users, err = of.userPool(g.installation.secret); err != nil {
		return err
	}
	if g.initialState, err = g.installation.readStateOf(ctx, g.users, g.users.names); err != nil {
		return err
	}
	g.users.recordExisting(g.initialState)
	g.node = g.ovationSystem(nil)
	g.initialLikes, err = g.sumLikeCounts(ctx, &g.node)
	g.progressf("%s states are stored and verified", formatNumber(float64(of.states), 0))
	return err
}

// checkDatabase checks that every acknowledged like is stored and counted, that no other
// like is counted, that no message is left in a queue, and that ovation verify finds no
// difference.
func (g *growth) checkDatabase(ctx context.Context, of *sizeResult) (err error) {
	if err := g.users.checkAcked(ctx, g.installation); err != nil {
		return err
	}
	likes, err := g.sumLikeCounts(ctx, &g.node)
	if err != nil {
		return err
	}
	if want := g.initialLikes + g.users.acked.Load(); likes != want {
		return fmt.Errorf("%d likes are counted, want %d, initial and acknowledged", likes, want)
	}
	if err := g.installation.checkQueuesEmpty(); err != nil {
		return err
	}
	of.verifyOutput, err = g.installation.verify(ctx)
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

// restartEmpty stops the node and the worker, empties Redis, and starts a new node. It
// also resets the row in the table mirror. Otherwise the node would treat the empty Redis
// as one that has lost data.
func (g *growth) restartEmpty(ctx context.Context) error {
	if err := errors.Join(g.stopNode(), g.stopWorker()); err != nil {
		return err
	}
	if err := g.installation.dropKeys(ctx); err != nil {
		return err
	}
	if _, err := g.installation.database.Exec(ctx, `UPDATE mirror SET epoch = 1, open = FALSE, changed_at = 0, free_at = 0`); err != nil {
		return fmt.Errorf("restart the node with an empty Redis: %w", err)
	}
	node, err := g.installation.startNode(ctx)
	if node != nil {
		g.node = g.ovationSystem(node)
		g.meter.track(nodeName, node)
	}
	return err
}
