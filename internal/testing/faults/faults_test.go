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

	"ovation/internal/testing/must"
	"ovation/internal/testing/seed"
)

// fault describes a fault to inject under load. When the function inject returns, every
// process is running again, but may not have recovered yet.
type fault struct {
	name    string
	allowed allowances
	inject  func(t *testing.T, s *installation)
}

// The bytes that a trap waits for: the COMMIT that pgx sends, and a basic.ack in a frame
// of 13 bytes.
const (
	commitBytes = "Q\x00\x00\x00\x0bcommit\x00"
	ackBytes    = "\x00\x00\x00\x0d\x00\x3c\x00\x50"
)

// withUnavailable returns the allowances while the named services are unavailable.
func withUnavailable(names ...string) allowances {
	return allowances{serviceDown: true, unavailable: names}
}

var faults = []fault{
	{"a node is killed", allowances{}, killNode},
	{"a worker is killed", allowances{}, func(t *testing.T, s *installation) {
		t.Helper()
		s.replaceWorker(t, s.random.IntN(2))
	}},
	{"a worker dies before its commit", allowances{}, killWorkerAt(postgres, commitBytes, false)},
	{"a worker dies after its commit", allowances{}, killWorkerAt(postgres, commitBytes, true)},
	{"a worker dies before its ack", allowances{}, killWorkerAt(rabbitmq, ackBytes, false)},
	{"Redis is killed", withUnavailable(redis), killAndRestart(redis)},
	{"Redis comes back with old data", withUnavailable(redis), restoreOldRedis},
	{"Redis is flushed", withUnavailable(redis), func(t *testing.T, s *installation) {
		t.Helper()
		s.redisCommand(t, "FLUSHALL")
	}},
	{"RabbitMQ is killed", withUnavailable(rabbitmq), killAndRestart(rabbitmq)},
	{"RabbitMQ restarts", withUnavailable(rabbitmq), func(t *testing.T, s *installation) {
		t.Helper()
		s.signalAndWait(t, rabbitmq, syscall.SIGTERM)
		s.runScript(t, "up")
	}},
	{"Postgres restarts at once", withUnavailable(postgres), killAndRestart(postgres)},
	{"Redis hangs", withUnavailable(redis), hangLinks(redis)},
	{"RabbitMQ hangs", withUnavailable(rabbitmq), hangLinks(rabbitmq)},
	{"Postgres hangs", withUnavailable(postgres), hangLinks(postgres)},
	{"one link hangs", allowances{}, hangOneLink},
	{"Redis is unavailable", withUnavailable(redis), killFor(12*time.Second, redis)},
	{"RabbitMQ is unavailable", withUnavailable(rabbitmq), killFor(12*time.Second, rabbitmq)},
	{"Postgres is unavailable", withUnavailable(postgres), killFor(12*time.Second, postgres)},
	{"Redis and RabbitMQ are unavailable", withUnavailable(redis, rabbitmq), killFor(10*time.Second, redis, rabbitmq)},
}

// failoverDowntime is how long a server in a cluster is unavailable.
const failoverDowntime = 8 * time.Second

var failovers = []fault{
	{"a node is killed", allowances{reconnecting: true}, killNode},
	{"a worker is killed", allowances{reconnecting: true}, func(t *testing.T, s *installation) {
		t.Helper()
		s.replaceWorker(t, s.random.IntN(2))
	}},
	{"a Redis master is killed", allowances{reconnecting: true}, failOverRedis},
	{"a RabbitMQ node is killed", allowances{reconnecting: true}, failOverRabbitMQ},
	{"Postgres fails over", allowances{reconnecting: true, unavailable: []string{postgres}}, failOverPostgres},
	{"the standby is unavailable", allowances{reconnecting: true, unavailable: []string{postgres}}, killStandby},
}

func TestMain(m *testing.M) {
	code := m.Run()
	clientHTTP.CloseIdleConnections()
	probeHTTP.CloseIdleConnections()
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
	runUnderLoad(t, startServers, func(s *installation) {
		s.random.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
		for _, f := range chosen {
			s.injectFault(t, f)
			s.runFor(500 * time.Millisecond)
		}
	})
}

// TestLongRandomFaults injects random faults, at most one every eight seconds, for the
// time in OVATION_FAULTS_TIME (two minutes if unset).
func TestLongRandomFaults(t *testing.T) { injectRandomFaults(t, startServers, faults) }

// TestLongRandomFailovers injects random faults into a cluster.
func TestLongRandomFailovers(t *testing.T) { injectRandomFaults(t, startCluster, failovers) }

func injectRandomFaults(t *testing.T, start func(*testing.T) *servers, faults []fault) {
	t.Helper()
	during, err := time.ParseDuration(cmp.Or(os.Getenv("OVATION_FAULTS_TIME"), "2m"))
	must.Succeed(t, err)
	runUnderLoad(t, start, func(s *installation) {
		for end := time.Now().Add(during); time.Now().Before(end); {
			next := time.After(8 * time.Second)
			s.injectFault(t, faults[s.random.IntN(len(faults))])
			<-next
		}
	})
}

// runUnderLoad starts an installation, and calls inject while 32 clients send requests to
// both nodes. Every reply is checked. In the end, the stored data is compared with the
// acknowledged actions.
func runUnderLoad(t *testing.T, start func(*testing.T) *servers, inject func(*installation)) {
	t.Helper()
	s := newInstallation(t, seed.Of(t), 32, start)
	t.Cleanup(func() { t.Log("\n" + s.record.format()) })
	s.enterPhase("quiet", allowances{})
	t.Cleanup(s.measurePauses())
	stop := sync.OnceFunc(s.startLoad())
	t.Cleanup(stop)
	s.runFor(time.Second)
	inject(s)
	stop()
	s.drainAndCompare(t)
	s.checkRecord(t)
}

// injectFault injects one fault and waits until the installation has recovered.
func (s *installation) injectFault(t *testing.T, f fault) {
	t.Helper()
	began := time.Now()
	s.enterPhase(f.name, f.allowed)
	f.inject(t, s)
	s.awaitRecovery(t)
	t.Logf("%s: %v", f.name, time.Since(began).Round(time.Millisecond))
}

// checkRecord fails the test if clients received wrong replies, or too many slow ones.
func (s *installation) checkRecord(t *testing.T) {
	t.Helper()
	s.enterPhase("the end", allowances{})
	for _, kind := range slices.Sorted(maps.Keys(s.record.violations)) {
		t.Errorf("got %d × %s, want none:\n%s", len(s.record.violations[kind]), kind, firstLines(s.record.violations[kind]))
	}
	// Without breakers, every request that needs a dead service would last until its
	// timeout. Such requests make up 10 to 70 % of all requests. A busy machine delays
	// some requests, too. The variable control is the share of requests that are overdue
	// while all services run; the restart of a service adds 1 % to it. The limit is
	// control plus 3 %.
	control := s.record.quietShare()
	for _, p := range s.record.phases {
		if p.allowed.serviceDown && p.overdueAfterOpening > 3 && ratio(p.overdueAfterOpening, p.timedAfterOpening) > 0.03+control {
			t.Errorf("%s: once breakers were open %d of %d requests took more than %v longer than the machine's own pauses, want at most %.1f %%: 3 %% and the %.1f %% while nothing was down",
				p.name, p.overdueAfterOpening, p.timedAfterOpening, maxDelay, 3+100*control, 100*control)
		}
	}
}

// killNode kills a node and starts another one.
func killNode(t *testing.T, s *installation) {
	t.Helper()
	i := s.random.IntN(2)
	s.node(i).kill()
	s.runFor(time.Second)
	s.nodes[i].Store(s.start(t, "serve"))
}

// replaceWorker kills a worker and starts another one.
func (s *installation) replaceWorker(t *testing.T, i int) {
	t.Helper()
	s.workers[i].kill()
	s.runFor(time.Second)
	s.workers[i] = s.start(t, "work")
}

// killWorkerAt returns a function that kills the first worker that sends the given bytes
// to a service. The worker is killed before the bytes arrive or, if holdReply is true,
// before the worker receives the reply.
func killWorkerAt(service, bytes string, holdReply bool) func(*testing.T, *installation) {
	return func(t *testing.T, s *installation) {
		t.Helper()
		trap := newTrap(bytes, holdReply)
		for _, w := range s.workers {
			w.links[service].setTrap(trap)
		}
		select {
		case <-trap.sprung:
		case <-time.After(waitTimeout):
			t.Fatalf("within %v no worker sent the bytes to %s at which it was to be killed", waitTimeout, service)
		}
		for i, w := range s.workers {
			w.links[service].setTrap(nil)
			if w.links[service] == trap.triggered {
				s.replaceWorker(t, i)
			}
		}
	}
}

// killAndRestart returns a function that kills a service and starts it again. Redis
// starts without its data.
func killAndRestart(name string) func(*testing.T, *installation) {
	return func(t *testing.T, s *installation) {
		t.Helper()
		s.kill(t, name)
		s.runScript(t, "up")
	}
}

// restoreOldRedis restarts Redis with a snapshot that is up to two seconds old.
func restoreOldRedis(t *testing.T, s *installation) {
	t.Helper()
	s.redisCommand(t, "SAVE")
	s.runFor(time.Duration(s.random.IntN(2000)) * time.Millisecond)
	s.kill(t, redis)
	s.runScript(t, "up")
	must.Succeed(t, os.Remove(s.path(redis, "dump.rdb"))) // the next restart begins without data
}

// killFor returns a function that kills services and restarts them after the given time.
func killFor(d time.Duration, names ...string) func(*testing.T, *installation) {
	return func(t *testing.T, s *installation) {
		t.Helper()
		s.kill(t, names...)
		s.runFor(d)
		s.enterPhase("back: "+strings.Join(names, ", "), allowances{reconnecting: true})
		s.runScript(t, "up")
	}
}

// hangLinks returns a function that makes all links to a service hang for a while.
func hangLinks(name string) func(*testing.T, *installation) {
	return func(t *testing.T, s *installation) {
		t.Helper()
		setStopped(true, name, s.allProcesses()...)
		s.runFor(6 * time.Second)
		setStopped(false, name, s.allProcesses()...)
	}
}

// hangOneLink makes one link of one process hang for a while.
func hangOneLink(t *testing.T, s *installation) {
	t.Helper()
	p, name := s.allProcesses()[s.random.IntN(4)], allServices[s.random.IntN(len(allServices))]
	s.enterPhase(fmt.Sprintf("one link hangs: %s to %s", p.name, name), withUnavailable(name))
	setStopped(true, name, p)
	s.runFor(5 * time.Second)
	setStopped(false, name, p)
}

// redisCommand sends a command to Redis.
func (s *installation) redisCommand(t *testing.T, command string) {
	t.Helper()
	options, err := rueidis.ParseURL(s.urls[redis])
	must.Succeed(t, err)
	options.DisableCache = true
	c, err := rueidis.NewClient(options)
	must.Succeed(t, err)
	defer c.Close()
	must.Succeed(t, c.Do(t.Context(), c.B().Arbitrary(command).Build()).Error())
}
