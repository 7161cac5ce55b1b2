package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"ovation/api/viewer"
	"ovation/bench/load"
	"ovation/storage"
)

const (
	defaultUserCount  = 500
	defaultDuration   = time.Minute
	meanPause         = time.Second      // mean time between two actions of a user
	maxPause          = 4 * time.Second  // a node closes a new connection without a request after 15 s
	simulationTimeout = 10 * time.Minute // limit on the duration of the run, in addition to the simulated time
	initialVideos     = 60               // videos published before the simulation begins
	coverTimeout      = time.Minute      // for making the covers of these videos
)

// simulation is one run of bench day.
type simulation struct {
	*bench

	userCount int
	duration  time.Duration
	nodes     []*process
	clip      []byte // the file that all users upload
	users     []*simulatedUser
	recorder  *recorder
	deadline  time.Time // when all users move to the other node, or stop sending

	elapsed   time.Duration
	cpuTimes  cpuUsage // while the users were active
	covers    int      // covers made by the end of the load
	drainTime time.Duration
}

func parseSimulation(args []string) (o options, people int, during time.Duration, err error) {
	flags := flag.NewFlagSet("bench day", flag.ContinueOnError)
	flags.StringVar(&o.ovation, "ovation", "bin/ovation", "the program to run")
	flags.StringVar(&o.report, "report", "", "file to write the report to, besides printing it")
	flags.Uint64Var(&o.seed, "seed", 20, "seed of the users' actions")
	flags.IntVar(&people, "people", defaultUserCount, "number of users")
	flags.DurationVar(&during, "during", defaultDuration, "duration of the load")
	if err := flags.Parse(args); err != nil {
		return o, 0, 0, err
	}
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case people < minUsers:
		err = fmt.Errorf("-people %d: at least %d are needed", people, minUsers)
	case during < time.Second:
		err = fmt.Errorf("-during %v is less than a second", during)
	}
	return o, people, during, err
}

// runSimulation runs the short-video app on two nodes under the load of many users.
func runSimulation(ctx context.Context, args []string, stdout io.Writer) error {
	o, people, during, err := parseSimulation(args)
	if err != nil {
		return err
	}
	limit := during + simulationTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the run took longer than %v", limit))
	defer cancel()
	d := &simulation{
		bench:     &bench{options: o, stdout: stdout, started: time.Now(), initialLoadAverage: loadAverage(), meter: newCPUMeter()},
		userCount: people, duration: during, recorder: newRecorder(),
	}
	if err := d.run(ctx); err != nil {
		return err
	}
	if err := d.writeReport(d.report(ctx)); err != nil {
		return err
	}
	if n := d.recorder.failures(); n > 0 {
		return fmt.Errorf("%d replies were wrong: %q", n, d.recorder.faults)
	}
	return nil
}

// run starts the app and runs the users. At the end, it compares the contents of Postgres
// with the acknowledged actions.
func (d *simulation) run(ctx context.Context) (err error) {
	if d.installation, err = newInstallation(ctx, d.ovation); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.installation.close(ctx)) }()
	if err := d.startApp(ctx); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	mail, err := d.collectMessages(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mail.close()) }()
	d.progressf("%d people for %v …", d.userCount, d.duration)
	used, began := d.meter.read(), time.Now()
	// In the second half every user uses the other node. That node must show the actions
	// that the user sent to the first node.
	for shift := range d.nodes {
		if err := d.runUsers(ctx, shift); err != nil {
			return err
		}
	}
	d.elapsed, d.cpuTimes = time.Since(began), d.meter.read().since(used)
	if err := mail.awaitDelivery(ctx, d.users); err != nil {
		return err
	}
	if d.covers, err = d.queryCount(ctx, `SELECT count(*) FROM video WHERE covered`); err != nil {
		return err
	}
	left := time.Now()
	if err := d.drainAndCompare(ctx); err != nil {
		return err
	}
	d.drainTime = time.Since(left)
	d.verifyOutput, err = d.installation.verify(ctx)
	return err
}

// startApp starts two nodes and two workers with a blob store, and publishes a few
// videos.
func (d *simulation) startApp(ctx context.Context) (err error) {
	if d.serviceVersions, err = d.installation.readVersions(ctx); err != nil {
		return err
	}
	folder := d.installation.path("media")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	d.installation.variables["OVATION_VIDEOS"], d.installation.variables["OVATION_BLOB_URL"] = "true", "file://"+folder
	d.installation.variables["PATH"] = os.Getenv("PATH") // to find ffmpeg
	for n := range 2 {
		for name, begin := range map[string]func(context.Context) (*process, error){nodeName: d.installation.startNode, workerName: d.installation.startWorker} {
			p, err := begin(ctx)
			if p != nil {
				d.installation.onClose(func(context.Context) error { return p.stop() })
			}
			if err != nil {
				return err
			}
			d.meter.track(fmt.Sprintf("%s-%d", name, n+1), p)
			if name == nodeName {
				d.nodes = append(d.nodes, p)
			}
		}
	}
	if d.clip, err = makeClip(ctx, d.installation.path("clip.mp4")); err != nil {
		return err
	}
	for n := range d.userCount {
		name := "person-" + strconv.Itoa(n)
		token, err := viewer.Sign([]byte(d.installation.secret), storage.User{Tenant: storage.DefaultTenant, UserID: name}, 2*time.Hour)
		if err != nil {
			return err
		}
		d.users = append(d.users, newSimulatedUser(d, n, name, token))
	}
	return d.publishInitialVideos(ctx)
}

// ffmpeg returns the path of ffmpeg, or "" if it is not installed.
func ffmpeg() string {
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		return ""
	}
	return path
}

// makeClip returns a clip of one second that it makes with ffmpeg. If ffmpeg is not
// installed, it returns a file that has only the header of a clip, and no covers are
// made.
func makeClip(ctx context.Context, path string) ([]byte, error) {
	program := ffmpeg()
	if program == "" {
		clip := make([]byte, 40<<10)
		copy(clip, "\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2")
		return clip, nil
	}
	command := exec.CommandContext(ctx, program, "-hide_banner", "-nostdin", "-loglevel", "error", //nolint:gosec // fixed arguments
		"-f", "lavfi", "-i", "testsrc=duration=1:size=360x640:rate=15", "-c:v", "mpeg4", "-q:v", "8", "-y", path)
	if out, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("make a clip with ffmpeg: %w: %s", err, out)
	}
	return os.ReadFile(path)
}

// publishInitialVideos publishes videos, so that the feed is not empty at first. It waits
// for their covers if ffmpeg is installed.
func (d *simulation) publishInitialVideos(ctx context.Context) error {
	conn, err := load.Dial(ctx, d.nodes[0].address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	for n := range initialVideos {
		v := d.users[n%len(d.users)]
		v.address = d.nodes[0].address
		upload := v.uploadClip()
		status, body, err := conn.Do(upload.appendRequest(nil))
		if err == nil {
			err = upload.check(status, body)
		}
		if err != nil {
			return fmt.Errorf("publish a video: %w", err)
		}
		v.tasks = nil // skips the check that the video is in the feed
	}
	if ffmpeg() == "" {
		return nil // no covers are made
	}
	d.progressf("%d videos are published, covers are made …", initialVideos)
	return poll(ctx, coverTimeout, "all videos have covers", func() (bool, error) {
		n, err := d.queryCount(ctx, `SELECT count(*) FROM video WHERE NOT covered`)
		return n == 0, err
	})
}

// runUsers runs every user for half of the duration. The parameter shift determines which
// node each user sends requests to.
func (d *simulation) runUsers(ctx context.Context, shift int) error {
	at := make([][]load.Client, len(d.nodes))
	for i, v := range d.users {
		n := (i + shift) % len(d.nodes)
		v.address = d.nodes[n].address
		at[n] = append(at[n], v)
	}
	half := d.duration / time.Duration(len(d.nodes))
	d.deadline = time.Now().Add(half)
	results, errs := make([]*load.Result, len(at)), make([]error, len(at))
	var wait sync.WaitGroup
	for n := range at {
		wait.Go(func() {
			results[n], errs[n] = load.Closed(ctx, d.nodes[n].address, at[n], half)
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for n, result := range results {
		if result.Requests == 0 {
			return fmt.Errorf("%s answered no request: %q", d.nodes[n].name, result.Faults)
		}
		if result.Errors > 0 {
			d.progressf("  %d faults at %s: %q", result.Errors, d.nodes[n].url, result.Faults)
		}
	}
	for _, v := range d.users {
		v.recordMissingReply()
	}
	return nil
}

func (d *simulation) queryCount(ctx context.Context, query string) (n int, err error) {
	err = d.installation.database.QueryRow(ctx, query).Scan(&n)
	return n, err
}
