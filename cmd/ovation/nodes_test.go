package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

const likeMovie = `mutation { like(input: {biz: "video", bizId: "movie"}) { changed durability interactive { likeCount } } }`

// likeReply is the reply to likeMovie.
type likeReply struct {
	Like struct {
		Changed     *bool
		Durability  string
		Interactive struct{ LikeCount int }
	}
}

// unchanged reports whether a mutation is known to have changed nothing.
func unchanged(changed *bool) bool { return changed != nil && !*changed }

const movieQuery = `{ interactive(biz: "video", bizId: "movie") { likeCount freshness liked { reaction } } }`

// movieReply is the reply to movieQuery.
type movieReply struct {
	Interactive struct {
		LikeCount int
		Freshness string
		Liked     *struct{ Reaction string }
	}
}

// seesMovie returns the first LIVE reply to movieQuery. A node answers STALE from the
// database, and fills no cache, if Redis takes too long.
func (s *server) seesMovie(t *testing.T, user string) (seen movieReply) {
	t.Helper()
	await.That(t, "the movie is shown LIVE", func() bool {
		seen = movieReply{}
		must.Succeed(t, s.graphQL(user, movieQuery, &seen))
		return seen.Interactive.Freshness == "LIVE"
	})
	return seen
}

func TestKilledWorkerLosesNothing(t *testing.T) {
	t.Parallel()
	moderate.killedWorker(t)
}

func (p clickLoad) killedWorker(t *testing.T) {
	t.Helper()
	s := newSite(t)
	s.variables["OVATION_EVENTS"] = "true"
	a, b := s.start(t, "serve"), s.start(t, "serve")
	first := s.start(t, "work")
	s.start(t, "work")
	users, clicks, errs := p.run(first.kill, a, b)
	for _, err := range errs {
		t.Fatal(err)
	}
	t.Logf("%d users, %d mutations", len(users), clicks)
	s.settled(t, users, a, b)
	s.logged(t)
}

func TestKilledNodeLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	moderate.killedNode(t)
}

func (p clickLoad) killedNode(t *testing.T) {
	t.Helper()
	s := newSite(t)
	s.variables["OVATION_EVENTS"] = "true"
	a, b := s.start(t, "serve"), s.start(t, "serve")
	s.start(t, "work")
	p.killsNode = true // on a busy machine, some users reach the dead node late
	users, clicks, errs := p.run(a.kill, a, b)
	if len(errs) != len(users) {
		t.Errorf("%d of %d users lost a connection when the node was killed, want all", len(errs), len(users))
	}
	for _, err := range errs {
		if errors.Is(err, errWrongAnswer) || strings.Contains(err.Error(), "status") {
			t.Fatalf("got %v, want lost connections alone", err)
		}
	}
	t.Logf("%d users, %d mutations", len(users), clicks)
	s.settled(t, users, b)
	s.logged(t)
}

// proxy forwards connections to a server unless the proxy is down.
type proxy struct {
	to       string
	listener net.Listener
	wait     sync.WaitGroup
	gate     sync.RWMutex // locked by hang while no data passes

	mu   sync.Mutex
	down bool
	open map[net.Conn]bool
}

// newProxy starts a proxy in front of the server at the address in to.
func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	p := &proxy{to: to, listener: listener, open: map[net.Conn]bool{}}
	p.wait.Go(p.accept)
	t.Cleanup(func() {
		p.set(true)
		_ = listener.Close()
		p.wait.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.to)
		if err != nil || !p.admit(in, out) {
			_ = in.Close()
			continue
		}
		for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
			p.wait.Go(func() {
				_, _ = io.Copy(pair[0], gated{pair[1], p}) // one of the connections is closed
				_, _ = pair[0].Close(), pair[1].Close()
			})
		}
	}
}

func (p *proxy) admit(in, out net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		_ = out.Close()
		return false
	}
	p.open[in], p.open[out] = true, true
	return true
}

// gated reads from one connection of a proxy. While the proxy hangs, Read does not
// return.
type gated struct {
	io.Reader

	by *proxy
}

func (g gated) Read(into []byte) (int, error) {
	n, err := g.Reader.Read(into)
	g.by.gate.RLock()
	defer g.by.gate.RUnlock()
	return n, err
}

// hang makes the proxy hold back all data, but still accept connections, until goOn is
// called.
func (p *proxy) hang(t *testing.T) (goOn func()) {
	t.Helper()
	p.gate.Lock()
	goOn = sync.OnceFunc(p.gate.Unlock)
	t.Cleanup(goOn)
	return goOn
}

// throughProxy returns a copy of the site, and a proxy between the copy's processes and
// one service. variable is the environment variable with the URL of the service.
func (s *site) throughProxy(t *testing.T, variable string) (*site, *proxy) {
	t.Helper()
	other, between := *s, (*proxy)(nil)
	other.variables = maps.Clone(s.variables)
	other.variables[variable] = s.changed(t, variable, func(u *url.URL) {
		between = newProxy(t, u.Host)
		u.Host = between.listener.Addr().String()
	})
	return &other, between
}

// set closes all connections of the proxy. If down is true, the server is no longer
// reachable through the proxy. If down is false, the server is reachable again.
func (p *proxy) set(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
	for connection := range p.open {
		_ = connection.Close()
	}
	clear(p.open)
}

func TestLikesArePersistedWithoutTheQueue(t *testing.T) {
	t.Parallel()
	queueUnavailable(t, waitTimeout)
}

// queueUnavailable checks that likes are persisted without the queue. Once the breaker
// has opened, each like must take at most bound.
func queueUnavailable(t *testing.T, bound time.Duration) {
	t.Helper()
	s := newSite(t)
	s.start(t, "work")
	through, between := s.throughProxy(t, "OVATION_RABBITMQ_URL")
	a, b := through.start(t, "serve"), through.start(t, "serve")
	users := 0
	like := func() (durability string, took period) {
		users++
		user := fmt.Sprintf("user-%d", users)
		var got likeReply
		began := time.Now()
		must.Succeed(t, a.graphQL(user, likeMovie, &got))
		took = period{began, time.Now()}
		seen := b.seesMovie(t, user) // a STALE reply lacks likes that are queued
		if unchanged(got.Like.Changed) || seen.Interactive.Liked == nil || got.Like.Durability == "PERSISTED" && seen.Interactive.LikeCount != users {
			t.Fatalf("like of %s = %s, unchanged: %t, and the other node shows %+v, want false, the like and, if PERSISTED, a count of %d", user, got.Like.Durability, unchanged(got.Like.Changed), seen, users)
		}
		return got.Like.Durability, took
	}
	await.That(t, "with the queue, a like is QUEUED", func() bool { // RabbitMQ may confirm too late
		durability, _ := like()
		return durability == "QUEUED"
	})
	await.That(t, "the likes are counted", func() bool { return s.likes(t) == users })

	between.set(true)
	pulse := probeNode(t, a)
	var took []period
	for i := range 20 {
		durability, one := like()
		if durability != "PERSISTED" {
			t.Errorf("without the queue: durability = %s, want PERSISTED", durability)
		}
		if i >= 3 { // the breaker opens during the first likes
			took = append(took, one)
		}
	}
	slowest, pause := pulse.worst(took...)
	t.Logf("the slowest like without the queue took %v", slowest)
	within(t, "the slowest like without the queue", slowest, pause, bound)
	if status := a.ready(); status != 200 {
		t.Errorf("GET /readyz without the queue = %d, want 200", status)
	}
	between.set(false)
	await.That(t, "likes are queued again", func() bool {
		durability, _ := like()
		return durability == "QUEUED"
	})
	await.That(t, "all likes are counted", func() bool { return s.likes(t) == users })
	s.run(t, "verify").want(t, 0, "0 differences; ")
}

// likes returns the total number of likes in the database.
func (s *site) likes(t *testing.T) (n int) {
	t.Helper()
	for _, subjects := range s.stored(t) {
		for _, did := range subjects {
			n += count(did.liked)
		}
	}
	return n
}

func TestStopGoesInStages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.variables["OVATION_DRAIN"] = "10s" // on a busy machine, the like begins late
	node, w := s.start(t, "serve"), s.start(t, "work")
	node.signal()
	await.That(t, "the node says that it is stopping", func() bool { return node.ready() == 503 })
	var got likeReply
	must.Succeed(t, node.graphQL("alice", likeMovie, &got)) // the node still serves
	if unchanged(got.Like.Changed) {
		t.Error("like while the node stops: got changed: false, want true or null")
	}
	<-node.ended
	node.stop().want(t, 0)
	await.That(t, "the like is counted", func() bool { return s.likes(t) == 1 })
	w.stop().want(t, 0)
}

// A query that was sent to one node as text can be requested from every node by its hash.
func TestPersistedQueriesAreSharedByNodes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, b := s.start(t, "serve"), s.start(t, "serve")
	ask := func(n *server, body string) error { return n.post([]byte("{"+body+"}"), as("alice"), nil) }
	const unknown = `"code":"PERSISTED_QUERY_NOT_FOUND"`
	tries := 0
	// If Redis takes too long, a query is not stored or not found. Each try has another
	// text, so that the first request for a hash decides.
	await.That(t, "the other node knows a query that was registered just now", func() bool {
		tries++
		query := fmt.Sprint(movieQuery, " # ", tries)
		hash := fmt.Sprintf(`"extensions":{"persistedQuery":{"version":1,"sha256Hash":"%x"}}`, sha256.Sum256([]byte(query)))
		text, err := json.Marshal(query)
		must.Succeed(t, err)
		if err := ask(a, hash); err == nil || !strings.Contains(err.Error(), unknown) {
			t.Errorf("the hash of a query before its registration: got %v, want %s", err, unknown)
		}
		must.Succeed(t, ask(a, hash+`,"query":`+string(text)))
		err = ask(b, hash)
		if err != nil && !strings.Contains(err.Error(), unknown) {
			t.Error(err)
		}
		return err == nil
	})
}
