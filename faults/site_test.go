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
)

const (
	secret     = "a secret for tests, and long enough"
	prefix     = "faults"
	partitions = 4
)

// site is a whole installation under load.
type site struct {
	*servers

	binary    string
	logs      string // a folder
	random    *rand.Rand
	database  *pgxpool.Pool // connected directly, without links
	nodes     [2]atomic.Pointer[process]
	workers   [2]*process
	processes []*process // all that were ever started
	clients   []*client
	record    record
	pauses    pauses
	probed    int
}

func (s *site) node(i int) *process { return s.nodes[i].Load() }

// currentNodes returns the present nodes, all the present nodes and workers.
func (s *site) currentNodes() []*process { return []*process{s.node(0), s.node(1)} }
func (s *site) all() []*process          { return append(s.currentNodes(), s.workers[:]...) }

// newSite starts everything but the load.
func newSite(t *testing.T, seed uint64, clients int, start func(*testing.T) *servers) *site {
	t.Helper()
	s := &site{random: rand.New(rand.NewPCG(seed, 0)), record: record{violations: map[string][]string{}}}
	var err error
	s.logs, err = os.MkdirTemp("", "ovation-faults-") //nolint:usetesting // it is kept if the test fails
	must(t, err)
	t.Cleanup(func() { s.keepLogs(t) })
	built := make(chan error, 1)
	s.binary = filepath.Join(t.TempDir(), "ovation")
	go func() {
		out, err := exec.Command("go", "build", "-o", s.binary, "../cmd/ovation").CombinedOutput()
		if err != nil {
			err = fmt.Errorf("build: %w\n%s", err, out)
		}
		built <- err
	}()
	s.servers = start(t)
	must(t, <-built)
	_, err = s.run("migrate")
	must(t, err)
	s.database, err = pgxpool.New(t.Context(), s.urls[postgres])
	must(t, err)
	t.Cleanup(s.database.Close)
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
		must(t, post(s.node(0), c.token, `mutation { createFolder(input: {name: "box"}) { folder { id } } }`, &got))
		c.box = got.CreateFolder.Folder.ID
	}
	for i := range hotSubjects / 2 {
		must(t, declare(s.node(i%2), subject{"hot", fmt.Sprint(i)}, fmt.Sprintf("user-%d", i%people)))
	}
	return s
}

// run runs a command of ovation, without links.
func (s *site) run(args ...string) (string, error) {
	c := exec.Command(s.binary, args...)
	c.Env = []string{"OVATION_PREFIX=" + prefix}
	for name, at := range s.urls {
		c.Env = append(c.Env, variable(name)+"="+at)
	}
	out, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ovation %v: %w\n%s", args, err, out)
	}
	return string(out), nil
}

// load lets all clients act until stop is called.
func (s *site) load() (stop func()) {
	done := make(chan struct{})
	var all sync.WaitGroup
	for _, c := range s.clients {
		all.Go(func() {
			tick := time.NewTicker(pace)
			defer tick.Stop()
			for {
				c.act()
				select {
				case <-tick.C:
				case <-done:
					return
				}
			}
		})
	}
	all.Go(func() { s.probeLiveness(done) })
	all.Go(func() { s.pauses.measure(done) })
	return func() {
		close(done)
		all.Wait()
	}
}

// pace is the time from one request of a client to the next, unless that one
// takes longer.
const pace = 30 * time.Millisecond

// during waits for a while, during which the load goes on.
func (s *site) during(d time.Duration) { <-time.After(d) }

// recover waits until everything works again by itself, and records how long that took:
// on each node, a mutation is confirmed by the queue and persisted by a worker, and the
// node adds a comment, sends a message, declares an author and reads from the database.
func (s *site) recover(t *testing.T) {
	t.Helper()
	began := time.Now()
	fault := s.currentPhase()
	s.enter("after it", rules{hiccup: true})
	s.probed++
	for i, node := range s.currentNodes() {
		id := fmt.Sprintf("%d-%d", s.probed, i)
		query := fmt.Sprintf(`mutation { like(input: {biz: "probe", bizId: %q}) { durability } }`, id)
		tries := 0
		eventually(t, fmt.Sprintf("after %s a like over %s is queued", fault.name, node.name), waitTimeout, func() bool {
			tries++
			var got struct{ Like struct{ Durability string } }
			// Each try is by another user, because a second like changes nothing.
			err := post(node, tokenOf(fmt.Sprintf("probe-%d", tries)), query, &got)
			return err == nil && got.Like.Durability == "QUEUED"
		})
		comment := fmt.Sprintf(`mutation { addComment(input: {biz: "probe", bizId: %[1]q, text: "probe", requestId: %[1]q}) { comment { id } } }`, id)
		eventually(t, fmt.Sprintf("after %s %s adds a comment", fault.name, node.name), waitTimeout, func() bool {
			return post(node, tokenOf("probe"), comment, &struct{}{}) == nil
		})
		message := fmt.Sprintf(`mutation { sendMessage(input: {to: "probed", text: %[1]q, requestId: %[1]q}) { message { id } } }`, "message "+id)
		eventually(t, fmt.Sprintf("after %s %s sends a message", fault.name, node.name), waitTimeout, func() bool {
			return post(node, tokenOf("probe"), message, &struct{}{}) == nil
		})
		eventually(t, fmt.Sprintf("after %s %s declares an author", fault.name, node.name), waitTimeout, func() bool {
			return declare(node, subject{"hot", fmt.Sprint((2*s.probed + i) % hotSubjects)}, fmt.Sprintf("user-%d", s.probed%people)) == nil
		})
		eventually(t, fmt.Sprintf("after %s %s reads from the database", fault.name, node.name), waitTimeout, func() bool {
			var got struct{ Viewer struct{ UserID string } }
			return post(node, tokenOf("probe"), likesOfViewer, &got) == nil
		})
		eventually(t, fmt.Sprintf("after %s the like is persisted", fault.name), waitTimeout, func() bool {
			var count int64
			err := s.database.QueryRow(t.Context(), `SELECT like_count FROM interactive WHERE biz = 'probe' AND biz_id = $1`, id).Scan(&count)
			return err == nil && count > 0
		})
	}
	for _, p := range s.all() {
		eventually(t, fmt.Sprintf("after %s %s is ready", fault.name, p.name), waitTimeout, func() bool { return p.get("/readyz") == http.StatusOK })
	}
	s.tally(func(*phase) { fault.recovery = time.Since(began) })
	s.enter("quiet", rules{})
}

// checkPersisted compares a reply with the database, if that answers. A clear that
// bypassed the queue may be persisted before actions that are still queued: it only
// proves that the cleared reaction is not stored.
func (s *site) checkPersisted(c *client, sub subject, d action) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	reaction, folder, follow := int16(0), "", int16(0)
	err := s.database.QueryRow(ctx, `
		SELECT coalesce((SELECT state FROM user_reaction WHERE tenant = 'default' AND user_id = $1 AND biz = $2 AND biz_id = $3), 0),
		       coalesce((SELECT state FROM user_collection WHERE tenant = 'default' AND user_id = $1 AND biz = $2 AND biz_id = $3), ''),
		       coalesce((SELECT state FROM user_follow WHERE tenant = 'default' AND user_id = $1 AND biz = $2 AND biz_id = $3), 0)`,
		c.name, sub.biz, sub.id).Scan(&reaction, &folder, &follow)
	if err != nil {
		return // it is being restarted
	}
	known := c.known[sub]
	is := known.reaction.has(reactionOf(reaction))
	switch d.mutation {
	case "unlike":
		is = is || reactionOf(reaction) != like
	case "undislike":
		is = is || reactionOf(reaction) != dislike
	case "collect", "uncollect":
		is = known.collected.has(folderOf(folder))
	case "follow", "unfollow":
		is = known.followed.has(followOf(follow))
	}
	if !is {
		s.violationf("not persisted", c, "%s of %v is PERSISTED, and the database holds reaction %d, folder %q, follow %d", d.mutation, sub, reaction, folder, follow)
	}
}

func reactionOf(state int16) set { return none << state }

func followOf(state int16) set { return none << state }

func folderOf(state string) set {
	switch state {
	case "":
		return none
	case "default":
		return inDefault
	}
	return inBox
}

// waiting returns the number of messages that wait in the queues.
func (s *site) waiting(t *testing.T, queues ...string) int {
	t.Helper()
	connection, err := amqp091.Dial(s.urls[rabbitmq])
	must(t, err)
	defer connection.Close()
	channel, err := connection.Channel()
	must(t, err)
	n := 0
	for _, name := range queues {
		q, err := channel.QueueDeclarePassive(prefix+"."+name, true, false, false, false, nil)
		must(t, err)
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

// keepLogs keeps the logs and writes the journals of a run that failed.
func (s *site) keepLogs(t *testing.T) {
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
			fmt.Fprintf(file, "%s %8s %s %s %v %s code=%q changed=%v %s", e.at.Format("15:04:05.000000"), e.took.Round(time.Microsecond), e.node, e.what, e.subject, e.about, e.code, e.changed, e.durability)
			if e.shown != nil {
				fmt.Fprint(file, " ", describe(e.shown))
			}
			fmt.Fprintln(file)
		}
		_ = file.Close()
	}
	t.Logf("logs and journals are in %s", s.logs)
}
