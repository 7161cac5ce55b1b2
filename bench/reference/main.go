package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/rueidis"

	"ovation/resolvers/viewer"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

// run serves until the context ends.
func run(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) (err error) {
	flags := flag.NewFlagSet("reference", flag.ContinueOnError)
	keys := flags.String("keys", "", "what the keys in Redis begin with: PREFIX:EPOCH")
	queues := flags.String("queues", "", "what the names of queues begin with")
	lua := flags.String("lua", "storage/redis/lua", "folder of the scripts")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *keys == "" || *queues == "" {
		return errors.New("-keys and -queues are needed")
	}
	auth, err := viewer.New(ctx, viewer.Config{Secret: []byte(getenv("OVATION_JWT_SECRET"))})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, auth.Close()) }()
	client, err := connect(getenv("OVATION_REDIS_URL"))
	if err != nil {
		return err
	}
	defer client.Close()
	show, err := load(ctx, client, filepath.Join(*lua, "entry.lua"), filepath.Join(*lua, "show.lua"))
	if err != nil {
		return err
	}
	out, err := newOutlet(getenv("OVATION_RABBITMQ_URL"), *queues)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()

	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	s := &server{auth: auth, redis: client, keys: *keys, show: show, out: out}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /page", s.page)
	mux.HandleFunc("POST /like", s.like)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return serve(ctx, mux, stdout)
}

func serve(ctx context.Context, handler http.Handler, stdout io.Writer) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	var stopping sync.WaitGroup
	defer stopping.Wait()
	stopped := make(chan struct{})
	stopping.Go(func() {
		select {
		case <-ctx.Done():
		case <-stopped:
			return
		}
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(within) // what is left ends with the process
	})
	defer close(stopped)
	_, _ = fmt.Fprintf(stdout, "The reference serves http://%s\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// connect is as the product connects.
func connect(url string) (rueidis.Client, error) {
	options, err := rueidis.ParseURL(url)
	if err != nil {
		return nil, errors.New("OVATION_REDIS_URL is no URL of Redis")
	}
	options.CacheSizeEachConn = 32 << 20
	options.ConnWriteTimeout = 2 * time.Second
	client, err := rueidis.NewClient(options)
	if err != nil {
		return nil, fmt.Errorf("connect to Redis: %w", err)
	}
	return client, nil
}

// load gives Redis a script that is in parts, and returns its name.
func load(ctx context.Context, client rueidis.Client, parts ...string) (string, error) {
	var text []byte
	for _, part := range parts {
		more, err := os.ReadFile(part)
		if err != nil {
			return "", fmt.Errorf("read a script: %w", err)
		}
		text = append(text, more...)
	}
	name, err := client.Do(ctx, client.B().ScriptLoad().Script(string(text)).Build()).ToString()
	if err != nil {
		return "", fmt.Errorf("load a script: %w", err)
	}
	return name, nil
}
