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

	"ovation/bench/load"
	"ovation/resolvers/viewer"
	"ovation/storage"
)

const (
	dayPeople   = 500
	dayTime     = time.Minute
	dayPause    = time.Second      // mean time between two things that one person does
	maxDayPause = 4 * time.Second  // a node closes a new connection without a request after 5 s
	dayLimit    = 10 * time.Minute // of the run, besides the time of the day
	dayClips    = 60               // videos published before the day begins
	dayFFmpeg   = time.Minute      // within which their covers are made
)

// day is one run of bench day.
type day struct {
	*bench

	people   int
	during   time.Duration
	nodes    []*process
	clip     []byte // the file that everybody uploads
	visitors []*visitor
	recorder *recorder
	leave    time.Time // when everybody moves to the other node, or ends

	took    time.Duration
	spent   usage // while the visitors were active
	covers  int   // made until the visitors ended
	settled time.Duration
}

func parseDay(args []string) (o options, people int, during time.Duration, err error) {
	flags := flag.NewFlagSet("bench day", flag.ContinueOnError)
	flags.StringVar(&o.ovation, "ovation", "bin/ovation", "the program to run")
	flags.StringVar(&o.report, "report", "", "file to write the report to, besides printing it")
	flags.Uint64Var(&o.seed, "seed", 20, "draws who does what")
	flags.IntVar(&people, "people", dayPeople, "how many people use the app")
	flags.DurationVar(&during, "during", dayTime, "for how long")
	if err := flags.Parse(args); err != nil {
		return o, 0, 0, err
	}
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("there is no argument %q", flags.Arg(0))
	case people < minVisitors:
		err = fmt.Errorf("-people %d: at least %d are needed", people, minVisitors)
	case during < time.Second:
		err = fmt.Errorf("-during %v is less than a second", during)
	}
	return o, people, during, err
}

// runDay runs the short-video app under the load of many users over two nodes.
func runDay(ctx context.Context, args []string, stdout io.Writer) error {
	o, people, during, err := parseDay(args)
	if err != nil {
		return err
	}
	limit := during + dayLimit
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it has taken longer than %v", limit))
	defer cancel()
	d := &day{
		bench:  &bench{options: o, stdout: stdout, began: time.Now(), idle: loadAverage(), meter: newMeter()},
		people: people, during: during, recorder: newRecorder(),
	}
	if err := d.measure(ctx); err != nil {
		return err
	}
	if err := d.publish(d.text(ctx)); err != nil {
		return err
	}
	if n := d.recorder.wrong(); n > 0 {
		return fmt.Errorf("%d replies were wrong: %q", n, d.recorder.faults)
	}
	return nil
}

// measure starts the app, runs the visitors, and checks at the end that nothing
// acknowledged is missing.
func (d *day) measure(ctx context.Context) (err error) {
	if d.site, err = newSite(ctx, d.ovation); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.site.close(ctx)) }()
	if err := d.open(ctx); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	mail, err := d.watchMail(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mail.close()) }()
	d.sayf("%d people for %v …", d.people, d.during)
	used, began := d.meter.read(), time.Now()
	// In the second half every visitor uses the other node, which must show the visitor's
	// actions on the first one.
	for shift := range d.nodes {
		if err := d.visit(ctx, shift); err != nil {
			return err
		}
	}
	d.took, d.spent = time.Since(began), d.meter.read().since(used)
	if err := mail.arrived(ctx, d.visitors); err != nil {
		return err
	}
	if d.covers, err = d.count(ctx, `SELECT count(*) FROM video WHERE covered`); err != nil {
		return err
	}
	left := time.Now()
	if err := d.drainAndCompare(ctx); err != nil {
		return err
	}
	d.settled = time.Since(left)
	d.checked, err = d.site.verify(ctx)
	return err
}

// open starts two nodes and two workers with a blob store, and publishes a few videos.
func (d *day) open(ctx context.Context) (err error) {
	if d.versions, err = d.site.askVersions(ctx); err != nil {
		return err
	}
	folder := d.site.file("media")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	d.site.variables["OVATION_VIDEOS"], d.site.variables["OVATION_BLOB_URL"] = "true", "file://"+folder
	d.site.variables["PATH"] = os.Getenv("PATH") // to find ffmpeg
	for n := range 2 {
		for name, begin := range map[string]func(context.Context) (*process, error){nodeName: d.site.serve, workerName: d.site.work} {
			p, err := begin(ctx)
			if p != nil {
				d.site.later(func(context.Context) error { return p.stop() })
			}
			if err != nil {
				return err
			}
			d.meter.watch(fmt.Sprintf("%s-%d", name, n+1), p)
			if name == nodeName {
				d.nodes = append(d.nodes, p)
			}
		}
	}
	if d.clip, err = makeClip(ctx, d.site.file("clip.mp4")); err != nil {
		return err
	}
	for n := range d.people {
		name := "person-" + strconv.Itoa(n)
		token, err := viewer.Sign([]byte(d.site.secret), storage.User{Tenant: storage.DefaultTenant, UserID: name}, 2*time.Hour)
		if err != nil {
			return err
		}
		d.visitors = append(d.visitors, newVisitor(d, n, name, token))
	}
	return d.publishSome(ctx)
}

// ffmpeg returns the path of the program, or "" if it is not installed.
func ffmpeg() string {
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		return ""
	}
	return path
}

// makeClip returns a clip of one second, made by ffmpeg. Without ffmpeg it returns a
// file that only begins like a clip, and no covers are made.
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

// publishSome publishes the videos that the first visitors see, and waits for their
// covers if ffmpeg is installed.
func (d *day) publishSome(ctx context.Context) error {
	conn, err := load.Dial(ctx, d.nodes[0].address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	for n := range dayClips {
		v := d.visitors[n%len(d.visitors)]
		v.address = d.nodes[0].address
		upload := v.upload()
		status, body, err := conn.Do(upload.write(nil))
		if err == nil {
			err = upload.judge(status, body)
		}
		if err != nil {
			return fmt.Errorf("publish a video: %w", err)
		}
		v.tasks = nil // without the check that the video is in the feed
	}
	if ffmpeg() == "" {
		return nil // there are no covers
	}
	d.sayf("%d videos are published, covers are made …", dayClips)
	return until(ctx, dayFFmpeg, "all videos have covers", func() (bool, error) {
		n, err := d.count(ctx, `SELECT count(*) FROM video WHERE NOT covered`)
		return n == 0, err
	})
}

// visit has every visitor use the app for half of the time.
func (d *day) visit(ctx context.Context, shift int) error {
	at := make([][]load.Client, len(d.nodes))
	for i, v := range d.visitors {
		n := (i + shift) % len(d.nodes)
		v.address = d.nodes[n].address
		at[n] = append(at[n], v)
	}
	half := d.during / time.Duration(len(d.nodes))
	d.leave = time.Now().Add(half)
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
			return fmt.Errorf("%s answered nothing: %q", d.nodes[n].name, result.Faults)
		}
		if result.Errors > 0 {
			d.sayf("  %d faults at %s: %q", result.Errors, d.nodes[n].url, result.Faults)
		}
	}
	for _, v := range d.visitors {
		v.gone()
	}
	return nil
}

func (d *day) count(ctx context.Context, query string) (n int, err error) {
	err = d.site.database.QueryRow(ctx, query).Scan(&n)
	return n, err
}
