package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rabbitmq/amqp091-go"
	"github.com/redis/rueidis"
)

// The environment variables with the URLs of the services.
const (
	postgresURL = "OVATION_POSTGRES_URL"
	redisURL    = "OVATION_REDIS_URL"
	rabbitmqURL = "OVATION_RABBITMQ_URL"
)

const partitions = 4 // the default

// installation is a separate installation of Ovation, with its own schema, keys and
// queues.
type installation struct {
	binary    string // path of ovation
	dir       string // directory for logs and data, which close removes
	prefix    string
	secret    string
	variables map[string]string
	database  *pgxpool.Pool
	cleanups  []func(context.Context) error // called in reverse order
}

// newInstallation creates an installation and its tables.
func newInstallation(ctx context.Context, binary string) (_ *installation, err error) {
	s := &installation{
		binary: binary, prefix: "bench-" + strings.ToLower(rand.Text()[:10]), secret: rand.Text() + rand.Text(),
		variables: map[string]string{},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(ctx))
		}
	}()
	for _, name := range []string{postgresURL, redisURL, rabbitmqURL} {
		if s.variables[name] = os.Getenv(name); s.variables[name] == "" {
			return nil, fmt.Errorf("%s is not set: run it by scripts/services run, as make bench does", name)
		}
	}
	if s.dir, err = os.MkdirTemp("", "ovation-bench-"); err != nil {
		return nil, err
	}
	s.onClose(func(context.Context) error { return os.RemoveAll(s.dir) })
	if err := s.createSchema(ctx); err != nil {
		return nil, err
	}
	s.variables["OVATION_PREFIX"] = s.prefix
	for _, limit := range []string{"OVATION_RATE_PER_USER", "OVATION_RATE_PER_ADDRESS", "OVATION_RATE_PER_SOCKET", "OVATION_MESSAGES_PER_USER"} {
		s.variables[limit] = "0" // few users send all requests
	}
	for _, limit := range []string{"OVATION_MAX_STREAMS_PER_ADDRESS", "OVATION_MAX_SUBSCRIPTIONS_PER_ADDRESS"} {
		s.variables[limit] = "50000" // all connections come from one address
	}
	s.variables["OVATION_PARTITIONS"] = strconv.Itoa(partitions)
	s.onClose(s.dropKeys)
	s.onClose(s.dropQueues)
	if s.database, err = pgxpool.New(ctx, s.variables[postgresURL]); err != nil {
		return nil, fmt.Errorf("open Postgres: %w", err)
	}
	s.onClose(func(context.Context) error { s.database.Close(); return nil })
	_, err = s.run(ctx, "migrate")
	return s, err
}

// createSchema creates a schema and adds its name to the URL of Postgres.
func (s *installation) createSchema(ctx context.Context) error {
	at := s.variables[postgresURL]
	execute := func(ctx context.Context, statement string) error {
		c, err := pgx.Connect(ctx, at)
		if err != nil {
			return fmt.Errorf("connect to Postgres: %w", err)
		}
		_, err = c.Exec(ctx, statement)
		return errors.Join(err, c.Close(ctx))
	}
	if err := execute(ctx, fmt.Sprintf("CREATE SCHEMA %q", s.prefix)); err != nil {
		return err
	}
	s.onClose(func(ctx context.Context) error { return execute(ctx, fmt.Sprintf("DROP SCHEMA %q CASCADE", s.prefix)) })
	u, err := url.Parse(at)
	if err != nil {
		return fmt.Errorf("%s is not a URL of Postgres", postgresURL)
	}
	query := u.Query()
	query.Set("search_path", s.prefix)
	u.RawQuery = query.Encode()
	s.variables[postgresURL] = u.String()
	return nil
}

// onClose registers a function to call when the installation is closed.
func (s *installation) onClose(what func(context.Context) error) {
	s.cleanups = append(s.cleanups, what)
}

const cleanupTimeout = time.Minute

// close calls the functions registered with onClose, the last one first, even if ctx is
// done. They stop the processes, remove the installation's directory, and delete
// everything that the installation has stored in the services.
func (s *installation) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	var err error
	for _, clean := range slices.Backward(s.cleanups) {
		err = errors.Join(err, clean(ctx))
	}
	s.cleanups = nil
	return err
}

// withRedis calls f with a connection to Redis.
func (s *installation) withRedis(f func(rueidis.Client) error) error {
	options, err := rueidis.ParseURL(s.variables[redisURL])
	if err != nil {
		return fmt.Errorf("%s is not a URL of Redis", redisURL)
	}
	client, err := rueidis.NewClient(options)
	if err != nil {
		return fmt.Errorf("connect to Redis: %w", err)
	}
	defer client.Close()
	return f(client)
}

// dropKeys deletes the keys of the installation from Redis.
func (s *installation) dropKeys(ctx context.Context) error {
	return s.withRedis(func(client rueidis.Client) error {
		return s.scanKeys(ctx, client, func(node rueidis.Client, keys []string) error {
			if err := node.Do(ctx, node.B().Unlink().Key(keys...).Build()).Error(); err != nil {
				return fmt.Errorf("remove keys: %w", err)
			}
			return nil
		})
	})
}

// scanKeys passes the installation's keys to the given function in batches, each with a
// client of the server that holds the batch.
func (s *installation) scanKeys(ctx context.Context, client rueidis.Client, each func(node rueidis.Client, keys []string) error) error {
	for _, node := range client.Nodes() {
		for cursor := uint64(0); ; {
			found, err := node.Do(ctx, node.B().Scan().Cursor(cursor).Match(s.prefix+":*").Count(10_000).Build()).AsScanEntry()
			if err != nil {
				return fmt.Errorf("look for keys: %w", err)
			}
			if len(found.Elements) > 0 {
				if err := each(node, found.Elements); err != nil {
					return err
				}
			}
			if cursor = found.Cursor; cursor == 0 {
				break
			}
		}
	}
	return nil
}

// queueNames returns the names of the dead-letter queue and of the partitions' queues.
func (s *installation) queueNames() []string {
	names := append(make([]string, 0, 1+partitions), s.prefix+".dead")
	for i := range partitions {
		names = append(names, s.prefix+"."+strconv.Itoa(i))
	}
	return names
}

func (s *installation) withChannel(do func(*amqp091.Channel) error) error {
	connection, err := amqp091.Dial(s.variables[rabbitmqURL])
	if err != nil {
		return fmt.Errorf("connect to RabbitMQ: %w", err)
	}
	channel, err := connection.Channel()
	if err == nil {
		err = do(channel)
	}
	return errors.Join(err, connection.Close())
}

func (s *installation) dropQueues(context.Context) error {
	return s.withChannel(func(channel *amqp091.Channel) error {
		names := append(s.queueNames(), s.prefix+".floor", s.prefix+".covers", s.prefix+".covers.dead")
		for _, own := range []string{".partitions", ".open", ".publishers", ".workers"} {
			names = append(names, s.prefix+own, s.prefix+".covers"+own)
		}
		for _, name := range names {
			if _, err := channel.QueueDelete(name, false, false, false); err != nil {
				return fmt.Errorf("delete queue %s: %w", name, err)
			}
		}
		return nil
	})
}

// checkQueuesEmpty returns an error if messages are left in the dead-letter queue or in
// the partitions' queues.
func (s *installation) checkQueuesEmpty() error {
	n, err := s.countQueued()
	if err == nil && n > 0 {
		err = fmt.Errorf("%d messages are left in the queue, want none", n)
	}
	return err
}

// countQueued returns the number of queued messages that no worker has received.
func (s *installation) countQueued() (n int, err error) {
	err = s.withChannel(func(channel *amqp091.Channel) error {
		for _, name := range s.queueNames() {
			queue, err := channel.QueueDeclarePassive(name, true, false, false, false, nil)
			if err != nil {
				return fmt.Errorf("inspect queue %s: %w", name, err)
			}
			n += queue.Messages
		}
		return nil
	})
	return n, err
}

// environment returns the environment variables that all processes share.
func (s *installation) environment() []string {
	out := make([]string, 0, 2+len(s.variables))
	out = append(out, "OVATION_LOG_LEVEL=warn", "HOME="+os.Getenv("HOME"))
	for _, name := range slices.Sorted(maps.Keys(s.variables)) {
		out = append(out, name+"="+s.variables[name])
	}
	return out
}

// run runs ovation with args, waits until it exits, and returns its output.
func (s *installation) run(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, s.binary, args...) //nolint:gosec // it is the program under test
	command.Env = s.environment()
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = stopTimeout
	out, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ovation %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// verify runs ovation verify and returns its output. It returns an error if there are
// differences.
func (s *installation) verify(ctx context.Context) (string, error) {
	output, err := s.run(ctx, "verify")
	if err == nil && !strings.HasPrefix(output, "0 differences; ") {
		err = fmt.Errorf("ovation verify: %s", output)
	}
	return strings.TrimSpace(output), err
}

// startNode starts an API node and waits until it is ready.
func (s *installation) startNode(ctx context.Context) (*process, error) {
	p, err := startProcess(ctx, "ovation serve", s.path("serve.log"),
		append(s.environment(), "OVATION_JWT_SECRET="+s.secret, "OVATION_ADDR=127.0.0.1:0", "OVATION_DRAIN=0s"), s.binary, "serve")
	if err != nil {
		return nil, err
	}
	return p, p.awaitReady(ctx)
}

func (s *installation) startWorker(ctx context.Context) (*process, error) {
	return startProcess(ctx, "ovation work", s.path("work.log"), append(s.environment(), "OVATION_ADDR=127.0.0.1:0"), s.binary, "work")
}

func (s *installation) startFloor(ctx context.Context, binary, role string) (*process, error) {
	return startProcess(ctx, "floor "+role, s.path("floor-"+role+".log"), append(s.environment(), "GOGC=400"), binary, "-prefix="+s.prefix, role)
}

func (s *installation) path(name string) string { return filepath.Join(s.dir, name) }
