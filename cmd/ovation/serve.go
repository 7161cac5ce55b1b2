package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"ovation/resolvers"
	"ovation/resolvers/viewer"
	"ovation/storage/metered"
	"ovation/web"
	"ovation/worker"
	"ovation/worker/amqp"
)

// serveCommand serves the API from one of several nodes.
type serveCommand struct {
	servicesFlags `embed:""`

	Addr           address       `default:"127.0.0.1:8080"                                                                               help:"Address to listen on; port 0 is any free one." variable:"OVATION_ADDR"`
	JWTSecret      secret        `help:"Secret that verifies HS256 tokens."                                                              name:"jwt-secret"                                    variable:"OVATION_JWT_SECRET"`
	JWKS           string        `help:"File or URL of a key set that verifies RS256 and ES256 tokens."                                  name:"jwks"                                          variable:"OVATION_JWKS"`
	Issuer         string        `help:"What the iss claim of a token must be; anything if empty."                                       variable:"OVATION_ISSUER"`
	Audience       string        `help:"What the aud claim of a token must hold; anything if empty."                                     variable:"OVATION_AUDIENCE"`
	AllowedOrigins []origin      `help:"Other web sites that may call the API, comma-separated; * is all."                               variable:"OVATION_ALLOWED_ORIGINS"`
	Introspection  bool          `help:"Answer questions about the schema."                                                              negatable:""                                         variable:"OVATION_INTROSPECTION"`
	Drain          time.Duration `default:"1s"                                                                                           help:"How long to go on after /readyz says that this node is stopping." variable:"OVATION_DRAIN"`
	LogLevel       level         `default:"info"                                                                                         help:"What to log: debug, info, warn or error."      variable:"OVATION_LOG_LEVEL"`
}

// Run serves until it is told to stop.
func (c *serveCommand) Run(p *program) (err error) {
	if err := c.complete("serve"); err != nil {
		return err
	}
	if c.JWTSecret == "" && c.JWKS == "" {
		return usage("ovation serve needs to know whose tokens to believe: set OVATION_JWT_SECRET (openssl rand -base64 32 makes one) or OVATION_JWKS")
	}
	log := newLogger(p.stderr, c.LogLevel.Level)
	listener, err := listen(p.ctx, c.Addr)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // it is closed already where serving began
	registry := newRegistry()
	behind, err := c.openAll(p.ctx, "serve", log, amqp.NewMetrics(registry))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, behind.close()) }()

	metrics := worker.NewMetrics(registry)
	queue := worker.NewFallback(behind.queue, behind.copied, worker.FallbackOptions{Logger: log, Metrics: metrics})
	recorder := worker.NewRecorder(queue, behind.copied, worker.RecorderOptions{Logger: log, Metrics: metrics})
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), stopTimeout)
		defer cancel()
		if flushed := recorder.Close(ctx); flushed != nil {
			err = errors.Join(err, fmt.Errorf("finish the actions on their way: %w", flushed))
		}
	}()
	store := metered.New(behind.copied, registry)
	cfg := resolvers.Config{
		Store: store, Recorder: recorder, Logger: log, Registry: registry, Introspection: c.Introspection,
		Folders: worker.NewFolders(store, worker.FoldersOptions{}),
	}
	handler, closeHandler, err := c.handler(p, cfg)
	if err != nil {
		return err
	}
	defer closeHandler()
	number, _ := built()
	sayf(p.stdout, "Ovation %s serves %s/graphql\n", number, urlOf(listener))
	serving, stop := draining(p.ctx, c.Drain)
	defer stop()
	return serveHTTP(serving, listener, goodbye(p.ctx, handler), nil, log)
}

// handler is the API. What it returns besides is to be called in the end.
func (c *serveCommand) handler(p *program, cfg resolvers.Config) (handler http.Handler, end func(), err error) {
	auth, err := viewer.New(p.ctx, viewer.Config{
		Secret: []byte(c.JWTSecret), JWKS: c.JWKS, Issuer: c.Issuer, Audience: c.Audience, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("set up tokens: %w", err)
	}
	end = func() { _ = auth.Close() } // nothing of it outlives the process
	cfg.Auth = auth
	if cfg.Pages, err = web.Handler(web.Files()); err != nil {
		end()
		return nil, nil, err
	}
	for _, o := range c.AllowedOrigins {
		cfg.AllowedOrigins = append(cfg.AllowedOrigins, string(o))
	}
	cfg.Ready = func() error {
		if p.ctx.Err() != nil {
			return errStopping
		}
		return nil
	}
	if handler, err = resolvers.NewHandler(p.ctx, cfg); err != nil {
		end()
		return nil, nil, err
	}
	return handler, end, nil
}

var errStopping = errors.New("this node is stopping")

// newRegistry has the metrics of the process itself.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
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
