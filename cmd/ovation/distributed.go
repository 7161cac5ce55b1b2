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
	"ovation/worker/amqp"
)

// postgresFlag says where the database is.
type postgresFlag struct {
	PostgresURL string `help:"Database: postgres://user:password@host:port/name." name:"postgres-url" placeholder:"URL" variable:"OVATION_POSTGRES_URL"`
}

// openPostgres opens the database. Errors tell which flag is to blame.
func (f postgresFlag) openPostgres(ctx context.Context, log *slog.Logger, now func() time.Time) (*postgres.Store, error) {
	store, err := postgres.Open(ctx, postgres.Options{URL: f.PostgresURL, Logger: log, Now: now})
	return store, blame(blamePostgres, err)
}

// prefixFlag keeps installations on the same servers apart.
type prefixFlag struct {
	Prefix string `default:"ovation" help:"Begins every key in Redis and every queue in RabbitMQ; the same for every process." type:"prefix" variable:"OVATION_PREFIX"`
}

// redisFlag says where Redis is.
type redisFlag struct {
	RedisURL string `help:"Redis or Redis Cluster: redis://user:password@host:port/0." name:"redis-url" placeholder:"URL" variable:"OVATION_REDIS_URL"`
}

// queueFlag says where the queue is.
type queueFlag struct {
	RabbitMQURL string `help:"Queue: amqp://user:password@host:port/vhost." name:"rabbitmq-url" placeholder:"URL" variable:"OVATION_RABBITMQ_URL"`
}

// queueFlags are those of a command that uses the queue.
type queueFlags struct {
	queueFlag `embed:""`

	Partitions int `default:"4" help:"Queues that share the load; the same for every process. Where there are queues, their number, which ovation partitions changes." type:"partitions" variable:"OVATION_PARTITIONS"`
}

// options are those of the queue.
func (f queueFlags) options(prefix string, log *slog.Logger) amqp.Options {
	return amqp.Options{URL: f.RabbitMQURL, Prefix: prefix, Partitions: f.Partitions, Logger: log}
}

// Which flag an error of a part is about.
const (
	blamePostgres = "--postgres-url or OVATION_POSTGRES_URL"
	blameQueue    = "--rabbitmq-url or OVATION_RABBITMQ_URL"
)

// blame says which flag an error is about. What is out of bounds is wrong use.
func blame(flag string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, storage.ErrInvalid):
		return usage("%s: %w", flag, err)
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// servicesFlags are those of a command that needs all three services.
type servicesFlags struct {
	postgresFlag `embed:""`
	redisFlag    `embed:""`
	queueFlags   `embed:""`
	prefixFlag   `embed:""`
}

// services are the three, open.
type services struct {
	database *postgres.Store
	copied   *redis.Store // the database with the copy in Redis before it
	queue    *amqp.Queue
}

// openAll opens all three or none. A service that cannot be reached is an
// error: nothing takes its place.
func (f servicesFlags) openAll(p *program, command string, log *slog.Logger, metrics *amqp.Metrics) (*services, error) {
	database, copied, err := f.openCopied(p, command, redis.Options{Logger: log})
	if err != nil {
		return nil, err
	}
	options := f.options(f.Prefix, log)
	options.Metrics = metrics
	queue, err := amqp.Open(p.ctx, options)
	if err != nil {
		return nil, errors.Join(blame(blameQueue, err), copied.Close())
	}
	return &services{database, copied, queue}, nil
}

// openCopied opens the database, and Redis before it with the rest of the options,
// or neither.
func (f servicesFlags) openCopied(p *program, command string, o redis.Options) (*postgres.Store, *redis.Store, error) {
	if err := f.complete(command); err != nil {
		return nil, nil, err
	}
	database, err := f.openPostgres(p.ctx, o.Logger, p.now)
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

// process is what serve and work have in common: a log, an address, metrics and
// the services.
type process struct {
	*services

	log      *slog.Logger
	listener net.Listener
	registry *prometheus.Registry
}

// begin takes the address and opens the services, or neither.
func (f servicesFlags) begin(p *program, command string, at address, logs level, does amqp.Use) (*process, error) {
	log := newLogger(p.stderr, logs.Level)
	listener, err := listen(p.ctx, at, addrFlag)
	if err != nil {
		return nil, err
	}
	registry := newRegistry()
	behind, err := f.openAll(p, command, log, amqp.NewMetrics(registry, does))
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	registry.MustRegister(behind.copied.Collectors()...)
	registry.MustRegister(behind.database.Collectors()...)
	return &process{behind, log, listener, registry}, nil
}

// close closes all.
func (s *process) close() error {
	_ = s.listener.Close() // it is closed already where serving began
	return s.services.close()
}

// complete refuses to begin with a part of the services.
func (f servicesFlags) complete(command string) error {
	var missing []string
	for i, url := range []string{f.PostgresURL, f.RedisURL, f.RabbitMQURL} {
		if url == "" {
			missing = append(missing, distributed[i])
		}
	}
	if len(missing) > 0 {
		return usage("ovation %s needs Postgres, Redis and RabbitMQ: set %s. ovation dev needs none of them.",
			command, strings.Join(missing, ", "))
	}
	return nil
}

// close closes the queue, then Redis and the database.
func (s *services) close() error { return errors.Join(s.queue.Close(), s.copied.Close()) }

// openRedis puts Redis before the database, which is closed with what it
// returns.
func (f redisFlag) openRedis(ctx context.Context, options redis.Options) (*redis.Store, error) {
	options.URL = f.RedisURL
	store, err := redis.Open(ctx, options)
	if errors.Is(err, storage.ErrUnavailable) && ctx.Err() == nil {
		err = fmt.Errorf("%w; see that Redis 6 or newer runs there and that user, password, database and redis:// or rediss:// in the URL are right", err)
	}
	if errors.Is(err, redis.ErrStranger) {
		return nil, usage("%w", err)
	}
	return store, blame("--redis-url or OVATION_REDIS_URL", err)
}

// storeFlags are those of a command that works on the store of either way to
// run: the one in Postgres where its URL is set, else the embedded one.
type storeFlags struct {
	dataFlag     `embed:""`
	postgresFlag `embed:""`
	redisFlag    `embed:""`
	prefixFlag   `embed:""`
}

// check refuses to work on the embedded store beside services that are set.
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

// lock locks the data folder. A database in Postgres needs no lock.
func (f storeFlags) lock(name, use string) (unlock func() error, err error) {
	if f.PostgresURL != "" {
		return func() error { return nil }, nil
	}
	return f.dataFlag.lock(name, use)
}

// bulkTimeout bounds a call of Redis by a command that changes much at once
// and keeps nobody waiting.
const bulkTimeout = 10 * time.Second

// open opens the store. Where Redis is set, what is written shows there; where it
// is not, nothing can be written while a site uses one.
func (f storeFlags) open(ctx context.Context, create bool) (storage.Store, error) {
	if f.PostgresURL == "" {
		return f.dataFlag.open(ctx, create)
	}
	log := quietly // whatever fails ends the command
	database, err := f.openPostgres(ctx, log, time.Now)
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

// urlOf is where a listener is, as a URL for a client on this machine.
func urlOf(listener net.Listener) string { return "http://" + reachable(listener.Addr()) }
