package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rabbitmq/amqp091-go"
	"github.com/redis/rueidis"

	"ovation/api/viewer"
	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/storage"
)

const testSecret = "a secret for tests, and long enough"

// waitTimeout is how long a test waits for an event that must occur.
const waitTimeout = 2 * time.Minute

// site is one test's installation, on servers that all tests share.
type site struct {
	variables map[string]string
	prefix    string
}

// newSite creates a site with tables, and removes it when the test ends.
func newSite(tb testing.TB) *site {
	tb.Helper()
	s := emptySite(tb)
	s.runBinary(tb, "migrate").want(tb, 0, "are up to date") // the built binary has no race detector, which would make migrate slow
	return s
}

// runBinary runs a command in a process of its own until it ends.
func (s *site) runBinary(tb testing.TB, args ...string) programResult {
	tb.Helper()
	return runWith(tb, s.environ(), args...)
}

// environ returns the environment of a process of this site.
func (s *site) environ() (environ []string) {
	for name, value := range s.variables {
		environ = append(environ, name+"="+value)
	}
	return environ
}

// emptySite creates a site without tables, and removes it when the test ends.
func emptySite(tb testing.TB) *site {
	tb.Helper()
	s := &site{prefix: "test-" + strings.ToLower(rand.Text()[:12]), variables: map[string]string{"OVATION_JWT_SECRET": testSecret, "OVATION_DRAIN": "0s"}}
	for _, limit := range []string{"OVATION_RATE_PER_USER", "OVATION_RATE_PER_ADDRESS", "OVATION_RATE_PER_SOCKET", "OVATION_MESSAGES_PER_USER"} {
		s.variables[limit] = "0" // a few users, all at one address, send requests as fast as they can
	}
	for _, name := range distributed {
		switch s.variables[name] = os.Getenv(name); {
		case s.variables[name] != "":
		case os.Getenv("CI") != "":
			tb.Fatal(name + " is not set: run make test, or scripts/services run go test PACKAGE")
		default:
			tb.Skip(name + " is not set: run make test, or scripts/services run go test PACKAGE")
		}
	}
	s.variables["OVATION_PREFIX"] = s.prefix
	tb.Cleanup(func() { s.clean(tb) })
	s.sql(tb, fmt.Sprintf("CREATE SCHEMA %q", s.prefix))
	s.variables["OVATION_POSTGRES_URL"] = s.changed(tb, "OVATION_POSTGRES_URL", func(u *url.URL) {
		query := u.Query()
		query.Set("search_path", s.prefix)
		u.RawQuery = query.Encode()
	})
	return s
}

// changed parses the URL in the site's variable with the given name, applies the function
// change to the URL, and returns the result.
func (s *site) changed(tb testing.TB, name string, change func(*url.URL)) string {
	tb.Helper()
	u, err := url.Parse(s.variables[name])
	must.Succeed(tb, err)
	change(u)
	return u.String()
}

// mostPartitions is the largest number of partitions in any test.
const mostPartitions = 12

// clean removes everything that belongs to the site from the servers.
func (s *site) clean(tb testing.TB) {
	tb.Helper()
	s.sql(tb, fmt.Sprintf("DROP SCHEMA %q CASCADE", s.prefix))
	s.forget(tb)
	s.withQueues(tb, func(channel *amqp091.Channel) error {
		names := []string{"dead", "partitions", "open", "publishers", "workers", "covers"}
		for _, name := range names[:5] {
			names = append(names, "covers."+name)
		}
		for partition := range mostPartitions {
			names = append(names, strconv.Itoa(partition))
		}
		for _, name := range names {
			if _, err := channel.QueueDelete(s.prefix+"."+name, false, false, false); err != nil {
				return err
			}
		}
		return channel.ExchangeDelete(s.prefix+".events", false, false)
	})
}

// sql runs a statement.
func (s *site) sql(tb testing.TB, statement string) {
	tb.Helper()
	ctx := context.Background() // the context of the test has ended when cleanup runs
	c, err := pgx.Connect(ctx, s.variables["OVATION_POSTGRES_URL"])
	must.Succeed(tb, err)
	defer c.Close(ctx)
	_, err = c.Exec(ctx, statement)
	must.Succeed(tb, err)
}

// forget removes the site's keys from Redis.
func (s *site) forget(tb testing.TB) {
	tb.Helper()
	ctx := context.Background()
	options, err := rueidis.ParseURL(s.variables["OVATION_REDIS_URL"])
	must.Succeed(tb, err)
	options.DisableCache = true
	c, err := rueidis.NewClient(options)
	must.Succeed(tb, err)
	defer c.Close()
	for cursor := uint64(0); ; {
		page, err := c.Do(ctx, c.B().Scan().Cursor(cursor).Match(s.prefix+":*").Count(1000).Build()).AsScanEntry()
		must.Succeed(tb, err)
		for _, key := range page.Elements {
			must.Succeed(tb, c.Do(ctx, c.B().Del().Key(key).Build()).Error())
		}
		if cursor = page.Cursor; cursor == 0 {
			return
		}
	}
}

// withQueues opens a RabbitMQ channel and passes it to the function talk.
func (s *site) withQueues(tb testing.TB, talk func(*amqp091.Channel) error) {
	tb.Helper()
	connection, err := amqp091.Dial(s.variables["OVATION_RABBITMQ_URL"])
	must.Succeed(tb, err)
	defer connection.Close()
	channel, err := connection.Channel()
	must.Succeed(tb, err)
	must.Succeed(tb, talk(channel))
}

// getenv returns a function that looks up the environment variables of the site's
// programs. The arguments are further variables, given as alternating names and values,
// which take precedence.
func (s *site) getenv(more ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(more); i += 2 {
			if more[i] == name {
				return more[i+1]
			}
		}
		return s.variables[name]
	}
}

// run runs a command in this process until it ends.
func (s *site) run(tb testing.TB, args ...string) programResult {
	tb.Helper()
	return call(tb, s.getenv(), args...)
}

// as returns headers with a token for the user, or nil if user is "".
func as(user string) map[string]string {
	if user == "" {
		return nil
	}
	token, err := viewer.Sign([]byte(testSecret), storage.User{Tenant: storage.DefaultTenant, UserID: user}, time.Hour)
	if err != nil {
		panic(err) // the tests use valid ids only
	}
	return bearer(token)
}

var serves = regexp.MustCompile(`http://[0-9.:]+`)

// start runs the given command ("serve" or "work") in a process of its own and waits
// until the process is ready.
func (s *site) start(t *testing.T, command string) *server {
	t.Helper()
	c := exec.Command(binary, command, "--addr=127.0.0.1:0", "--log-level=warn")
	c.Env = s.environ()
	stdout, err := c.StdoutPipe()
	must.Succeed(t, err)
	stderr := newBannerWriter()
	c.Stderr = stderr
	must.Succeed(t, c.Start())
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	over := make(chan struct{})
	go func() {
		_ = c.Wait() // the exit code is checked instead
		close(over)
	}()
	n := &server{
		url: serves.FindString(line), banner: line, as: as, ended: over, log: stderr.String,
		pid:    c.Process.Pid,
		signal: func() { _ = c.Process.Signal(syscall.SIGTERM) }, // unless it has ended
		kill: func() {
			_ = c.Process.Kill()
			<-over
		},
	}
	n.stop = sync.OnceValue(func() programResult {
		n.signal()
		<-over
		return programResult{command, c.ProcessState.ExitCode(), line, stderr.String()}
	})
	t.Cleanup(func() { n.stop() })
	if n.url == "" {
		t.Fatalf("%s printed no address: %s%s", command, line, n.stop().stderr)
	}
	await.That(t, command+" is ready", func() bool { return n.ready() == 200 })
	return n
}

// ready returns the status of /readyz, or 0 if there is no answer.
func (s *server) ready() int {
	response, err := client.Get(s.url + "/readyz")
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// stored returns the states in the database, first by user and then by subject.
func (s *site) stored(t *testing.T) map[string]map[string]clickState {
	t.Helper()
	c, err := pgx.Connect(t.Context(), s.variables["OVATION_POSTGRES_URL"])
	must.Succeed(t, err)
	defer c.Close(context.Background())
	rows, err := c.Query(t.Context(), `
		SELECT user_id, biz_id, coalesce(r.state, 0) = 1, coalesce(c.state, '') <> '', coalesce(f.state, 0) = 1
		FROM user_reaction r
		FULL JOIN user_collection c USING (tenant, user_id, biz, biz_id)
		FULL JOIN user_follow f USING (tenant, user_id, biz, biz_id)`)
	must.Succeed(t, err)
	defer rows.Close()
	out := map[string]map[string]clickState{}
	for rows.Next() {
		var user, subject string
		var did clickState
		must.Succeed(t, rows.Scan(&user, &subject, &did.liked, &did.collected, &did.followed))
		if out[user] == nil {
			out[user] = map[string]clickState{}
		}
		out[user][subject] = did
	}
	must.Succeed(t, rows.Err())
	return out
}

// consistent waits until ovation verify finds no difference.
func (s *site) consistent(t *testing.T) {
	t.Helper()
	await.That(t, "ovation verify finds no difference", func() bool {
		got := s.run(t, "verify")
		return got.code == 0 && strings.Contains(got.stdout, "0 differences; ")
	})
}

// settled waits until the database contains everything that was acknowledged. It then
// checks that the nodes show the same, and that all counts are right.
func (s *site) settled(t *testing.T, users []*clicker, nodes ...*server) {
	t.Helper()
	await.That(t, "the database has what was acknowledged", func() bool {
		stored := s.stored(t)
		for _, c := range users {
			for i, known := range c.known {
				did := stored[c.name][fmt.Sprint(i)]
				if did != known && (i != c.subject || did != c.maybe) {
					return false
				}
			}
		}
		return true
	})
	s.run(t, "verify").want(t, 0, "0 differences; ", "Redis")
	for _, node := range nodes {
		for _, c := range users {
			must.Succeed(t, c.check(node))
		}
		checkComments(t, node, users)
		s.showsTheCounts(t, node)
	}
	s.run(t, "verify").want(t, 0, "0 differences; ")
}

// showsTheCounts waits until the total counts that a node shows equal those in the
// database.
func (s *site) showsTheCounts(t *testing.T, node *server) {
	t.Helper()
	var likes, collections, follows int
	for _, subjects := range s.stored(t) {
		for _, did := range subjects {
			likes += count(did.liked)
			collections += count(did.collected)
			follows += count(did.followed)
		}
	}
	var query strings.Builder
	query.WriteString(`{ interactives(subjects: [`)
	for i := range loadSubjects {
		fmt.Fprintf(&query, `{biz: "video", bizId: "%d"} `, i)
	}
	query.WriteString(`]) { likeCount collectCount followerCount } }`)
	await.That(t, "the node shows the counts of the database", func() bool {
		var got struct {
			Interactives []struct{ LikeCount, CollectCount, FollowerCount int }
		}
		must.Succeed(t, node.graphQL("", query.String(), &got))
		gotLikes, gotCollections, gotFollows := 0, 0, 0
		for _, i := range got.Interactives {
			gotLikes += i.LikeCount
			gotCollections += i.CollectCount
			gotFollows += i.FollowerCount
		}
		return gotLikes == likes && gotCollections == collections && gotFollows == follows
	})
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
