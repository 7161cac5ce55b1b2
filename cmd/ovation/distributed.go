package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ovation/storage"
	"ovation/storage/postgres"
	"ovation/storage/redis"
	"ovation/worker"
	"ovation/worker/amqp"
)

// postgresFlag holds the URL of the database.
type postgresFlag struct {
	PostgresURL string `help:"Database: postgres://user:password@host:port/name." name:"postgres-url" placeholder:"URL" env:"OVATION_POSTGRES_URL"`
}

// openPostgres opens the database. Errors name the flag.
func (f postgresFlag) openPostgres(ctx context.Context, log *slog.Logger, now func() time.Time, events storage.EventOptions) (*postgres.Store, error) {
	store, err := postgres.Open(ctx, postgres.Options{URL: f.PostgresURL, Logger: log, Now: now, Events: events})
	return store, withFlag(postgresFlags, err)
}

// prefixFlag holds the prefix that separates installations on the same servers.
type prefixFlag struct {
	Prefix string `default:"ovation" help:"Prefix of keys in Redis and queues in RabbitMQ; must be the same for all processes." type:"prefix" env:"OVATION_PREFIX"`
}

// redisFlag holds the URL of Redis.
type redisFlag struct {
	RedisURL string `help:"Redis or Redis Cluster: redis://user:password@host:port/0." name:"redis-url" placeholder:"URL" env:"OVATION_REDIS_URL"`
}

// queueFlag holds the URL of the queue.
type queueFlag struct {
	RabbitMQURL string `help:"Queue: amqp://user:password@host:port/vhost." name:"rabbitmq-url" placeholder:"URL" env:"OVATION_RABBITMQ_URL"`
}

// queueFlags are the flags of a command that uses the queue.
type queueFlags struct {
	queueFlag `embed:""`

	Partitions int `default:"4" help:"Number of partitions of the queue, 1 to 256; must be the same for all processes. ovation partitions changes it later." type:"partitions" env:"OVATION_PARTITIONS"`
}

// options returns the options of the queue.
func (f queueFlags) options(prefix string, log *slog.Logger) amqp.Options {
	return amqp.Options{URL: f.RabbitMQURL, Prefix: prefix, Partitions: f.Partitions, Logger: log}
}

// The names of flags in errors about a service.
const (
	postgresFlags  = "--postgres-url or OVATION_POSTGRES_URL"
	queueFlagNames = "--rabbitmq-url or OVATION_RABBITMQ_URL"
)

// withFlag adds the name of a flag to err, the error that the flag's value caused. An
// error about an invalid value becomes a usage error. If err is nil, withFlag returns
// nil.
func withFlag(flag string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, storage.ErrInvalid):
		return usage("%s: %w", flag, err)
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// servicesFlags are the flags of a command that needs Postgres, Redis and RabbitMQ.
type servicesFlags struct {
	postgresFlag `embed:""`
	redisFlag    `embed:""`
	queueFlags   `embed:""`
	prefixFlag   `embed:""`
}

// openMirrored opens the database and, with the options o, Redis in front of it. If
// openMirrored fails, neither remains open.
func (f servicesFlags) openMirrored(p *program, command string, events storage.EventOptions, o redis.Options) (*postgres.Store, *redis.Store, error) {
	if err := f.complete(command); err != nil {
		return nil, nil, err
	}
	database, err := f.openPostgres(p.ctx, o.Logger, p.now, events)
	if err != nil {
		return nil, nil, err
	}
	o.Database, o.Prefix, o.Now = database, f.Prefix, p.now
	copied, err := f.openRedis(p.ctx, o)
	if err != nil {
		return nil, nil, errors.Join(err, database.Close())
	}
	return database, copied, nil
}

// process holds what `ovation serve` and `ovation work` have in common: a log, a
// listener, metrics and the services.
type process struct {
	log      *slog.Logger
	listener net.Listener
	registry *prometheus.Registry
	database *postgres.Store
	mirrored *redis.Store // the database with Redis in front of it
	queue    *amqp.Queue
}

// begin listens on an address, the parameter at, and opens all services. If begin fails,
// nothing remains open.
func (f servicesFlags) begin(p *program, command string, at address, logs level, does worker.Role, events storage.EventOptions) (*process, error) {
	log := newLogger(p.stderr, logs.Level)
	listener, err := listen(p.ctx, at, addrFlag)
	if err != nil {
		return nil, err
	}
	registry := newRegistry()
	database, copied, err := f.openMirrored(p, command, events, redis.Options{Logger: log})
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	options := f.options(f.Prefix, log)
	options.Metrics = amqp.NewMetrics(registry, does)
	queue, err := amqp.Open(p.ctx, options)
	if err != nil {
		return nil, errors.Join(withFlag(queueFlagNames, err), copied.Close(), listener.Close())
	}
	registry.MustRegister(copied.Collectors()...)
	registry.MustRegister(database.Collectors()...)
	return &process{log, listener, registry, database, copied, queue}, nil
}

// close closes the listener and the queue, then Redis and the database.
func (s *process) close() error {
	_ = s.listener.Close() // already closed if serving has begun
	return errors.Join(s.queue.Close(), s.mirrored.Close())
}

// complete returns a usage error unless all three services are configured.
func (f servicesFlags) complete(command string) error {
	var missing []string
	for i, url := range []string{f.PostgresURL, f.RedisURL, f.RabbitMQURL} {
		if url == "" {
			missing = append(missing, distributed[i])
		}
	}
	if len(missing) > 0 {
		return usage("ovation %s needs Postgres, Redis and RabbitMQ: set %s. For example: %s=%s. ovation dev needs none of them.",
			command, strings.Join(missing, ", "), missing[0], exampleOf[missing[0]])
	}
	return nil
}

// openRedis opens Redis in front of options.Database. Closing the returned store also
// closes options.Database.
func (f redisFlag) openRedis(ctx context.Context, options redis.Options) (*redis.Store, error) {
	options.URL = f.RedisURL
	store, err := redis.Open(ctx, options)
	if errors.Is(err, storage.ErrUnavailable) && ctx.Err() == nil {
		err = fmt.Errorf("%w; check that Redis 6 or newer runs there and that the user, password, database and scheme (redis:// or rediss://) of the URL are correct", err)
	}
	if errors.Is(err, redis.ErrForeignMirror) {
		return nil, usage("%w", err)
	}
	return store, withFlag("--redis-url or OVATION_REDIS_URL", err)
}

// storeFlags are the flags of a command that works in either mode: on Postgres if
// PostgresURL is set, and otherwise on the embedded database.
type storeFlags struct {
	dataFlag     `embed:""`
	postgresFlag `embed:""`
	redisFlag    `embed:""`
	prefixFlag   `embed:""`
}

// check returns an error if the command would work on the embedded database although a
// service's URL is set.
func (f storeFlags) check(getenv func(string) string) error {
	if f.PostgresURL != "" {
		return nil
	}
	name := firstSet(getenv, "OVATION_RABBITMQ_URL")
	if f.RedisURL != "" {
		name = "OVATION_REDIS_URL"
	}
	if name != "" {
		return usage("%s is set and OVATION_POSTGRES_URL is not: set it, or unset %s to work on the data folder", name, name)
	}
	return nil
}

// lock acquires a lock in the data folder; see dataFlag.lock. Postgres needs no lock, so
// lock does nothing if PostgresURL is set.
func (f storeFlags) lock(name, use string) (unlock func() error, err error) {
	if f.PostgresURL != "" {
		return func() error { return nil }, nil
	}
	return f.dataFlag.lock(name, use)
}

// bulkTimeout bounds each call to Redis in commands that change large amounts of data. No
// request waits for these calls.
const bulkTimeout = 10 * time.Second

// open opens the store. If Postgres and Redis are configured, writes to Postgres also
// update Redis. If only Postgres is configured, writes fail while the nodes of the site
// use Redis. A missing embedded database is created if create is true.
func (f storeFlags) open(ctx context.Context, create bool, events storage.EventOptions) (storage.Store, error) {
	if f.PostgresURL == "" {
		return f.dataFlag.open(ctx, create, events)
	}
	log := discardLog // failures end the command, which reports them
	database, err := f.openPostgres(ctx, log, time.Now, events)
	if err != nil {
		return nil, err
	}
	if f.RedisURL == "" {
		return unmirrored{database}, nil
	}
	copied, err := f.openRedis(ctx, redis.Options{Database: database, Prefix: f.Prefix, Logger: log, RedisTimeout: bulkTimeout, Passive: true})
	if err != nil {
		return nil, errors.Join(err, database.Close())
	}
	return copied, nil
}

// openToWrite is open for a command that writes. It fails while the nodes of the site use
// Redis and the command does not.
func (f storeFlags) openToWrite(ctx context.Context, create bool, events storage.EventOptions) (storage.Store, error) {
	store, err := f.open(ctx, create, events)
	if plain, is := store.(unmirrored); is {
		if err := plain.check(ctx); err != nil {
			return nil, errors.Join(err, store.Close())
		}
	}
	return store, err
}

// urlOf returns the URL at which clients on this machine reach the listener.
func urlOf(listener net.Listener) string { return "http://" + reachable(listener.Addr()) }
