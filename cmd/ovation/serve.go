package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"ovation/live"
	"ovation/resolvers"
	"ovation/resolvers/viewer"
	"ovation/storage/metered"
	"ovation/worker"
	"ovation/worker/amqp"
)

// serveCommand serves the API from one of several nodes.
type serveCommand struct {
	servicesFlags `embed:""`
	clockFlag     `embed:""`
	apiFlags      `embed:""`

	JWTSecret     secret `help:"Secret that verifies HS256 tokens." name:"jwt-secret"                                                            variable:"OVATION_JWT_SECRET"`
	AccessLog     bool   `help:"Log every request; those with an error are logged anyway." negatable:"" variable:"OVATION_ACCESS_LOG"`
	Introspection bool   `help:"Answer questions about the schema." negatable:""                                                                 variable:"OVATION_INTROSPECTION"`
	Drain         pause  `default:"5s"                              help:"How long to go on after /readyz says that this node is stopping." variable:"OVATION_DRAIN"`
}

// linger is how long a node lets likes wait for others while RabbitMQ has yet to
// confirm a message: a few times what a confirm takes. Where a message hangs, it
// is what those of other partitions lose.
const linger = 4 * time.Millisecond

// Run serves until it is told to stop.
func (c *serveCommand) Run(p *program) (err error) {
	if err := c.complete("serve"); err != nil {
		return err
	}
	if err := refuseDevOnly(p.getenv); err != nil {
		return err
	}
	if c.JWTSecret == "" && c.JWKS == "" {
		return usage("ovation serve needs to know whose tokens to believe: set OVATION_JWT_SECRET (openssl rand -base64 32 makes one) or OVATION_JWKS")
	}
	if err := c.checkTokens(); err != nil {
		return err
	}
	behind, err := c.begin(p, "serve", c.Addr, c.LogLevel, amqp.Publishes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, behind.close()) }()
	log, registry, listener := behind.log, behind.registry, behind.listener

	registry.MustRegister(behind.copied.Unshown())
	metrics := worker.NewMetrics(registry, worker.Records)
	queue := worker.NewFallback(behind.queue, behind.copied, worker.FallbackOptions{Logger: log, Metrics: metrics})
	defer queue.Close()
	recorder := worker.NewRecorder(queue, behind.copied, worker.RecorderOptions{
		Linger: linger, Now: behind.copied.Now, Logger: log, Metrics: metrics,
	})
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), stopTimeout)
		defer cancel()
		if flushed := recorder.Close(ctx); flushed != nil {
			err = errors.Join(err, fmt.Errorf("finish the actions on their way: %w", flushed))
		}
	}()
	store := metered.New(behind.copied, registry)
	hub := live.New(behind.copied, live.Options{Logger: log, Metrics: live.NewMetrics(registry)})
	defer hub.Close()
	behind.copied.OnChange(hub.Changed, hub.ChangedAll)
	cfg := resolvers.Config{
		Store: store, Recorder: recorder, Live: hub, Logger: log, Registry: registry, Introspection: c.Introspection, AccessLog: c.AccessLog,
		Folders: worker.NewFolders(store, worker.FoldersOptions{Now: behind.copied.Now}),
		Now:     behind.copied.Now, Documents: behind.copied,
		Ready: func(ctx context.Context) error {
			if err := c.tooFar(behind.copied.ClockSkew()); err != nil {
				return err
			}
			switch {
			case p.ctx.Err() != nil:
				return errStopping
			case behind.queue.Up(), behind.copied.Ping(ctx) == nil:
				return nil // something can be done for somebody
			}
			return errors.New("neither Redis nor Postgres nor RabbitMQ answers")
		},
	}
	served, err := c.newAPI(p.ctx, []byte(c.JWTSecret), viewer.RefuseDevHeaders, cfg)
	if err != nil {
		return err
	}
	defer served.close()
	number, _ := built()
	sayf(p.stdout, "Ovation %s serves %s/graphql\n", number, urlOf(listener))
	if served.metrics != nil {
		sayf(p.stdout, "and http://%s/metrics\n", reachable(served.metrics))
	}
	defer context.AfterFunc(p.ctx, func() {
		log.Info("not ready any more; stopping after the drain", "drain_ms", time.Duration(c.Drain).Milliseconds())
	})()
	serving, stop := draining(p.ctx, time.Duration(c.Drain))
	defer stop()
	return serveHTTP(serving, listener, goodbye(p.ctx, served), served.streams, nil, log)
}

var errStopping = errors.New("this node is stopping")

// newRegistry has the metrics of the process itself.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	number, commit := built()
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ovation_build_info", Help: "Always 1; the labels tell what this process was built from.",
		ConstLabels: prometheus.Labels{"version": number, "commit": commit, "go": runtime.Version()},
	}, func() float64 { return 1 }))
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// draining returns a context that ends some time after another one: long
// enough for a balancer to learn that this node is not ready any more.
func draining(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(by, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, cancel
}

// goodbye has clients give up their connections once ctx has ended, so that
// none sends a request over one that is being closed.
func goodbye(ctx context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ctx.Err() != nil {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// quietly is a logger of nothing.
var quietly = slog.New(slog.DiscardHandler)
