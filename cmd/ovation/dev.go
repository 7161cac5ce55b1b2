package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ovation/api/viewer"
	"ovation/cmd/ovation/internal/demo"
	"ovation/resolvers"
	"ovation/resolvers/transport"
	"ovation/storage"
	"ovation/web"
	"ovation/worker/trends"
)

// devCommand serves the API from a single process, without other services.
type devCommand struct {
	dataFlag        `embed:""`
	apiFlags        `embed:""`
	keptEventsFlags `embed:""`

	Demo               bool   `help:"Fill an empty database with demo data; turns on --dev-headers on a loopback address."   env:"OVATION_DEMO"`
	JWTSecret          secret `help:"Secret that verifies HS256 tokens; if empty, one is kept in the data folder." name:"jwt-secret"                         env:"OVATION_JWT_SECRET"`
	AccessLog          bool   `default:"true" help:"Log every request; those with an error are always logged." negatable:"" env:"OVATION_ACCESS_LOG"`
	Introspection      bool   `default:"true"                                                                      help:"Allow introspection queries." negatable:""                       env:"OVATION_INTROSPECTION"`
	Accounts           bool   `default:"true" help:"Let users register and log in." negatable:"" env:"OVATION_ACCOUNTS"`
	Videos             bool   `default:"true" help:"Let users publish videos; without --blob-url, the files are in the data folder." negatable:"" env:"OVATION_VIDEOS"`
	DevHeaders         bool   `help:"Accept X-Ovation-User from this machine without authentication."      env:"OVATION_DEV_HEADERS"`
	InsecureDevHeaders bool   `help:"Accept X-Ovation-User even if other machines can connect."                 env:"OVATION_INSECURE_DEV_HEADERS"`
}

// Run serves the API until the program is stopped.
func (c *devCommand) Run(p *program) (err error) {
	if name := firstSet(p.getenv, distributed...); name != "" {
		return usage("%s is set, but ovation dev keeps everything in its data folder: unset it, or use ovation serve", name)
	}
	if c.DevHeaders && !c.InsecureDevHeaders && !c.Addr.loopback() {
		return usage("--dev-headers or OVATION_DEV_HEADERS lets everybody who can connect to %s be any user: listen on a loopback address, for example --addr 127.0.0.1:8080, or use tokens", c.Addr)
	}
	if err := c.checkTokens(); err != nil {
		return err
	}
	if err := c.checkTrusted(); err != nil {
		return err
	}
	if err := c.checkEvents(); err != nil {
		return err
	}
	config, err := c.openConfig()
	if err != nil {
		return err
	}
	log := newLogger(p.stderr, c.LogLevel.Level)
	unlock, err := c.lock(serveLock, "serves")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	listener, err := listen(p.ctx, c.Addr, addrFlag)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // already closed if serving has begun
	store, err := c.openSQLite(p.ctx, true, c.eventOptions(config))
	if err != nil {
		return err
	}
	if c.Demo {
		if err := demo.Add(p.ctx, store, time.Now()); err != nil {
			return errors.Join(unlessStopped(p.ctx, err), store.Close())
		}
	}
	registry := newRegistry()
	behind := startEmbedded(store, log, registry)
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		err = errors.Join(err, behind.stop(ctx))
	}()
	relayed, err := c.openRelays(store, log, registry)
	if err != nil {
		return err
	}
	if c.Events {
		defer relayed.start(p.ctx)()
	}
	if c.Trending {
		defer startTrends(p.ctx, trends.Options{Store: store, Policies: config.policies, Logger: log, Registry: registry})()
	}
	return c.serve(p, listener, behind, store, config, registry, log)
}

// serve serves the API on listener until the program is stopped.
func (c *devCommand) serve(p *program, listener net.Listener, behind *backends, survey storage.Surveyor, config siteConfig, registry *prometheus.Registry, log *slog.Logger) (err error) {
	key := []byte(c.JWTSecret)
	if len(key) == 0 {
		if key, err = c.keepSecret(); err != nil {
			return err
		}
	}
	cfg := resolvers.Config{
		Store: behind.store, Recorder: behind.recorder, Folders: behind.folders, Histories: behind.histories, Comments: behind.comments, Messages: behind.messages,
		Authors: behind.authors, Batches: behind.batches,
		Live: behind.live, CommentHub: behind.commentHub, MessageHub: behind.messageHub, Logger: log,
		Trends: c.Trending, Ready: behind.ready, Registry: registry, Introspection: c.Introspection, AccessLog: c.AccessLog,
	}
	config.apply(&cfg)
	config.reloads(p, registry)
	videos, err := c.startVideos(p.ctx, behind.store, log, registry)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, videos.close()) }()
	served, err := c.newAPI(p, key, c.Accounts, &development{c.devHeaders(), survey, c.Demo}, videos, cfg)
	if err != nil {
		return err
	}
	defer served.close()
	defer p.reloadOnHangup(log)()
	token, err := viewer.Sign(key, storage.User{Tenant: storage.DefaultTenant, UserID: demoViewer}, 24*time.Hour,
		viewer.Issuer(c.Issuer), viewer.Audience(c.Audience))
	if err != nil {
		return err
	}
	c.banner(p.stdout, listener.Addr(), served.metrics, token, web.Built(web.Files()))
	if c.Demo {
		opened := func(context.Context) (*videoSite, error) { return &videoSite{service: videos.service}, nil } // closed with the server
		defer startDemoClips(p.ctx, behind.store, opened, nil, log)()
	}
	return serveHTTP(p.ctx, listener, served, served.streams, behind.stopped, log)
}

// startDemoClips adds the clips of the demo data in the background, because that takes a
// while. It publishes them through the site that open returns, calls published with the
// site unless published is nil, and closes the site. The returned function ends this and
// waits; the next start completes the clips.
func startDemoClips(ctx context.Context, store storage.Store, open func(context.Context) (*videoSite, error), published func(context.Context, *videoSite), log *slog.Logger) (stop func()) {
	running, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		videos, err := open(running)
		if err == nil {
			if err = demo.AddClips(running, store, videos.service, time.Now()); err == nil && published != nil {
				published(running, videos)
			}
			err = errors.Join(err, videos.close())
		}
		if err = unlessStopped(running, err); err != nil {
			log.Error("the demo lacks clips; the next start adds them", "error", err)
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}

// unlessStopped returns err, which comes from preparing the data at startup. If ctx has
// ended, it returns nil instead, because the next start completes the preparation.
func unlessStopped(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}

// devHeaders returns the mode that determines when the header X-Ovation-User is accepted.
// Unless --insecure-dev-headers is set, the header is accepted only if --dev-headers or
// --demo is set and the server listens on a loopback address.
func (c *devCommand) devHeaders() viewer.DevHeaders {
	switch {
	case c.InsecureDevHeaders:
		return viewer.TrustDevHeaders
	case (c.DevHeaders || c.Demo) && c.Addr.loopback():
		return viewer.LocalDevHeaders
	}
	return viewer.RefuseDevHeaders
}

// addrFlag is how messages name the address flag.
const addrFlag = "--addr or OVATION_ADDR"

const stopTimeout = 15 * time.Second

// listen listens on addr. Its errors contain the parameter flag, the name of the flag
// that sets addr.
func listen(ctx context.Context, addr address, flag string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", string(addr))
	if err == nil {
		return listener, nil
	}
	advice := "choose another address by " + flag + ", for example 127.0.0.1:0 for any free port"
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("another program listens on %s already: stop it, or %s", addr, advice)
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("this user may not listen on %s: %s", addr, advice)
	}
	return nil, fmt.Errorf("listen: %w; %s", err, advice)
}

// serveHTTP serves until ctx ends or failed is closed. It then closes the streams, so
// that subscribers connect elsewhere, and lets the requests in progress finish. Both
// steps together take at most stopTimeout.
func serveHTTP(ctx context.Context, listener net.Listener, handler http.Handler, streams *transport.Streams, failed <-chan struct{}, log *slog.Logger) error {
	server := newServer(handler, log)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-failed:
		log.Error("the worker has stopped; stopping")
	case <-ctx.Done():
		log.Info("stopping; a second signal stops at once")
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- streams.Close(stopping) }()
	err := server.Shutdown(stopping)
	if err != nil {
		err = errors.Join(fmt.Errorf("finish the requests in progress: %w", err), server.Close())
	}
	err = errors.Join(err, <-closed)
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serve: %w", end))
	}
	return err
}

// newServer returns a server with timeouts and limits.
func newServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: handler,
		// It also bounds how long a new connection may be without a request. Clients open
		// connections in advance, and in an overload the first request is read late: with a
		// ReadHeaderTimeout of 5 s, a thousand clients that began at once lost requests.
		ReadTimeout:    15 * time.Second,
		WriteTimeout:   30 * time.Second,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 32 << 10,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
