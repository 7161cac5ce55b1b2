package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"ovation/bench/load"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the options of the command line.
type options struct {
	ovation, floor, data, report string

	only []string
	plan plan
	seed uint64
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.ovation, "ovation", "bin/ovation", "the program to measure")
	flags.StringVar(&o.floor, "floor", "bin/floor", "the floor")
	flags.StringVar(&o.data, "data", "../shared/data/deskdrop-users_interactions.csv.zip", "CI&T Deskdrop; drawn data takes its place where it is not there")
	flags.StringVar(&o.report, "report", "", "file to write the report to, besides printing it")
	only := flags.String("only", "", "rows to measure, with commas between: "+strings.Join(keys(), ", ")+"; all if empty")
	quick := flags.Bool("quick", false, "short rounds: five minutes instead of 16")
	flags.Uint64Var(&o.seed, "seed", 20, "draws who asks for what")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("there is no argument %q", flags.Arg(0))
	}
	o.plan = fullPlan
	if *quick {
		o.plan = quickPlan
	}
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	for _, key := range o.only {
		if !slices.Contains(keys(), key) {
			return o, fmt.Errorf("there is no row %q; there are %s", key, strings.Join(keys(), ", "))
		}
	}
	return o, nil
}

func keys() (out []string) {
	for i := range rows {
		out = append(out, rows[i].key)
	}
	return out
}

// bench is one run.
type bench struct {
	options

	stdout   io.Writer
	began    time.Time
	idle     string // the load average at the start
	data     *dataset
	site     *site
	meter    *meter
	people   *people
	users    *drawer // draws users of the data
	stored   *truth  // before anything was measured
	likes    int64   // that Ovation counted before anything was measured
	node     side
	floor    side
	worker   *process // nil while none runs
	done     []*row
	checked  string // the last output of verify
	versions string // of the services
}

// The names under which CPU time is reported.
const (
	nodeName        = "serve"
	workerName      = "work"
	floorName       = "floor serve"
	floorWorkerName = "floor work"
)

func run(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case "growth":
			return runGrowth(ctx, args[1:], stdout)
		case "day":
			return runDay(ctx, args[1:], stdout)
		}
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.plan.limit, fmt.Errorf("it has taken longer than %v", o.plan.limit))
	defer cancel()
	runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0))) // a client asleep in a system call occupies a processor of the runtime
	b := &bench{options: o, stdout: stdout, began: time.Now(), idle: loadAverage(), meter: newMeter()}
	if err := b.measure(ctx); err != nil {
		return err
	}
	return b.publish(b.report(ctx))
}

// publish prints a report, and writes it to a file if the options name one.
func (b *bench) publish(text string) error {
	_, _ = fmt.Fprint(b.stdout, "\n", text)
	if b.options.report == "" {
		return nil
	}
	return os.WriteFile(b.options.report, []byte(text), 0o644) //nolint:gosec // everybody may read it
}

// measure prepares everything, measures every row and cleans up.
func (b *bench) measure(ctx context.Context) (err error) {
	if b.site, err = newSite(ctx, b.ovation); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.site.close(ctx)) }()
	if err := b.prepare(ctx); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	for i := range rows {
		r := rows[i].row
		if len(b.only) > 0 && !slices.Contains(b.only, r.key) {
			continue
		}
		b.sayf("%s …", r.title)
		bypassed := b.people.bypassed.Load()
		if err := rows[i].measure(ctx, b, &r); err != nil {
			return fmt.Errorf("%s: %w", r.title, err)
		}
		b.sayf("  %s", r.result)
		if n := b.people.bypassed.Load() - bypassed; n > 0 {
			r.notes = append(r.notes, fmt.Sprintf("%d likes were persisted by the node itself, because the queue did not confirm in time: the machine was overloaded.", n))
		}
		b.done = append(b.done, &r)
	}
	return b.finish(ctx)
}

// sayf prints the progress.
func (b *bench) sayf(format string, args ...any) {
	_, _ = fmt.Fprintf(b.stdout, "%4.0f s  "+format+"\n", append([]any{since(b.began)}, args...)...)
}

// prepare imports the data, and starts and warms up all processes.
func (b *bench) prepare(ctx context.Context) (err error) {
	if b.data, err = readData(b.options.data, b.seed); err != nil {
		return err
	}
	file := b.site.file("data.csv")
	if _, err := b.data.write(file, 1); err != nil {
		return err
	}
	if _, err := b.site.run(ctx, "import", "--map=deskdrop", file); err != nil {
		return err
	}
	if b.people, err = newPeople(b.data, b.site.secret); err != nil {
		return err
	}
	_, b.users = b.data.weigh()
	if b.versions, err = b.site.askVersions(ctx); err != nil {
		return err
	}
	b.sayf("data: %s, %d rows", b.data.source, len(b.data.rows))
	if err := b.startAll(ctx); err != nil {
		return err
	}
	if b.stored, err = b.site.readTruth(ctx, b.people); err != nil {
		return err
	}
	if b.likes, err = b.counted(ctx, &b.node); err != nil {
		return err
	}
	b.node.before = b.likes
	if err := b.startFloor(ctx); err != nil {
		return err
	}
	// Every user who will like something has viewed something before.
	visits := make([]page, readers)
	for i := range visits {
		visits[i] = page{b.people.viewers + i, []int{i % len(b.people.of)}}
	}
	return b.warm(ctx, []*side{&b.node}, []*book{b.node.book(b.people, b.stored, visits)})
}

func (b *bench) startAll(ctx context.Context) error {
	node, err := b.site.serve(ctx)
	if node != nil {
		b.site.later(func(context.Context) error { return node.stop() })
	}
	if err != nil {
		return err
	}
	b.site.later(func(context.Context) error { return b.stopWorker() })
	if err := b.startWorker(ctx); err != nil {
		return err
	}
	b.meter.watch(nodeName, node)
	b.node = b.ours(node)
	return nil
}

// ours returns the side of a node.
func (b *bench) ours(node *process) side {
	return side{
		name: "Ovation", process: node, worker: workerName, people: b.people, before: b.likes,
		stored:  `SELECT user_id, biz_id FROM user_reaction WHERE biz = '` + biz + `' AND state = 1`,
		counted: `SELECT coalesce(sum(like_count), 0)::bigint FROM interactive WHERE biz = '` + biz + `'`,
	}
}

func (b *bench) startFloor(ctx context.Context) error {
	if err := b.fillFloor(ctx); err != nil {
		return err
	}
	b.floor = side{
		name: "the floor", floor: true, worker: floorWorkerName, people: b.people.again(),
		stored: floorStored, counted: floorCounted,
	}
	for role, name := range map[string]string{"serve": floorName, "work": floorWorkerName} {
		p, err := b.site.floor(ctx, b.options.floor, role)
		if err != nil {
			return err
		}
		b.site.later(func(context.Context) error { return p.stop() })
		b.meter.watch(name, p)
		if role == "serve" {
			b.floor.process = p
		}
	}
	return nil
}

func (b *bench) startWorker(ctx context.Context) (err error) {
	if b.worker, err = b.site.work(ctx); err == nil {
		b.meter.watch(workerName, b.worker)
	}
	return err
}

func (b *bench) stopWorker() error {
	if b.worker == nil {
		return nil
	}
	w := b.worker
	b.worker = nil
	return w.stop()
}

// drawPages draws pages without some subjects.
func (b *bench) drawPages(n int, without set) (out []page) {
	random := rand.New(rand.NewPCG(b.seed, 4)) //nolint:gosec // it is meant to be the same each time
	for len(out) < n {
		drawn := b.people.drawPages(random, b.users, pageSize)
		if without == nil || !slices.ContainsFunc(drawn, func(p page) bool {
			return slices.ContainsFunc(p.subjects, without.has)
		}) {
			out = append(out, drawn...)
		}
	}
	return out
}

const warmTime = 30 * time.Second

// warm requests every page of each side's book, until all replies are correct. Recent
// commits may not be visible at once.
func (b *bench) warm(ctx context.Context, sides []*side, books []*book) error {
	var wrong error
	err := until(ctx, warmTime, "all pages are right", func() (bool, error) {
		wrong = nil
		for i, s := range sides {
			result, err := load.Closed(ctx, s.process.address, books[i].pagers(warmClients, true), warmTime)
			if err != nil {
				return false, err
			}
			if err := faultsOf(result); err != nil {
				wrong = fmt.Errorf("%s: %w", s.name, err)
			}
		}
		return wrong == nil, nil
	})
	if err != nil && wrong != nil {
		err = fmt.Errorf("%w: %w", err, wrong)
	}
	return err
}

// sides returns both sides, each with the present content of its database, which its
// replies must match.
func (b *bench) sides(ctx context.Context) (all []*side, holds []*truth, err error) {
	t, err := b.site.readTruth(ctx, b.people)
	return []*side{&b.node, &b.floor}, []*truth{t, b.floorTruth()}, err
}

// books returns the books of both sides for the pages, after warming up.
func (b *bench) books(ctx context.Context, drawn []page) (holds []*truth, sides []*side, books []*book, err error) {
	if sides, holds, err = b.sides(ctx); err != nil {
		return nil, nil, nil, err
	}
	for i, s := range sides {
		books = append(books, s.book(s.people, holds[i], drawn))
	}
	return holds, sides, books, b.warm(ctx, sides, books)
}

// counted returns the sum of a side's like counts in Postgres.
func (b *bench) counted(ctx context.Context, s *side) (n int64, err error) {
	err = b.site.database.QueryRow(ctx, s.counted).Scan(&n)
	return n, err
}

// drain waits until everything that a side has acknowledged is counted. A like without
// a reply may be counted, too.
func (b *bench) drain(ctx context.Context, s *side) error {
	return until(ctx, backlogTime, "all likes are persisted", func() (bool, error) {
		n, err := b.counted(ctx, s)
		return n >= s.before+s.people.acked.Load(), err
	})
}

// finish checks that nothing is left over and that all data is correct.
func (b *bench) finish(ctx context.Context) (err error) {
	if err := errors.Join(b.check(ctx, &b.node), b.check(ctx, &b.floor)); err != nil {
		return err
	}
	if n, err := b.site.waiting(); err != nil || n > 0 {
		return fmt.Errorf("%d messages are left in the queue: %w", n, err)
	}
	b.checked, err = b.site.verify(ctx)
	return err
}
