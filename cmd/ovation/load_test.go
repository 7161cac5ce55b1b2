package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ovation/internal/testing/must"
)

// clickLoad is the number of users who click at the same time, and the minimum time for
// which they click.
type clickLoad struct {
	users     int
	during    time.Duration
	killsNode bool // users continue for longer, so that each user notices the kill
}

// moderate is the load of the everyday tests.
var moderate = clickLoad{users: 100, during: time.Second}

const loadSubjects = 50

// clicker is a user who sends every request twice.
type clicker struct {
	servers []*server // a click's two requests go to servers[0] and servers[1], or both to the only server
	name    string
	random  *rand.Rand
	// known holds the last acknowledged state of each subject. maybe is the state after
	// an action that was sent, but not answered before the server was killed.
	known    [loadSubjects]clickState
	maybe    clickState
	subject  int // the subject of maybe, or -1 if there is none
	comments [loadSubjects]*pendingComment
}

// clickState is what a user did to a subject.
type clickState struct{ liked, collected, followed bool }

// click sends one action, or one request about a comment, twice concurrently and waits
// for both responses.
func (c *clicker) click() error {
	subject := c.random.IntN(loadSubjects)
	next := c.known[subject]
	var mutation string
	switch c.random.IntN(13) {
	case 0, 1:
		mutation, next.liked = "like", true
	case 2, 3:
		mutation, next.liked = "unlike", false
	case 4, 5:
		mutation, next.collected = "collect", true
	case 6, 7:
		mutation, next.collected = "uncollect", false
	case 8, 9:
		mutation, next.followed = "follow", true
	case 10, 11:
		mutation, next.followed = "unfollow", false
	default:
		return c.comment(subject)
	}
	query := fmt.Sprintf(`mutation { did: %s(input: {biz: "video", bizId: "%d"}) { changed durability interactive { freshness liked { reaction } collected { at } followed { at } } } }`, mutation, subject)
	c.subject, c.maybe = subject, next
	var twice sync.WaitGroup
	var errs [2]error
	for i := range errs {
		twice.Go(func() {
			var got struct {
				Did struct {
					Durability  string
					Interactive state
				}
			}
			errs[i] = c.servers[i%len(c.servers)].graphQL(c.name, query, &got)
			// Only LIVE replies are checked: on a busy machine, a node may be unable to
			// rely on Redis.
			if live := got.Did.Interactive.Freshness == "LIVE"; errs[i] == nil && live && got.Did.Interactive.clicked() != next {
				errs[i] = fmt.Errorf("%w: %s answered %+v, want %+v", errWrongAnswer, mutation, got.Did, next)
			}
		})
	}
	twice.Wait()
	for _, err := range errs {
		if err == nil || errors.Is(err, errWrongAnswer) {
			c.known[subject] = next // one answer acknowledges the action
		}
	}
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("%s %s: %w", c.name, mutation, err)
		}
	}
	c.subject = -1
	return nil
}

var errWrongAnswer = errors.New("wrong answer")

// state is a subject in an API response.
type state struct {
	Freshness string
	Liked     *struct{ Reaction string }
	Collected *struct{ At string }
	Followed  *struct{ At string }
}

func (s state) clicked() clickState {
	return clickState{s.Liked != nil, s.Collected != nil, s.Followed != nil}
}

// check compares what the server shows with what was acknowledged.
func (c *clicker) check(server *server) error {
	var query strings.Builder
	query.WriteString(`{ interactives(subjects: [`)
	for i := range loadSubjects {
		fmt.Fprintf(&query, `{biz: "video", bizId: "%d"} `, i)
	}
	query.WriteString(`]) { liked { reaction } collected { at } followed { at } } }`)
	var got struct{ Interactives []state }
	if err := server.graphQL(c.name, query.String(), &got); err != nil {
		return err
	}
	for i, s := range got.Interactives {
		if s.clicked() != c.known[i] && (i != c.subject || s.clicked() != c.maybe) {
			return fmt.Errorf("%s: subject %d is %+v, want %+v as acknowledged", c.name, i, s.clicked(), c.known[i])
		}
	}
	return nil
}

// run starts the load's users, who click for the duration p.during. After half of that
// time, run calls the function amid, but not before p.users requests have been answered
// or one has failed. The users continue at least until amid has returned. The result
// clicks is the number of answered requests, and errs holds the errors of the users who
// failed.
func (p clickLoad) run(amid func(), servers ...*server) (users []*clicker, clicks int64, errs []error) {
	var all sync.WaitGroup
	var mu sync.Mutex
	var count atomic.Int64
	end, half, busy := time.Now().Add(p.during), make(chan struct{}), make(chan struct{})
	begun := sync.OnceFunc(func() { close(busy) })
	if p.killsNode {
		end = end.Add(waitTimeout)
	}
	for i := range p.users {
		c := &clicker{servers: servers, name: fmt.Sprintf("user-%d", i), random: rand.New(rand.NewPCG(uint64(i), 7)), subject: -1}
		users = append(users, c)
		all.Go(func() {
			for !isClosed(half) || time.Now().Before(end) {
				if err := c.click(); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
					begun() // a failed request also ends the wait
					return
				}
				if count.Add(2) >= int64(p.users) {
					begun()
				}
			}
		})
	}
	func() {
		defer all.Wait() // even if amid ends the test
		defer close(half)
		<-time.After(p.during / 2)
		<-busy
		amid()
	}()
	client.CloseIdleConnections()
	return users, count.Load(), errs
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestDoubleClicksLeaveTheLastAcknowledgedState(t *testing.T) {
	data := t.TempDir()
	// The server runs in this process, so that the race detector covers it.
	moderate.doubleClicks(t, data, serve(t, data, "--log-level=error"))
}

func (p clickLoad) doubleClicks(t *testing.T, data string, s *server) {
	t.Helper()
	began := time.Now()
	users, clicks, errs := p.run(func() {}, s)
	for _, err := range errs {
		t.Fatal(err)
	}
	t.Logf("%d users, %d mutations, %.0f/s", len(users), clicks, float64(clicks)/time.Since(began).Seconds())
	for _, c := range users {
		must.Succeed(t, c.check(s))
	}
	checkComments(t, s, users)
	verified(t, data)
}

func TestKillUnderLoadLosesNothingAcknowledged(t *testing.T) { moderate.kill(t) }

func (p clickLoad) kill(t *testing.T) {
	t.Helper()
	p.killsNode = true // on a busy machine, the time may end before the kill
	data := t.TempDir()
	s := serveBinary(t, data, "--events")
	users, clicks, errs := p.run(s.kill, s)
	if len(errs) != len(users) {
		t.Errorf("%d of %d users lost a connection when the server was killed, want all", len(errs), len(users))
	}
	for _, err := range errs {
		if errors.Is(err, errWrongAnswer) || strings.Contains(err.Error(), "status") {
			t.Fatalf("got %v, want lost connections alone", err)
		}
	}
	t.Logf("%d users, %d mutations before the end", len(users), clicks)
	verified(t, data)
	logged(t, data)
	s = serveBinary(t, data)
	for _, c := range users {
		must.Succeed(t, c.check(s))
	}
	checkComments(t, s, users)
	verified(t, data)
}
