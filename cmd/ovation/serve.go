package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"ovation/live"
	"ovation/resolvers"
	"ovation/storage"
	"ovation/storage/metered"
	"ovation/storage/redis"
	"ovation/worker"
)

// serveCommand runs one of several nodes that serve the API.
type serveCommand struct {
	servicesFlags `embed:""`
	clockFlag     `embed:""`
	apiFlags      `embed:""`
	eventsFlag    `embed:""`

	JWTSecret     secret `help:"Secret that verifies HS256 tokens." name:"jwt-secret"                                                            env:"OVATION_JWT_SECRET"`
	AccessLog     bool   `help:"Log every request; those with an error are always logged." negatable:"" env:"OVATION_ACCESS_LOG"`
	Introspection bool   `help:"Allow introspection queries." negatable:""                                                                 env:"OVATION_INTROSPECTION"`
	Accounts      bool   `help:"Let users register and log in." negatable:"" env:"OVATION_ACCOUNTS"`
	Videos        bool   `help:"Let users publish videos; requires --blob-url, also for ovation work." negatable:"" env:"OVATION_VIDEOS"`
	Drain         pause  `default:"5s"                              help:"How long to continue serving after /readyz reports that this node is stopping." env:"OVATION_DRAIN"`
}

// linger is the maximum time for which a partition that may send its actions waits while
// messages of other partitions are unconfirmed. Actions that arrive for the same
// partition in the meantime are sent in the same message. The value is a few times the
// duration of a confirm. If the confirm of one message is delayed, the messages of other
// partitions are delayed by linger at most.
const linger = 4 * time.Millisecond

// Run serves the API until the program is stopped.
func (c *serveCommand) Run(p *program) (err error) {
	if err := c.complete("serve"); err != nil {
		return err
	}
	if err := refuseDevOnly(p.getenv); err != nil {
		return err
	}
	if c.JWTSecret == "" && c.JWKS == "" && !c.Accounts {
		return usage("ovation serve needs a way to verify tokens: set OVATION_JWT_SECRET (openssl rand -base64 32 makes one) or OVATION_JWKS, or set OVATION_ACCOUNTS to true")
	}
	if err := c.checkTokens(); err != nil {
		return err
	}
	if err := c.checkTrusted(); err != nil {
		return err
	}
	if c.Videos && c.BlobURL == "" {
		return usage("ovation serve --videos needs a place for files: set OVATION_BLOB_URL to s3://bucket?region=REGION, or to file:///folder if all nodes and workers share that folder")
	}
	config, err := c.openConfig()
	if err != nil {
		return err
	}
	behind, err := c.begin(p, "serve", c.Addr, c.LogLevel, worker.Records, c.eventOptions(config))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, behind.close()) }()
	log, registry, listener := behind.log, behind.registry, behind.listener

	registry.MustRegister(behind.mirrored.PendingStates())
	metrics := worker.NewMetrics(registry, worker.Records)
	queue := worker.NewFallback(behind.queue, behind.mirrored, worker.FallbackOptions{Logger: log, Metrics: metrics})
	defer queue.Close()
	recorder := worker.NewRecorder(queue, behind.mirrored, worker.RecorderOptions{
		Linger: linger, Now: behind.mirrored.Now, Logger: log, Metrics: metrics,
	})
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), stopTimeout)
		defer cancel()
		if flushed := recorder.Close(ctx); flushed != nil {
			err = errors.Join(err, fmt.Errorf("flush the accepted actions: %w", flushed))
		}
	}()
	store := metered.New(behind.mirrored, registry)
	hub := live.New(behind.mirrored, live.Options{Logger: log, Metrics: live.NewMetrics(registry)})
	defer hub.Close()
	behind.mirrored.OnChange(hub.Changed, hub.ChangedAll, hub.Rewound)
	commentHub, stopCommentHub := startEventHub(p.ctx, behind.mirrored, redis.Comments, live.New(live.CommentVersions(behind.mirrored), commentHubOptions(log)))
	defer stopCommentHub()
	comments := worker.NewComments(store, worker.CommentsOptions{Changed: commentHub.changed, Logger: log, Metrics: metrics})
	defer func() { err = errors.Join(err, drain(p.ctx, comments.Close)) }()
	messageHub, stopMessageHub := startEventHub(p.ctx, behind.mirrored, redis.Messages, live.New(live.MessageVersions(behind.mirrored), messageHubOptions(log)))
	defer stopMessageHub()
	messages := worker.NewMessages(store, worker.MessagesOptions{Changed: messageHub.changed, Logger: log, Metrics: metrics})
	defer func() { err = errors.Join(err, drain(p.ctx, messages.Close)) }()
	authors := worker.NewAuthors(store, log)
	defer func() { err = errors.Join(err, drain(p.ctx, authors.Close)) }()
	batches := worker.NewActionBatches(store, behind.mirrored, worker.ActionBatchesOptions{Queue: queue, Logger: log, Metrics: metrics})
	defer func() { err = errors.Join(err, drain(p.ctx, batches.Close)) }()
	cfg := resolvers.Config{
		Store: store, Recorder: recorder, Comments: comments, Messages: messages, Authors: authors, Batches: batches, CachedAuthors: behind.mirrored.CachedAuthors,
		Live: hub, CommentHub: commentHub.hub, MessageHub: messageHub.hub, Logger: log, Registry: registry, Introspection: c.Introspection, AccessLog: c.AccessLog,
		Folders: worker.NewFolders(store, behind.mirrored.Now), Histories: worker.NewHistories(store, behind.mirrored.Now),
		Now: behind.mirrored.Now, Trends: c.Trending, Documents: behind.mirrored,
		Ready: func(ctx context.Context) error {
			if err := c.tooFar(behind.mirrored.ClockSkew()); err != nil {
				return err
			}
			switch {
			case p.ctx.Err() != nil:
				return errStopping
			case behind.queue.Up(), behind.mirrored.Ping(ctx) == nil:
				return nil // some mutations or queries still work
			}
			return errors.New("none of Redis, Postgres and RabbitMQ answers")
		},
	}
	config.apply(&cfg)
	config.reloads(p, registry)
	videos, err := c.startVideos(p, behind, store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, videos.close()) }()
	served, err := c.newAPI(p, []byte(c.JWTSecret), c.Accounts, nil, videos, cfg)
	if err != nil {
		return err
	}
	defer served.close()
	defer p.reloadOnHangup(log)()
	number, _ := built()
	sayf(p.stdout, "Ovation %s serves %s/graphql\n", number, urlOf(listener))
	if served.metrics != nil {
		sayf(p.stdout, "and http://%s/metrics\n", reachable(served.metrics))
	}
	defer context.AfterFunc(p.ctx, func() {
		log.Info("no longer ready; stopping after the drain", "drain_ms", time.Duration(c.Drain).Milliseconds())
	})()
	serving, stop := worker.WithGrace(p.ctx, time.Duration(c.Drain)) // lets load balancers notice that this node is not ready
	defer stop()
	return serveHTTP(serving, listener, closeWhenStopping(p.ctx, served), served.streams, nil, log)
}

// eventHub is a hub for comments or messages, with a bus that connects it to the hubs of
// the other nodes.
type eventHub struct {
	hub *live.Hub
	bus interface {
		Notify(subjects []storage.Subject)
	}
}

// startEventHub connects hub to the bus for the given topic. The function stop, which
// must be called after the last change, also closes the hub.
func startEventHub(ctx context.Context, copied *redis.Store, topic string, hub *live.Hub) (n eventHub, stop func()) {
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	bus := copied.NewBus(topic)
	n = eventHub{hub, bus}
	var run sync.WaitGroup
	run.Go(func() { bus.Run(running, n.hub.Changed) })
	return n, func() {
		end()
		run.Wait()
		n.hub.Close()
	}
}

// changed notifies the hubs of all nodes that subjects have changed.
func (n eventHub) changed(subjects []storage.Subject) {
	n.hub.Changed(subjects)
	n.bus.Notify(subjects)
}

// drain calls closing, the Close method of a component that may have requests in
// progress, with a context that ends after stopTimeout.
func drain(ctx context.Context, closing func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return closing(ctx)
}

var errStopping = errors.New("this node is stopping")

// newRegistry returns a registry with the metrics of the process itself.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	number, commit := built()
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ovation_build_info", Help: "Always 1; the labels tell what this process was built from.",
		ConstLabels: prometheus.Labels{"version": number, "commit": commit, "go": runtime.Version()},
	}, func() float64 { return 1 }))
	liveHeap := collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^/gc/heap/live:bytes$`)}
	registry.MustRegister(collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(liveHeap)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// closeWhenStopping makes clients close their connections once ctx has ended, so that no
// client sends a request over a connection that is being closed.
func closeWhenStopping(ctx context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ctx.Err() != nil {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// discardLog is a logger that discards everything.
var discardLog = slog.New(slog.DiscardHandler)
