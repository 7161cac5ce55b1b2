package faults_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"
)

// fault is something that happens under load. It leaves everything there, and
// need not wait until it works again.
type fault struct {
	name  string
	rules rules
	short bool // it belongs to the short run too
	do    func(t *testing.T, s *site)
}

// The bytes that a trap waits for: what pgx sends to commit, and a basic.ack
// in a frame of 13 bytes.
const (
	commits = "Q\x00\x00\x00\x0bcommit\x00"
	acks    = "\x00\x00\x00\x0d\x00\x3c\x00\x50"
)

// without are the rules while these services are away.
func without(names ...string) rules { return rules{dead: true, away: names} }

var faults = []fault{
	{"a node is killed", rules{}, true, killNode},
	{"a worker is killed", rules{}, true, func(t *testing.T, s *site) {
		t.Helper()
		s.replaceWorker(t, s.random.IntN(2))
	}},
	{"a worker dies before its commit", rules{}, true, dieAt(postgres, commits, false)},
	{"a worker dies after its commit", rules{}, false, dieAt(postgres, commits, true)},
	{"a worker dies before its ack", rules{}, false, dieAt(rabbitmq, acks, false)},
	{"Redis is killed", without(redis), true, restart(redis)},
	{"Redis comes back with old data", without(redis), false, redisOfBefore},
	{"Redis is flushed", without(redis), false, func(t *testing.T, s *site) {
		t.Helper()
		s.redis(t, "FLUSHALL")
	}},
	{"RabbitMQ is killed", without(rabbitmq), true, restart(rabbitmq)},
	{"RabbitMQ restarts", without(rabbitmq), false, func(t *testing.T, s *site) {
		t.Helper()
		s.end(t, rabbitmq, syscall.SIGTERM)
		s.script(t, "up")
	}},
	{"Postgres restarts at once", without(postgres), true, restart(postgres)},
	{"Redis hangs", without(redis), false, stall(redis)},
	{"RabbitMQ hangs", without(rabbitmq), false, stall(rabbitmq)},
	{"Postgres hangs", without(postgres), false, stall(postgres)},
	{"one link hangs", rules{}, false, stallOne},
	{"Redis is away", without(redis), false, away(12*time.Second, redis)},
	{"RabbitMQ is away", without(rabbitmq), false, away(12*time.Second, rabbitmq)},
	{"Postgres is away", without(postgres), false, away(12*time.Second, postgres)},
	{"Redis and RabbitMQ are away", without(redis, rabbitmq), false, away(10*time.Second, redis, rabbitmq)},
}

func TestMain(m *testing.M) {
	code := m.Run()
	visits.CloseIdleConnections()
	probes.CloseIdleConnections()
	if err := goleak.Find(); err != nil && code == 0 {
		_, _ = fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// TestFaultsLoseNothing has one fault follow the other under load, in an order
// that the seed decides. OVATION_FAULTS is which ones: unset for the short run,
// full for all, else a part of their names.
func TestFaultsLoseNothing(t *testing.T) {
	seed, which := seedOf(t), os.Getenv("OVATION_FAULTS")
	clients := 32
	if which == "" {
		clients = 8
	}
	s := newSite(t, seed, clients)
	t.Logf("OVATION_FAULTS_SEED=%d", seed)
	t.Cleanup(func() { t.Log("\n" + s.record.table()) })

	var chosen []fault
	for _, f := range faults {
		if which == "" && f.short || which == "full" || which != "" && strings.Contains(f.name, which) {
			chosen = append(chosen, f)
		}
	}
	if len(chosen) == 0 {
		t.Fatalf("OVATION_FAULTS is %q, which no fault is called", which)
	}
	s.random.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	// After a loss of Redis replies are not live for a minute, and say nothing of
	// one's own actions: those faults come last.
	slices.SortStableFunc(chosen, func(a, b fault) int {
		return cmp.Compare(strings.Count(a.name, "Redis"), strings.Count(b.name, "Redis"))
	})

	s.enter("quiet", rules{})
	stop := s.load()
	t.Cleanup(func() { stop() })
	s.during(time.Second)
	for _, f := range chosen {
		began := time.Now()
		s.enter(f.name, f.rules)
		f.do(t, s)
		s.recover(t)
		t.Logf("%s: %v", f.name, time.Since(began).Round(time.Millisecond))
		s.during(500 * time.Millisecond)
	}
	stop()
	stop = func() {}
	s.settle(t, which != "")
	s.checkRecord(t)
}

func seedOf(t *testing.T) uint64 {
	t.Helper()
	given := os.Getenv("OVATION_FAULTS_SEED")
	if given == "" {
		return uint64(time.Now().UnixNano())
	}
	seed, err := strconv.ParseUint(given, 10, 64)
	must(t, err)
	return seed
}

// checkRecord fails the test for what clients saw.
func (s *site) checkRecord(t *testing.T) {
	t.Helper()
	s.enter("the end", rules{})
	for _, kind := range slices.Sorted(maps.Keys(s.record.wrongs)) {
		t.Errorf("%d × %s:\n%s", len(s.record.wrongs[kind]), kind, some(s.record.wrongs[kind]))
	}
	// What a request takes where nothing is dead is the machine's affair.
	var quiet time.Duration
	for _, p := range s.record.phases {
		if p.name == "quiet" {
			quiet = max(quiet, p.within)
		}
	}
	for _, p := range s.record.phases {
		if usual := max(quiet, p.pulse); p.rules.dead && p.slowestLate > bound+usual {
			t.Errorf("%s: once breakers were open a request took %v; usual is %v at most", p.name, p.slowestLate, usual)
		}
	}
}

// killNode kills a node. Another one takes its place.
func killNode(t *testing.T, s *site) {
	t.Helper()
	i := s.random.IntN(2)
	s.node(i).kill()
	s.during(time.Second)
	s.nodes[i].Store(s.start(t, "serve"))
}

// replaceWorker kills a worker and starts another one.
func (s *site) replaceWorker(t *testing.T, i int) {
	t.Helper()
	s.workers[i].kill()
	s.during(time.Second)
	s.workers[i] = s.start(t, "work")
}

// dieAt kills the first worker that sends the bytes to a service, before they
// get there or, with answer, before it learns what came of them.
func dieAt(service, bytes string, answer bool) func(*testing.T, *site) {
	return func(t *testing.T, s *site) {
		t.Helper()
		trap := newTrap(bytes, answer)
		for _, w := range s.workers {
			w.links[service].set(trap)
		}
		select {
		case <-trap.held:
		case <-time.After(patience):
			t.Fatal("no worker has sent what the trap waits for")
		}
		for i, w := range s.workers {
			w.links[service].set(nil)
			if w.links[service] == trap.sprung {
				s.replaceWorker(t, i)
			}
		}
	}
}

// restart kills a service and starts it again, Redis without its data.
func restart(name string) func(*testing.T, *site) {
	return func(t *testing.T, s *site) {
		t.Helper()
		s.kill(t, name)
		s.script(t, "up")
	}
}

// redisOfBefore has Redis come back with what it held some time before.
func redisOfBefore(t *testing.T, s *site) {
	t.Helper()
	s.redis(t, "SAVE")
	s.during(time.Duration(s.random.IntN(2000)) * time.Millisecond)
	s.kill(t, redis)
	s.script(t, "up")
	must(t, os.Remove(s.file(redis, "dump.rdb"))) // not for the next one
}

// away stops services for a while.
func away(d time.Duration, names ...string) func(*testing.T, *site) {
	return func(t *testing.T, s *site) {
		t.Helper()
		s.kill(t, names...)
		s.during(d)
		s.enter("back: "+strings.Join(names, ", "), rules{hiccup: true})
		s.script(t, "up")
	}
}

// stall has all links to a service hang for a while.
func stall(name string) func(*testing.T, *site) {
	return func(t *testing.T, s *site) {
		t.Helper()
		hang(true, name, s.all()...)
		s.during(6 * time.Second)
		hang(false, name, s.all()...)
	}
}

// stallOne has one link of one process hang for a while.
func stallOne(t *testing.T, s *site) {
	t.Helper()
	p, name := s.all()[s.random.IntN(4)], allServices[s.random.IntN(len(allServices))]
	s.enter(fmt.Sprintf("one link hangs: %s to %s", p.name, name), without(name))
	hang(true, name, p)
	s.during(5 * time.Second)
	hang(false, name, p)
}

// redis sends a command to Redis.
func (s *site) redis(t *testing.T, command string) {
	t.Helper()
	options, err := rueidis.ParseURL(s.urls[redis])
	must(t, err)
	options.DisableCache = true
	c, err := rueidis.NewClient(options)
	must(t, err)
	defer c.Close()
	must(t, c.Do(t.Context(), c.B().Arbitrary(command).Build()).Error())
}
