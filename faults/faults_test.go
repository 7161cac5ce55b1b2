//go:build long

package faults_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"

	"ovation/internal/testing/seed"
)

// fault is a fault that is injected under load. At its end every process is running
// again, but need not work yet.
type fault struct {
	name  string
	rules rules
	do    func(t *testing.T, s *site)
}

// The bytes that a trap waits for: the COMMIT that pgx sends, and a basic.ack in a frame
// of 13 bytes.
const (
	commits = "Q\x00\x00\x00\x0bcommit\x00"
	acks    = "\x00\x00\x00\x0d\x00\x3c\x00\x50"
)

// without returns the rules for the time in which these services are unavailable.
func without(names ...string) rules { return rules{dead: true, unavailable: names} }

var faults = []fault{
	{"a node is killed", rules{}, killNode},
	{"a worker is killed", rules{}, func(t *testing.T, s *site) {
		t.Helper()
		s.replaceWorker(t, s.random.IntN(2))
	}},
	{"a worker dies before its commit", rules{}, dieAt(postgres, commits, false)},
	{"a worker dies after its commit", rules{}, dieAt(postgres, commits, true)},
	{"a worker dies before its ack", rules{}, dieAt(rabbitmq, acks, false)},
	{"Redis is killed", without(redis), restart(redis)},
	{"Redis comes back with old data", without(redis), restoreOldRedis},
	{"Redis is flushed", without(redis), func(t *testing.T, s *site) {
		t.Helper()
		s.redis(t, "FLUSHALL")
	}},
	{"RabbitMQ is killed", without(rabbitmq), restart(rabbitmq)},
	{"RabbitMQ restarts", without(rabbitmq), func(t *testing.T, s *site) {
		t.Helper()
		s.end(t, rabbitmq, syscall.SIGTERM)
		s.script(t, "up")
	}},
	{"Postgres restarts at once", without(postgres), restart(postgres)},
	{"Redis hangs", without(redis), stall(redis)},
	{"RabbitMQ hangs", without(rabbitmq), stall(rabbitmq)},
	{"Postgres hangs", without(postgres), stall(postgres)},
	{"one link hangs", rules{}, stallOne},
	{"Redis is unavailable", without(redis), unavailable(12*time.Second, redis)},
	{"RabbitMQ is unavailable", without(rabbitmq), unavailable(12*time.Second, rabbitmq)},
	{"Postgres is unavailable", without(postgres), unavailable(12*time.Second, postgres)},
	{"Redis and RabbitMQ are unavailable", without(redis, rabbitmq), unavailable(10*time.Second, redis, rabbitmq)},
}

// failoverDowntime is how long a server of a cluster is unavailable.
const failoverDowntime = 8 * time.Second

var failovers = []fault{
	{"a node is killed", rules{hiccup: true}, killNode},
	{"a worker is killed", rules{hiccup: true}, func(t *testing.T, s *site) {
		t.Helper()
		s.replaceWorker(t, s.random.IntN(2))
	}},
	{"a Redis master is killed", rules{hiccup: true}, redisFailsOver},
	{"a RabbitMQ node is killed", rules{hiccup: true}, rabbitFailsOver},
	{"Postgres fails over", rules{hiccup: true, unavailable: []string{postgres}}, postgresFailsOver},
	{"the standby is unavailable", rules{hiccup: true, unavailable: []string{postgres}}, standbyUnavailable},
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

// TestLongFaultsLoseNothing injects every fault once under load, in an order that the
// seed determines. OVATION_FAULTS selects faults by a part of their name.
func TestLongFaultsLoseNothing(t *testing.T) {
	which := os.Getenv("OVATION_FAULTS")
	var chosen []fault
	for _, f := range faults {
		if strings.Contains(f.name, which) {
			chosen = append(chosen, f)
		}
	}
	if len(chosen) == 0 {
		t.Fatalf("OVATION_FAULTS is %q, want part of the name of a fault", which)
	}
	underLoad(t, startServers, func(s *site) {
		s.random.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
		for _, f := range chosen {
			s.inject(t, f)
			s.during(500 * time.Millisecond)
		}
	})
}

// TestLongRandomFaults injects random faults, one about every eight seconds, for the time
// in OVATION_FAULTS_TIME (two minutes if unset).
func TestLongRandomFaults(t *testing.T) { randomFaults(t, startServers, faults) }

// TestLongRandomFailovers injects random faults into a cluster.
func TestLongRandomFailovers(t *testing.T) { randomFaults(t, startCluster, failovers) }

func randomFaults(t *testing.T, start func(*testing.T) *servers, faults []fault) {
	t.Helper()
	during, err := time.ParseDuration(cmp.Or(os.Getenv("OVATION_FAULTS_TIME"), "2m"))
	must(t, err)
	underLoad(t, start, func(s *site) {
		for end := time.Now().Add(during); time.Now().Before(end); {
			next := time.After(8 * time.Second)
			s.inject(t, faults[s.random.IntN(len(faults))])
			<-next
		}
	})
}

// underLoad runs a site with 32 clients on two nodes, injects faults, and checks every
// reply and everything that is stored in the end.
func underLoad(t *testing.T, start func(*testing.T) *servers, inject func(*site)) {
	t.Helper()
	s := newSite(t, seed.Of(t), 32, start)
	t.Cleanup(func() { t.Log("\n" + s.record.table()) })
	s.enter("quiet", rules{})
	stop := sync.OnceFunc(s.load())
	t.Cleanup(stop)
	s.during(time.Second)
	inject(s)
	stop()
	s.drainAndCompare(t)
	s.checkRecord(t)
}

// inject injects one fault and waits until everything works again.
func (s *site) inject(t *testing.T, f fault) {
	t.Helper()
	began := time.Now()
	s.enter(f.name, f.rules)
	f.do(t, s)
	s.recover(t)
	t.Logf("%s: %v", f.name, time.Since(began).Round(time.Millisecond))
}

// checkRecord fails the test if clients saw wrong or slow replies.
func (s *site) checkRecord(t *testing.T) {
	t.Helper()
	s.enter("the end", rules{})
	for _, kind := range slices.Sorted(maps.Keys(s.record.violations)) {
		t.Errorf("got %d × %s, want none:\n%s", len(s.record.violations[kind]), kind, firstLines(s.record.violations[kind]))
	}
	// If no breaker opened, every request that needs a dead service would take until its
	// timeout: 10 to 70 % of all requests. A busy machine delays a few: the share that it
	// delays while nothing is down and, if a service restarts meanwhile, 1 % more.
	control := s.record.control()
	for _, p := range s.record.phases {
		if p.rules.dead && p.slow > 3 && share(p.slow, p.afterOpening) > 0.03+control {
			t.Errorf("%s: once breakers were open %d of %d requests took more than %v longer than the machine's own pauses, want at most %.1f %%: 3 %% and the %.1f %% while nothing was down",
				p.name, p.slow, p.afterOpening, bound, 3+100*control, 100*control)
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

// dieAt kills the first worker that sends the bytes to a service: before they arrive or,
// if answer is true, before the worker receives the reply.
func dieAt(service, bytes string, answer bool) func(*testing.T, *site) {
	return func(t *testing.T, s *site) {
		t.Helper()
		trap := newTrap(bytes, answer)
		for _, w := range s.workers {
			w.links[service].set(trap)
		}
		select {
		case <-trap.held:
		case <-time.After(waitTimeout):
			t.Fatalf("within %v no worker sent the bytes to %s at which it was to be killed", waitTimeout, service)
		}
		for i, w := range s.workers {
			w.links[service].set(nil)
			if w.links[service] == trap.triggered {
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

// restoreOldRedis restarts Redis with the data that it held some time before.
func restoreOldRedis(t *testing.T, s *site) {
	t.Helper()
	s.redis(t, "SAVE")
	s.during(time.Duration(s.random.IntN(2000)) * time.Millisecond)
	s.kill(t, redis)
	s.script(t, "up")
	must(t, os.Remove(s.file(redis, "dump.rdb"))) // the next restart begins without data
}

// unavailable returns a fault that stops services for a while.
func unavailable(d time.Duration, names ...string) func(*testing.T, *site) {
	return func(t *testing.T, s *site) {
		t.Helper()
		s.kill(t, names...)
		s.during(d)
		s.enter("back: "+strings.Join(names, ", "), rules{hiccup: true})
		s.script(t, "up")
	}
}

// stall makes all links to a service hang for a while.
func stall(name string) func(*testing.T, *site) {
	return func(t *testing.T, s *site) {
		t.Helper()
		hang(true, name, s.all()...)
		s.during(6 * time.Second)
		hang(false, name, s.all()...)
	}
}

// stallOne makes one link of one process hang for a while.
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
