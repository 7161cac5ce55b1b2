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
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rabbitmq/amqp091-go"
	"github.com/redis/rueidis"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

// run runs the role given in args ("serve" or "work") until ctx is done.
func run(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) (err error) {
	flags := flag.NewFlagSet("floor", flag.ContinueOnError)
	prefix := flags.String("prefix", "", "prefix of the keys and of the queue")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *prefix == "" || flags.NArg() != 1 {
		return errors.New("usage: floor -prefix=PREFIX serve|work")
	}
	connection, err := amqp091.Dial(getenv("OVATION_RABBITMQ_URL"))
	if err != nil {
		return fmt.Errorf("connect to RabbitMQ: %w", err)
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	channel, err := connection.Channel()
	if err != nil {
		return fmt.Errorf("open a channel: %w", err)
	}
	queue := *prefix + ".floor"
	if _, err := channel.QueueDeclare(queue, true, false, false, false, amqp091.Table{"x-queue-type": "quorum"}); err != nil {
		return fmt.Errorf("declare the queue: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.Handler())
	if flags.Arg(0) == "work" {
		working, err := startWorker(ctx, channel, queue, getenv("OVATION_POSTGRES_URL"))
		if err != nil {
			return err
		}
		return errors.Join(serve(ctx, mux, stdout), working())
	}
	client, err := connectRedis(getenv("OVATION_REDIS_URL"))
	if err != nil {
		return err
	}
	defer client.Close()
	out, err := newConfirmPublisher(channel, queue)
	if err != nil {
		return err
	}
	s := &server{redis: client, keyPrefix: *prefix + ":floor:", publisher: out}
	mux.HandleFunc("POST /page", handle(s.page))
	mux.HandleFunc("POST /like", handle(s.like))
	return serve(ctx, mux, stdout)
}

func serve(ctx context.Context, handler http.Handler, stdout io.Writer) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	_, _ = fmt.Fprintf(stdout, "The floor serves http://%s\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// connectRedis connects to Redis, with default options except for the size of the cache.
func connectRedis(url string) (rueidis.Client, error) {
	options, err := rueidis.ParseURL(url)
	if err != nil {
		return nil, errors.New("OVATION_REDIS_URL is not a URL of Redis")
	}
	options.CacheSizeEachConn = 32 << 20
	client, err := rueidis.NewClient(options)
	if err != nil {
		return nil, fmt.Errorf("connect to Redis: %w", err)
	}
	return client, nil
}
