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

// options holds the command-line options.
type options struct {
	ovation, floor, data, report string

	selectedRows []string
	runPlan      runPlan
	seed         uint64
}

func parseOptions(args []string) (o options, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.ovation, "ovation", "bin/ovation", "the program to measure")
	flags.StringVar(&o.floor, "floor", "bin/floor", "the floor")
	flags.StringVar(&o.data, "data", "../shared/data/deskdrop-users_interactions.csv.zip", "the file of CI&T Deskdrop; if it is missing, data of the same skew is generated")
	flags.StringVar(&o.report, "report", "", "file to write the report to, besides printing it")
	only := flags.String("only", "", "rows to measure, separated by commas: "+strings.Join(rowKeys(), ", ")+"; all if empty")
	quick := flags.Bool("quick", false, "short rounds: five minutes instead of 16")
	flags.Uint64Var(&o.seed, "seed", 20, "seed of the random requests")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	o.runPlan = fullRunPlan
	if *quick {
		o.runPlan = quickRunPlan
	}
	if *only != "" {
		o.selectedRows = strings.Split(*only, ",")
	}
	for _, key := range o.selectedRows {
		if !slices.Contains(rowKeys(), key) {
			return o, fmt.Errorf("unknown row %q: the rows are %s", key, strings.Join(rowKeys(), ", "))
		}
	}
	return o, nil
}

func rowKeys() (out []string) {
	for i := range rows {
		out = append(out, rows[i].key)
	}
	return out
}

// bench is one run of the benchmark.
type bench struct {
	options

	stdout             io.Writer
	started            time.Time
	initialLoadAverage string // the load average at the start
	data               *dataset
	installation       *installation
	meter              *cpuMeter
	users              *userPool
	viewerSampler      *sampler       // draws users of the data
	initialState       *databaseState // before any measurement
	initialLikes       int64          // the likes that Ovation counted before any measurement
	node               system
	floor              system
	worker             *process // nil while no worker is running
	measuredRows       []*row
	verifyOutput       string // the last output of verify
	serviceVersions    string // of Postgres, Redis and RabbitMQ
}

// The names under which the CPU times of processes are reported.
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
			return runSimulation(ctx, args[1:], stdout)
		}
	}
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.runPlan.timeout, fmt.Errorf("the run took longer than %v", o.runPlan.timeout))
	defer cancel()
	runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0))) // a client asleep in a system call occupies a processor of the runtime
	b := &bench{options: o, stdout: stdout, started: time.Now(), initialLoadAverage: loadAverage(), meter: newCPUMeter()}
	if err := b.run(ctx); err != nil {
		return err
	}
	return errors.Join(b.writeReport(b.report(ctx)), b.writeChart())
}

// writeReport prints a report, and writes it to a file if the options name one.
func (b *bench) writeReport(text string) error {
	_, _ = fmt.Fprint(b.stdout, "\n", text)
	if b.options.report == "" {
		return nil
	}
	return os.WriteFile(b.options.report, []byte(text), 0o644) //nolint:gosec // a public report
}

// run prepares the installation, measures every row and cleans up.
func (b *bench) run(ctx context.Context) (err error) {
	if b.installation, err = newInstallation(ctx, b.ovation); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.installation.close(ctx)) }()
	if err := b.prepare(ctx); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	for i := range rows {
		r := rows[i].row
		if len(b.selectedRows) > 0 && !slices.Contains(b.selectedRows, r.key) {
			continue
		}
		b.progressf("%s …", r.title)
		bypassed := b.users.bypassedQueue.Load()
		if err := rows[i].measure(ctx, b, &r); err != nil {
			return fmt.Errorf("%s: %w", r.title, err)
		}
		b.progressf("  %s", r.result)
		if n := b.users.bypassedQueue.Load() - bypassed; n > 0 {
			r.notes = append(r.notes, fmt.Sprintf("%d likes were persisted by the node itself, because the queue did not confirm in time: the machine was overloaded.", n))
		}
		b.measuredRows = append(b.measuredRows, &r)
	}
	return b.finish(ctx)
}

// progressf prints a line of progress, preceded by the time since the start.
func (b *bench) progressf(format string, args ...any) {
	_, _ = fmt.Fprintf(b.stdout, "%4.0f s  "+format+"\n", append([]any{secondsSince(b.started)}, args...)...)
}

// prepare imports the data, starts all processes and warms up the node.
func (b *bench) prepare(ctx context.Context) (err error) {
	if b.data, err = readData(b.options.data, b.seed); err != nil {
		return err
	}
	file := b.installation.path("data.csv")
	if _, err := b.data.write(file, 1); err != nil {
		return err
	}
	if _, err := b.installation.run(ctx, "import", "--map=deskdrop", file); err != nil {
		return err
	}
	if b.users, err = newUserPoolFromData(b.data, b.installation.secret); err != nil {
		return err
	}
	_, b.viewerSampler = b.data.samplers()
	if b.serviceVersions, err = b.installation.readVersions(ctx); err != nil {
		return err
	}
	b.progressf("data: %s, %d rows", b.data.source, len(b.data.rows))
	if err := b.startAll(ctx); err != nil {
		return err
	}
	if b.initialState, err = b.installation.readState(ctx, b.users); err != nil {
		return err
	}
	if b.initialLikes, err = b.sumLikeCounts(ctx, &b.node); err != nil {
		return err
	}
	b.node.initialLikes = b.initialLikes
	if err := b.startFloor(ctx); err != nil {
		return err
	}
	// Each reader requests one page before it sends any likes.
	visits := make([]page, readerCount)
	for i := range visits {
		visits[i] = page{b.users.viewerCount + i, []int{i % len(b.users.subjectIndex)}}
	}
	return b.warmUp(ctx, []*system{&b.node}, []*workload{b.node.newWorkload(b.users, b.initialState, visits)})
}

func (b *bench) startAll(ctx context.Context) error {
	node, err := b.installation.startNode(ctx)
	if node != nil {
		b.installation.onClose(func(context.Context) error { return node.stop() })
	}
	if err != nil {
		return err
	}
	b.installation.onClose(func(context.Context) error { return b.stopWorker() })
	if err := b.startWorker(ctx); err != nil {
		return err
	}
	b.meter.track(nodeName, node)
	b.node = b.ovationSystem(node)
	return nil
}

// ovationSystem describes Ovation, with node as the process that receives the requests.
func (b *bench) ovationSystem(node *process) system {
	return system{
		name: "Ovation", process: node, workerName: workerName, users: b.users, initialLikes: b.initialLikes,
		likesQuery:     `SELECT user_id, biz_id FROM user_reaction WHERE biz = '` + biz + `' AND state = 1`,
		likeCountQuery: `SELECT coalesce(sum(like_count), 0)::bigint FROM interactive WHERE biz = '` + biz + `'`,
	}
}

func (b *bench) startFloor(ctx context.Context) error {
	if err := b.fillFloor(ctx); err != nil {
		return err
	}
	b.floor = system{
		name: floorLabel, floor: true, workerName: floorWorkerName, users: b.users.withoutLikes(),
		likesQuery: floorLikesQuery, likeCountQuery: floorLikeCountQuery,
	}
	for role, name := range map[string]string{"serve": floorName, "work": floorWorkerName} {
		p, err := b.installation.startFloor(ctx, b.options.floor, role)
		if err != nil {
			return err
		}
		b.installation.onClose(func(context.Context) error { return p.stop() })
		b.meter.track(name, p)
		if role == "serve" {
			b.floor.process = p
		}
	}
	return nil
}

func (b *bench) startWorker(ctx context.Context) (err error) {
	if b.worker, err = b.installation.startWorker(ctx); err == nil {
		b.meter.track(workerName, b.worker)
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

// drawPages draws n pages, rounded up to a multiple of pageSize. If without is not nil,
// none of the pages contains a subject from that set.
func (b *bench) drawPages(n int, without bitset) (out []page) {
	random := rand.New(rand.NewPCG(b.seed, 4)) //nolint:gosec // it is meant to be the same each time
	for len(out) < n {
		drawn := b.users.drawPages(random, b.viewerSampler, pageSize)
		if without == nil || !slices.ContainsFunc(drawn, func(p page) bool {
			return slices.ContainsFunc(p.subjects, without.has)
		}) {
			out = append(out, drawn...)
		}
	}
	return out
}

const warmUpTimeout = 30 * time.Second

// warmUp requests every page of each system's workload until all replies are correct. It
// may take several attempts, because a recent commit may not be visible immediately.
func (b *bench) warmUp(ctx context.Context, systems []*system, workloads []*workload) error {
	var wrong error
	err := poll(ctx, warmUpTimeout, "all pages are correct", func() (bool, error) {
		wrong = nil
		for i, s := range systems {
			result, err := load.Closed(ctx, s.process.address, workloads[i].newPageClients(warmUpConnections, true), warmUpTimeout)
			if err != nil {
				return false, err
			}
			if err := replyErrors(result); err != nil {
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

// systems returns both systems and, for each of them, the current state that its replies
// must match.
func (b *bench) systems(ctx context.Context) (all []*system, states []*databaseState, err error) {
	t, err := b.installation.readState(ctx, b.users)
	return []*system{&b.node, &b.floor}, []*databaseState{t, b.expectedFloorState()}, err
}

// warmWorkloads creates a workload of the drawn pages for each system, and warms up both
// systems.
func (b *bench) warmWorkloads(ctx context.Context, drawn []page) (states []*databaseState, systems []*system, workloads []*workload, err error) {
	if systems, states, err = b.systems(ctx); err != nil {
		return nil, nil, nil, err
	}
	for i, s := range systems {
		workloads = append(workloads, s.newWorkload(s.users, states[i], drawn))
	}
	return states, systems, workloads, b.warmUp(ctx, systems, workloads)
}

// sumLikeCounts returns the sum of a system's like counts in Postgres.
func (b *bench) sumLikeCounts(ctx context.Context, s *system) (n int64, err error) {
	err = b.installation.database.QueryRow(ctx, s.likeCountQuery).Scan(&n)
	return n, err
}

// drain waits until Postgres counts at least as many likes as s has acknowledged. The
// count may be greater, because a like may have been persisted even if its reply was
// lost.
func (b *bench) drain(ctx context.Context, s *system) error {
	return poll(ctx, backlogTimeout, "all likes are persisted", func() (bool, error) {
		n, err := b.sumLikeCounts(ctx, s)
		return n >= s.initialLikes+s.users.acked.Load(), err
	})
}

// finish checks that no message is left in a queue and that all data is correct.
func (b *bench) finish(ctx context.Context) (err error) {
	if err := errors.Join(b.checkLikes(ctx, &b.node), b.checkLikes(ctx, &b.floor)); err != nil {
		return err
	}
	if err := b.installation.checkQueuesEmpty(); err != nil {
		return err
	}
	b.verifyOutput, err = b.installation.verify(ctx)
	return err
}
