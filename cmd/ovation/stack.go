package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ovation/api/viewer"
	"ovation/cmd/ovation/internal/balance"
	"ovation/cmd/ovation/internal/demo"
	"ovation/media"
	"ovation/storage"
	"ovation/web"
	"ovation/worker"
)

// stackCommand runs a whole site on this machine, with each part in its own process. It
// is for trying out what a single process cannot show.
type stackCommand struct {
	dataFlag      `embed:""`
	servicesFlags `embed:""`
	eventsFlag    `embed:""`

	Addr      address `default:"127.0.0.1:8080"                                                            help:"Address to listen on; port 0 is any free one." env:"OVATION_ADDR"`
	JWTSecret secret  `help:"Secret that verifies HS256 tokens; if empty, one is kept in the data folder." name:"jwt-secret"                                    env:"OVATION_JWT_SECRET"`
	LogLevel  level   `default:"info"                                                                      help:"What to log: debug, info, warn or error."      env:"OVATION_LOG_LEVEL"`
}

const (
	stackLock    = "stack.lock"
	stackLogs    = "stack" // folder in the data folder
	startTimeout = time.Minute
	stackDrain   = 10 * balance.ProbeEvery // enough for the balancer to notice that a node is stopping
)

// Run runs the site until it is stopped or one of its processes ends.
func (c *stackCommand) Run(p *program) (err error) {
	if err := c.complete("stack"); err != nil {
		return err
	}
	log := newLogger(p.stderr, c.LogLevel.Level)
	unlock, err := c.lock(stackLock, "logs to")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	given := c.JWTSecret != ""
	if !given {
		key, err := c.keepSecret()
		if err != nil {
			return err
		}
		c.JWTSecret = secret(key)
	}
	listener, err := listen(p.ctx, c.Addr, addrFlag)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // already closed if serving has begun
	store, blobs, err := c.prepare(p)
	if err != nil {
		return unlessStopped(p.ctx, err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	balancer := balance.New(log)
	defer balancer.Close()
	ctx, end := context.WithCancelCause(p.ctx) // also ends when a process exits unexpectedly
	defer end(nil)
	s := &stack{end: end}
	defer func() { err = errors.Join(err, s.stop()) }()
	if err := c.start(ctx, s, balancer, blobs); err != nil {
		return err
	}
	if err := c.banner(p, s, urlOf(listener), given); err != nil {
		return err
	}
	defer startDemoClips(ctx, store, c.openClips(store, blobs), requestCovers, log)()
	serving, done := context.WithCancel(context.WithoutCancel(ctx))
	var nodes sync.WaitGroup
	nodes.Go(func() {
		defer done()
		<-ctx.Done()
		s.stopNodes() // the listener stays open until the nodes have finished
	})
	err = serveHTTP(serving, listener, exemptUploads(s.withoutMetrics(balancer)), nil, nil, log)
	end(nil) // in case serving has failed
	nodes.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		err = errors.Join(cause, err)
	}
	return err
}

// prepare migrates the tables and adds the demo data, without clips, if the tables are
// empty. It returns the store, which the caller closes, and the URL of the blob store.
func (c *stackCommand) prepare(p *program) (_ storage.Store, blobs string, err error) {
	migrate := migrateCommand{c.postgresFlag}
	if err := migrate.Run(p); err != nil {
		return nil, "", err
	}
	store, err := storeFlags{postgresFlag: c.postgresFlag, redisFlag: c.redisFlag, prefixFlag: c.prefixFlag}.open(p.ctx, false, c.eventOptions(siteConfig{}))
	if err != nil {
		return nil, "", err
	}
	if err = demo.Add(p.ctx, store, time.Now()); err == nil {
		blobs, err = c.mediaURL(p.ctx, store)
	}
	if err != nil {
		return nil, "", errors.Join(err, store.Close())
	}
	return store, blobs, nil
}

// mediaURL returns the URL of the folder for video files. Each database has a folder of
// its own, because scripts/services starts with an empty database each time, and because
// ovation dev may use the same data folder.
func (c *stackCommand) mediaURL(ctx context.Context, store storage.Store) (string, error) {
	id, err := media.DatabaseID(ctx, store)
	if err != nil {
		return "", err
	}
	return media.FolderURL(c.file(mediaFolder + "-" + id))
}

// openClips returns a function that opens the site through which the demo clips are
// published. If the queue is available then, the workers make the covers immediately. If
// not, the workers make them when they search for covers that are due. An unavailable queue
// is no error here, because the processes that need the queue report it.
func (c *stackCommand) openClips(store storage.Store, blobs string) func(context.Context) (*videoSite, error) {
	return func(ctx context.Context) (*videoSite, error) {
		var covers worker.Publisher
		closeQueue := func() error { return nil }
		if queue, err := c.openCovers(ctx, discardLog); err == nil {
			covers, closeQueue = queue, queue.Close
		}
		videos, err := videoFlags{blobFlag: blobFlag{BlobURL: blobs}}.openVideos(ctx, store, true, covers, discardLog, newRegistry())
		if err != nil {
			return nil, errors.Join(err, closeQueue())
		}
		videos.ends = append(videos.ends, closeQueue)
		return videos, nil
	}
}

// requestCovers waits until the covers of published clips are requested, or ctx ends.
func requestCovers(ctx context.Context, videos *videoSite) {
	if videos.service != nil {
		defer context.AfterFunc(ctx, videos.service.Close)()
		videos.service.Flush()
	}
}

// start starts the four processes, adds the nodes to balancer, and waits until the nodes
// are ready.
func (c *stackCommand) start(ctx context.Context, s *stack, balancer *balance.Balancer, blobs string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("the nodes are not ready after %v; the logs in %s may show why", startTimeout, c.file(stackLogs)))
	defer cancel()
	variables := []string{
		"OVATION_POSTGRES_URL=" + c.PostgresURL, "OVATION_REDIS_URL=" + c.RedisURL, "OVATION_RABBITMQ_URL=" + c.RabbitMQURL,
		"OVATION_PREFIX=" + c.Prefix, fmt.Sprintf("OVATION_PARTITIONS=%d", c.Partitions),
		"OVATION_JWT_SECRET=" + string(c.JWTSecret), "OVATION_JWKS=", "OVATION_ISSUER=", "OVATION_AUDIENCE=", "OVATION_ACCOUNTS=true", "OVATION_VIDEOS=true", "OVATION_BLOB_URL=" + blobs,
		fmt.Sprintf("OVATION_EVENTS=%t", c.Events), fmt.Sprintf("OVATION_TRENDING=%t", c.Trending),
		"OVATION_INTROSPECTION=true", "OVATION_ADDR=127.0.0.1:0", "OVATION_METRICS_ADDR=", "OVATION_LOG_LEVEL=" + c.LogLevel.String(),
		"OVATION_DRAIN=" + stackDrain.String(), "OVATION_TRUSTED_PROXIES=127.0.0.0/8,::1", // the balancer
	}
	if err := os.MkdirAll(c.file(stackLogs), 0o700); err != nil {
		return fmt.Errorf("make the folder of the logs: %w; %s", err, chooseFolder)
	}
	for _, name := range []string{"work-1", "work-2", "serve-1", "serve-2"} {
		if err := s.start(name, filepath.Join(c.file(stackLogs), name+".log"), variables); err != nil {
			return err
		}
	}
	nodes := 0
	for _, part := range s.parts {
		select {
		case part.url = <-part.announced:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if part.serves() {
			nodes++
			if err := balancer.Add(part.url); err != nil {
				return err
			}
		}
	}
	tick := time.NewTicker(balance.ProbeEvery)
	defer tick.Stop()
	for balancer.Ready() < nodes {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// banner prints the addresses of the site and of its processes, where the data is kept, a
// token, and examples to try.
func (c *stackCommand) banner(p *program, s *stack, at string, given bool) error {
	token, err := viewer.Sign([]byte(c.JWTSecret), storage.User{Tenant: storage.DefaultTenant, UserID: demoViewer}, 24*time.Hour)
	if err != nil {
		return err
	}
	number, _ := built()
	var b strings.Builder
	fmt.Fprintf(&b, "\n  Ovation %s: two API nodes and two workers behind one address\n\n", number)
	rows := [][2]string{{"Demo", at + "/demo#token=" + token}, {"GraphiQL", at + "/"}, {"GraphQL", at + "/graphql"}}
	if !web.Built(web.Files()) {
		rows[0][1] = "not built: this requires Node.js 20.19 or newer; " + at + "/ says how"
		rows[1][1] = rows[0][1]
	}
	for _, part := range s.parts {
		rows = append(rows, [2]string{part.name, fmt.Sprintf("%s/metrics, process %d, log %s", part.url, part.command.Process.Pid, part.log)})
	}
	for i, name := range []string{"Postgres", "Redis", "RabbitMQ"} {
		if where, err := url.Parse([]string{c.PostgresURL, c.RedisURL, c.RabbitMQURL}[i]); err == nil {
			rows = append(rows, [2]string{name, where.Host})
		}
	}
	rows = append(rows,
		[2]string{"Data", "in Postgres; videos and the secret for tokens in " + c.path()},
		[2]string{"Logs", filepath.Join(c.path(), stackLogs)})
	writeRows(&b, rows)
	writeToken(&b, token, c.dataFlag, given)
	writeExamples(&b, at, "-H 'Authorization: Bearer "+token+"'")
	sayf(p.stdout, "%s\n  Ctrl-C stops everything.\n\n", b.String())
	return nil
}
