//go:build long

package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rabbitmq/amqp091-go"

	"ovation/internal/testing/must"
)

const (
	secret     = "a secret for tests, and long enough"
	prefix     = "faults"
	partitions = 4
)

// installation holds the services, the nodes and workers, and the clients that send the
// load.
type installation struct {
	*servers

	binary      string
	logs        string // a directory
	random      *rand.Rand
	database    *pgxpool.Pool // connected directly, without links
	nodes       [2]atomic.Pointer[process]
	workers     [2]*process
	processes   []*process // all processes that were ever started
	clients     []*client
	record      record
	pauses      pauses
	webhookURL  string
	webhook     *eventConsumer
	subscriber  *eventConsumer
	probeRounds int
}

func (s *installation) node(i int) *process { return s.nodes[i].Load() }

// currentNodes returns the current nodes.
func (s *installation) currentNodes() []*process { return []*process{s.node(0), s.node(1)} }

// allProcesses returns the current nodes and workers.
func (s *installation) allProcesses() []*process { return append(s.currentNodes(), s.workers[:]...) }

// newInstallation starts the services, the nodes and the workers, and prepares the
// clients. It does not start the load.
func newInstallation(t *testing.T, seed uint64, clients int, start func(*testing.T) *servers) *installation {
	t.Helper()
	s := &installation{random: rand.New(rand.NewPCG(seed, 0)), record: record{violations: map[string][]string{}}}
	var err error
	s.logs, err = os.MkdirTemp("", "ovation-faults-") //nolint:usetesting // it is kept if the test fails
	must.Succeed(t, err)
	t.Cleanup(func() { s.keepLogs(t) })
	built := make(chan error, 1)
	s.binary = filepath.Join(t.TempDir(), "ovation")
	go func() {
		out, err := exec.Command("go", "build", "-o", s.binary, "../../../cmd/ovation").CombinedOutput()
		if err != nil {
			err = fmt.Errorf("build: %w\n%s", err, out)
		}
		built <- err
	}()
	s.servers = start(t)
	must.Succeed(t, <-built)
	_, err = s.run("migrate")
	must.Succeed(t, err)
	s.database, err = pgxpool.New(t.Context(), s.urls[postgres])
	must.Succeed(t, err)
	t.Cleanup(s.database.Close)
	s.startReceivers(t)
	for i := range s.workers {
		s.workers[i] = s.start(t, "work")
	}
	for i := range s.nodes {
		s.nodes[i].Store(s.start(t, "serve"))
	}
	for i := range clients {
		c := s.newClient(i, seed)
		s.clients = append(s.clients, c)
		var got struct {
			CreateFolder struct{ Folder struct{ ID string } }
		}
		must.Succeed(t, post(s.node(0), c.token, `mutation { createFolder(input: {name: "box"}) { folder { id } } }`, &got))
		c.folderID = got.CreateFolder.Folder.ID
	}
	for i := range hotSubjects / 2 {
		must.Succeed(t, declare(s.node(i%2), subject{"hot", fmt.Sprint(i)}, fmt.Sprintf("user-%d", i%followedClients)))
	}
	return s
}

// run runs ovation with args, without links, and returns its output.
func (s *installation) run(args ...string) (string, error) {
	c := exec.Command(s.binary, args...)
	c.Env = []string{"OVATION_PREFIX=" + prefix}
	for name, at := range s.urls {
		c.Env = append(c.Env, urlVariable(name)+"="+at)
	}
	out, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ovation %v: %w\n%s", args, err, out)
	}
	return string(out), nil
}

// startLoad makes all clients send requests until the function that it returns is called.
func (s *installation) startLoad() (stop func()) {
	done := make(chan struct{})
	var all sync.WaitGroup
	for _, c := range s.clients {
		all.Go(func() {
			tick := time.NewTicker(requestInterval)
			defer tick.Stop()
			for {
				c.sendRandomRequest()
				select {
				case <-tick.C:
				case <-done:
					return
				}
			}
		})
	}
	all.Go(func() { s.probeLiveness(done) })
	return func() {
		close(done)
		all.Wait()
	}
}

// measurePauses measures the machine's pauses until the function that it returns is
// called.
func (s *installation) measurePauses() (stop func()) {
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { s.pauses.measure(done) })
	return func() {
		close(done)
		running.Wait()
	}
}

// requestInterval is the time from the start of one client request to the start of the
// same client's next request, unless the first request takes longer.
const requestInterval = 30 * time.Millisecond

// runFor waits while the load continues.
func (s *installation) runFor(d time.Duration) { <-time.After(d) }

// awaitRecovery waits until the installation has recovered without help, and records the
// time that this took. The installation has recovered when all processes are ready and
// the following succeed through each node: a like that is queued and persisted, a
// comment, a message, a declaration of an author, and a read from the database.
func (s *installation) awaitRecovery(t *testing.T) {
	t.Helper()
	began := time.Now()
	fault := s.currentPhase()
	s.enterPhase("after it", allowances{reconnecting: true})
	s.probeRounds++
	for i, node := range s.currentNodes() {
		id := fmt.Sprintf("%d-%d", s.probeRounds, i)
		query := fmt.Sprintf(`mutation { like(input: {biz: "probe", bizId: %q}) { durability } }`, id)
		tries := 0
		awaitCondition(t, fmt.Sprintf("after %s a like over %s is queued", fault.name, node.name), func() bool {
			tries++
			var got struct{ Like struct{ Durability string } }
			// Each attempt is by a different user, because a repeated like changes
			// nothing.
			err := post(node, tokenOf(fmt.Sprintf("probe-%d", tries)), query, &got)
			return err == nil && got.Like.Durability == "QUEUED"
		})
		comment := fmt.Sprintf(`mutation { addComment(input: {biz: "probe", bizId: %[1]q, text: "probe", requestId: %[1]q}) { comment { id } } }`, id)
		awaitCondition(t, fmt.Sprintf("after %s %s adds a comment", fault.name, node.name), func() bool {
			return post(node, tokenOf("probe"), comment, &struct{}{}) == nil
		})
		message := fmt.Sprintf(`mutation { sendMessage(input: {to: "probed", text: %[1]q, requestId: %[1]q}) { message { id } } }`, "message "+id)
		awaitCondition(t, fmt.Sprintf("after %s %s sends a message", fault.name, node.name), func() bool {
			return post(node, tokenOf("probe"), message, &struct{}{}) == nil
		})
		awaitCondition(t, fmt.Sprintf("after %s %s declares an author", fault.name, node.name), func() bool {
			return declare(node, subject{"hot", fmt.Sprint((2*s.probeRounds + i) % hotSubjects)}, fmt.Sprintf("user-%d", s.probeRounds%followedClients)) == nil
		})
		awaitCondition(t, fmt.Sprintf("after %s %s reads from the database", fault.name, node.name), func() bool {
			var got struct{ Viewer struct{ UserID string } }
			return post(node, tokenOf("probe"), viewerLikesQuery, &got) == nil
		})
		awaitCondition(t, fmt.Sprintf("after %s the like is persisted", fault.name), func() bool {
			var count int64
			err := s.database.QueryRow(t.Context(), `SELECT like_count FROM interactive WHERE biz = 'probe' AND biz_id = $1`, id).Scan(&count)
			return err == nil && count > 0
		})
	}
	for _, p := range s.allProcesses() {
		awaitCondition(t, fmt.Sprintf("after %s %s is ready", fault.name, p.name), func() bool { return p.status("/readyz") == http.StatusOK })
	}
	s.updatePhase(func(*phase) { fault.recoveryTime = time.Since(began) })
	s.enterPhase("quiet", allowances{})
}

// checkPersisted compares a client's expectation with the database, if the database is
// available. When a mutation that clears a reaction bypasses the queue, it may be
// persisted before earlier actions that are still queued. For unlike and undislike, the
// check therefore proves only that the cleared reaction is not stored.
func (s *installation) checkPersisted(c *client, sub subject, d clientAction) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	reaction, folder, follow := int16(0), "", int16(0)
	err := s.database.QueryRow(ctx, `
		SELECT coalesce((SELECT state FROM user_reaction WHERE tenant = 'default' AND user_id = $1 AND biz = $2 AND biz_id = $3), 0),
		       coalesce((SELECT state FROM user_collection WHERE tenant = 'default' AND user_id = $1 AND biz = $2 AND biz_id = $3), ''),
		       coalesce((SELECT state FROM user_follow WHERE tenant = 'default' AND user_id = $1 AND biz = $2 AND biz_id = $3), 0)`,
		c.name, sub.biz, sub.id).Scan(&reaction, &folder, &follow)
	if err != nil {
		return // the database is unavailable
	}
	known := c.expected[sub]
	is := known.reaction.has(reactionOf(reaction))
	switch d.mutation {
	case "unlike":
		is = is || reactionOf(reaction) != stateLiked
	case "undislike":
		is = is || reactionOf(reaction) != stateDisliked
	case "collect", "uncollect":
		is = known.collection.has(folderOf(folder))
	case "follow", "unfollow":
		is = known.follow.has(followOf(follow))
	}
	if !is {
		s.violationf("not persisted", c, "%s of %v is PERSISTED, but the database has reaction %d, folder %q, follow %d", d.mutation, sub, reaction, folder, follow)
	}
}

func reactionOf(state int16) stateSet { return stateNone << state }

func followOf(state int16) stateSet { return stateNone << state }

func folderOf(state string) stateSet {
	switch state {
	case "":
		return stateNone
	case "default":
		return stateInDefault
	}
	return stateInFolder
}

// countQueued returns the number of messages that no worker has received from the given
// queues. The names of the queues do not include the prefix.
func (s *installation) countQueued(t *testing.T, queues ...string) int {
	t.Helper()
	connection, err := amqp091.Dial(s.urls[rabbitmq])
	must.Succeed(t, err)
	defer connection.Close()
	channel, err := connection.Channel()
	must.Succeed(t, err)
	n := 0
	for _, name := range queues {
		q, err := channel.QueueDeclarePassive(prefix+"."+name, true, false, false, false, nil)
		must.Succeed(t, err)
		n += q.Messages
	}
	return n
}

func partitionQueues() []string {
	names := make([]string, partitions)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}

// keepLogs keeps the logs of a failed run and writes its journals. Otherwise it removes
// the logs.
func (s *installation) keepLogs(t *testing.T) {
	t.Helper()
	if !t.Failed() {
		_ = os.RemoveAll(s.logs)
		return
	}
	for _, c := range s.clients {
		file, err := os.Create(filepath.Join(s.logs, c.name+".journal"))
		if err != nil {
			t.Error(err)
			return
		}
		for i := range c.journal {
			e := &c.journal[i]
			fmt.Fprintf(file, "%s %8s %s %s %v %s code=%q changed=%v %s", e.sentAt.Format("15:04:05.000000"), e.elapsed.Round(time.Microsecond), e.node, e.operation, e.subject, e.detail, e.code, e.changed, e.durability)
			if e.shown != nil {
				fmt.Fprint(file, " ", describe(e.shown))
			}
			fmt.Fprintln(file)
		}
		_ = file.Close()
	}
	t.Logf("logs and journals are in %s", s.logs)
}
