package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/worker"
	"ovation/worker/amqp"
	"ovation/worker/local"
)

func TestEachMissingPartOfTheServicesIsNamed(t *testing.T) {
	const postgres, redis, queue = "OVATION_POSTGRES_URL", "OVATION_REDIS_URL", "OVATION_RABBITMQ_URL"
	for _, c := range []struct {
		args string
		set  []string
		want []string
	}{
		{"serve", nil, []string{postgres + ", " + redis + ", " + queue, "ovation dev"}},
		{"serve", []string{postgres, redis}, []string{"set " + queue + "."}},
		{"work", []string{postgres, queue}, []string{"set " + redis + "."}},
		{"work", []string{redis, queue}, []string{"set " + postgres + "."}},
		{"serve", []string{postgres, redis, queue}, []string{"OVATION_JWT_SECRET", "OVATION_JWKS"}},
		{"dead list --limit=0", []string{queue}, []string{"--limit is 0"}},
		{"dead replay one --all", []string{queue}, []string{"--all"}},
		{"verify", []string{redis}, []string{redis + " is set", postgres + " is not"}},
		{"import x.csv", []string{queue}, []string{queue + " is set", postgres + " is not"}},
		{"dev", []string{redis}, []string{redis + " is set", "ovation serve"}},
	} {
		t.Run(c.args+" "+strings.Join(c.set, " "), func(t *testing.T) {
			var pairs []string
			for _, name := range c.set {
				pairs = append(pairs, name, "scheme://host")
			}
			call(t, environment(pairs...), strings.Fields(c.args)...).want(t, exitUsage, c.want...)
		})
	}
}

// ovation serve rejects the variables and flags that only ovation dev has.
func TestServeRejectsOptionsOfDev(t *testing.T) {
	for name, values := range map[string][2]string{"OVATION_DEV_HEADERS": {"true", "0"}, "OVATION_INSECURE_DEV_HEADERS": {"true", "false"}, "OVATION_DEMO": {"1", "0"}} {
		set := func(value string) func(string) string {
			pairs := []string{name, value}
			for _, url := range distributed {
				pairs = append(pairs, url, "scheme://host")
			}
			return environment(pairs...)
		}
		call(t, set(values[0]), "serve").want(t, exitUsage, name+" is set, but it is for ovation dev alone: unset it")
		call(t, set(values[1]), "serve").want(t, exitUsage, "a way to verify tokens") // the next check
	}
	for _, flag := range []string{"--dev-headers", "--insecure-dev-headers"} {
		call(t, environment(), "serve", flag).want(t, exitUsage, "unknown flag "+flag)
	}
}

var logLine = regexp.MustCompile(`(?m)^\{"time":.*"level":"(WARN|INFO)".*\}\n`)

func TestUnusableServicesAreNamed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const password = "surely-not-this"
	wrong := func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), password) }
	nowhere := func(u *url.URL) { u.Host = "127.0.0.1:1" }
	to := func(variable string) func(*url.URL) { // the server of another service
		return func(u *url.URL) {
			other, err := url.Parse(s.variables[variable])
			must.Succeed(t, err)
			u.Host = other.Host
		}
	}
	scheme := func(scheme string) func(*url.URL) { return func(u *url.URL) { u.Scheme = scheme } }
	path := func(path string) func(*url.URL) { return func(u *url.URL) { u.Path = path } }
	old := newOwnRedis(t, "--rename-command", "HELLO", "") // Redis 5 lacks HELLO
	for _, c := range []struct {
		name     string
		variable string
		change   func(*url.URL)
		code     int
		want     []string
	}{
		{"wrong password of Postgres", "OVATION_POSTGRES_URL", wrong, exitFailed, []string{"check the user and the password"}},
		{"Postgres unavailable", "OVATION_POSTGRES_URL", nowhere, exitFailed, []string{"127.0.0.1:1", "refused"}},
		{"not a URL of Postgres", "OVATION_POSTGRES_URL", scheme("mysql"), exitUsage, []string{"postgres://USER"}},
		{"not a Postgres server", "OVATION_POSTGRES_URL", to("OVATION_RABBITMQ_URL"), exitFailed, []string{"check that a PostgreSQL server runs there"}},
		{"no such database", "OVATION_POSTGRES_URL", path("/nowhere"), exitFailed, []string{`database "nowhere" does not exist`, "createdb"}},
		{"Postgres without TLS", "OVATION_POSTGRES_URL", func(u *url.URL) { u.RawQuery = "sslmode=require" }, exitFailed, []string{"server refused TLS connection", "sslmode"}},
		{"wrong password of Redis", "OVATION_REDIS_URL", func(u *url.URL) { u.User = url.UserPassword("default", password) }, exitFailed, []string{"WRONGPASS"}},
		{"Redis unavailable", "OVATION_REDIS_URL", nowhere, exitFailed, []string{"127.0.0.1:1", "refused"}},
		{"not a URL of Redis", "OVATION_REDIS_URL", scheme("http"), exitUsage, []string{"redis://user"}},
		{"no password of Redis", "OVATION_REDIS_URL", func(u *url.URL) { u.User = nil }, exitFailed, []string{"NOAUTH", "user, password"}},
		{"not a Redis server", "OVATION_REDIS_URL", to("OVATION_POSTGRES_URL"), exitFailed, []string{"check that Redis 6 or newer runs there"}},
		{"old Redis", "OVATION_REDIS_URL", func(u *url.URL) { u.Host, u.User = old.at, nil }, exitFailed, []string{"check that Redis 6 or newer runs there"}},
		{"no such database of Redis", "OVATION_REDIS_URL", path("/99"), exitFailed, []string{"out of range", "database"}},
		{"Redis without TLS", "OVATION_REDIS_URL", scheme("rediss"), exitFailed, []string{"redis:// or rediss://"}},
		{"wrong password of RabbitMQ", "OVATION_RABBITMQ_URL", wrong, exitFailed, []string{"password"}},
		{"RabbitMQ unavailable", "OVATION_RABBITMQ_URL", nowhere, exitFailed, []string{"127.0.0.1:1", "refused"}},
		{"not a URL of RabbitMQ", "OVATION_RABBITMQ_URL", scheme("http"), exitUsage, []string{"amqp://user"}},
		{"no such vhost", "OVATION_RABBITMQ_URL", path("/nowhere"), exitFailed, []string{"virtual host does not exist", "vhost nowhere"}},
		{"RabbitMQ without TLS", "OVATION_RABBITMQ_URL", scheme("amqps"), exitFailed, []string{"tls: first record does not look like a TLS handshake"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // some services refuse slowly
			getenv := s.getenv(c.variable, s.changed(t, c.variable, c.change))
			commands := []string{"serve --addr=127.0.0.1:0", "work --addr=127.0.0.1:0"}
			switch c.variable {
			case "OVATION_POSTGRES_URL":
				commands = append(commands, "migrate", "verify", "import -")
			case "OVATION_REDIS_URL":
				commands = append(commands, "verify", "import -")
			default:
				commands = append(commands, "dead list", "dead replay --all")
			}
			secrets := append(s.passwords(t), password)
			var calls sync.WaitGroup
			defer calls.Wait()
			for _, command := range commands {
				calls.Go(func() {
					got := call(t, getenv, strings.Fields(command)...)
					got.want(t, c.code, slices.Concat(c.want, []string{c.variable})...)
					// On a busy machine, the log may also say that another service is slow.
					if text := logLine.ReplaceAllString(got.stderr, ""); strings.Count(text, "\n") > 1 {
						t.Errorf("%s prints more than one line:\n%s", command, text)
					}
					for _, secret := range secrets {
						if strings.Contains(got.stdout+got.stderr, secret) {
							t.Errorf("%s prints a password", command)
						}
					}
				})
			}
		})
	}
}

func TestDatabaseThatIsNotMigratedSaysSo(t *testing.T) {
	t.Parallel()
	s := emptySite(t)
	for _, command := range []string{"serve --addr=127.0.0.1:0", "work --addr=127.0.0.1:0", "verify", "import -"} {
		s.run(t, strings.Fields(command)...).want(t, exitFailed, "run: ovation migrate")
	}
	alone := environment("OVATION_POSTGRES_URL", s.variables["OVATION_POSTGRES_URL"]) // migrate needs no other variable
	call(t, alone, "migrate").want(t, 0, "are up to date")
	call(t, alone, "migrate").want(t, 0, "are up to date")
	s.run(t, "verify").want(t, 0, "Nothing was compared: there are no counts in the database", "Nothing was compared: there are no counts and states in Redis under the prefix")
}

func TestVerifyComparesRedisWithTheDatabase(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	node := s.start(t, "serve")
	s.start(t, "work")
	node.like(t, "alice", "movie")
	await.That(t, "the like is stored and counted", func() bool { return s.likes(t) == 1 })
	node.seesMovie(t, "alice") // the movie is in every cache now
	await.That(t, "Redis has what the database has", func() bool { return s.run(t, "verify").code == 0 })

	// The counts and the state are changed in the database alone, as if Redis had missed
	// the changes.
	s.sql(t, "UPDATE user_reaction SET state = 2; UPDATE interactive SET like_count = 0, dislike_count = 1; UPDATE user_totals SET likes = 0")
	within := fmt.Sprintf("%s:%d", s.prefix, s.queryInt(t, "SELECT epoch FROM mirror"))
	wrong := []string{`Redis, key "` + within + `:c:{default:video:movie}": holds `, `Redis, key "` + within + `:w:{default:u:alice}:video", field "`}
	found := s.run(t, "verify")
	found.want(t, exitFailed, append(wrong, "0 differences; ", "2 differences in Redis; ", "--repair")...)
	s.run(t, "verify", "--repair").want(t, 0, append(wrong, "0 differences; ", "2 differences in Redis, all repaired; ")...)
	await.That(t, "the dropped entries are filled again correctly", func() bool {
		must.Succeed(t, node.graphQL("alice", movieQuery, nil))
		return strings.Contains(s.run(t, "verify").stdout, "0 differences in Redis; ")
	})
	call(t, s.getenv("OVATION_REDIS_URL", ""), "verify").want(t, 0, "Redis was not compared: set OVATION_REDIS_URL")
}

// messageOf returns a message with one like.
func messageOf(id string) storage.Message {
	return storage.Message{ID: id, Actions: []storage.Action{{
		User:    storage.User{Tenant: storage.DefaultTenant, UserID: "alice"},
		Subject: storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: "movie"},
		Kind:    storage.KindReaction, Reaction: storage.Like, Version: 1,
	}}}
}

// deadLetter publishes one message for each id, with one like in each message, and
// dead-letters these messages for the given reason.
func (s *site) deadLetter(t *testing.T, reason string, ids ...string) {
	t.Helper()
	queue, err := amqp.Open(t.Context(), amqp.Options{URL: s.variables["OVATION_RABBITMQ_URL"], Prefix: s.prefix, Logger: discardLog})
	must.Succeed(t, err)
	defer queue.Close()
	deliveries, err := queue.Consume(t.Context())
	must.Succeed(t, err)
	for _, id := range ids {
		_, err = queue.Publish(t.Context(), 0, messageOf(id))
		must.Succeed(t, err)
		must.Succeed(t, (<-deliveries).Reject(errors.New(reason)))
	}
}

func TestDeadLettersAreListedReplayedAndDropped(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.run(t, "dead", "list").want(t, exitFailed, "the broker has no queue "+s.prefix+".dead")
	s.deadLetter(t, "the disk burns") // creates the queues only
	s.run(t, "dead", "list").want(t, 0, "There are no dead letters")
	s.deadLetter(t, "the disk burns", "one", "two", "three")
	s.run(t, "dead", "list").want(t, 0, "one", "two", "three", "  the disk burns", s.prefix+".0")
	s.run(t, "dead", "list", "--limit=2").want(t, 0, "one", "two", "There are more")
	s.run(t, "dead", "show", "two").want(t, 0, "the disk burns", `tenant "default", user "alice", video "movie": like`)
	for _, args := range []string{"show four", "replay four", "drop four"} {
		s.run(t, append([]string{"dead"}, strings.Fields(args)...)...).want(t, exitFailed, "there is no dead letter four")
	}
	alone := *s
	alone.variables = maps.Clone(s.variables)
	delete(alone.variables, "OVATION_REDIS_URL")
	alone.run(t, "dead", "drop", "three").want(t, 0, "1 message dropped", "with OVATION_POSTGRES_URL and OVATION_REDIS_URL set")
	s.deadLetter(t, "the disk burns", "three")
	s.run(t, "dead", "drop", "two").want(t, 0, "1 message dropped")
	s.run(t, "dead", "show", "two").want(t, exitFailed, "there is no dead letter two")

	s.start(t, "work")
	s.run(t, "work", "--addr=127.0.0.1:0", "--partitions=8").want(t, exitFailed, "the queues do not have 8 partitions")
	s.run(t, "dead", "replay", "one").want(t, 0, "1 message replayed")
	await.That(t, "the replayed like is counted", func() bool { return s.likes(t) == 1 })
	s.run(t, "dead", "replay", "--all").want(t, 0, "1 message replayed")
	s.run(t, "dead", "list").want(t, 0, "There are no dead letters")

	s.withQueues(t, func(channel *amqp091.Channel) error { // the worker cannot decode this message
		return channel.PublishWithContext(t.Context(), "", s.prefix+".3", true, false, amqp091.Publishing{MessageId: "strange", Body: []byte("\xffnonsense")})
	})
	await.That(t, "the message is dead-lettered", func() bool { return strings.Contains(s.run(t, "dead", "list").stdout, "strange") })
	s.run(t, "dead", "show", "strange").want(t, 0, "unreadable", "nonsense")
	s.run(t, "dead", "replay", "--all").want(t, exitFailed, "0 messages replayed", "1 message cannot be decoded and remain dead letters")
	s.run(t, "dead", "drop", "strange").want(t, 0, "1 message dropped")
}

// flakyConsumer is a queue that delivers nothing. It is lost after the first and the
// fifth call to Consume, and unavailable during the calls in between.
type flakyConsumer struct{ tries int }

func (u *flakyConsumer) Consume(ctx context.Context) (<-chan worker.Delivery, error) {
	deliveries := make(chan worker.Delivery)
	switch u.tries++; u.tries {
	case 1, 5:
		close(deliveries)
	case 2, 3, 4:
		return nil, storage.ErrUnavailable
	default:
		context.AfterFunc(ctx, func() { close(deliveries) })
	}
	return deliveries, nil
}

func TestEachLossOfTheQueueIsLoggedOnce(t *testing.T) {
	store, err := dataFlag{t.TempDir()}.open(t.Context(), true, storage.EventOptions{})
	must.Succeed(t, err)
	defer store.Close()
	said := newBannerWriter()
	consumer := &watchedConsumer{Consumer: &flakyConsumer{}, log: slog.New(slog.NewTextHandler(said, nil))}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		supervise(ctx, worker.New(consumer, store, local.Mirror{Reader: store}, worker.Options{Logger: discardLog}), consumer, func() error { return nil })
	})
	await.That(t, "the queue is available after the second loss", func() bool { return strings.Count(said.String(), "is connected to the queue again") == 2 })
	stop()
	running.Wait()
	if n := strings.Count(said.String(), "has lost its connection to the queue"); n != 2 {
		t.Errorf("%d log lines about a lost queue, want 2:\n%s", n, said)
	}
}

func TestPacedPersisterTakesItsTime(t *testing.T) {
	store, err := dataFlag{t.TempDir()}.open(t.Context(), true, storage.EventOptions{})
	must.Succeed(t, err)
	defer store.Close()
	p := &rateLimited{Persister: store, perSecond: 20}
	began := time.Now()
	for _, id := range []string{"1", "2", "3", "4", "5"} { // each call waits for the time of the actions before it
		_, err := p.Persist(t.Context(), []storage.Message{messageOf(id)}, nil)
		must.Succeed(t, err)
	}
	if took := time.Since(began); took < 200*time.Millisecond {
		t.Errorf("five actions at 20 a second took %v, want at least 200 ms", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Persist(ctx, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Persist with a cancelled context = %v, want %v", err, context.Canceled)
	}
}
