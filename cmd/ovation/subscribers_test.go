package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	benchload "ovation/bench/load"

	"ovation/internal/testing/must"
)

// The most that an idle subscriber may cost the server.
const (
	maxIdleBytes      = 20 << 10 // heap and stack
	maxIdleGoroutines = 3
)

// TestSubscribersAreCheap subscribes many clients to one subject on one node, each over a
// connection of its own. In one run, the clients are anonymous and all receive the same
// events. In the other run, they are users, and each user receives the subject as that
// user sees it.
func TestSubscribersAreCheap(t *testing.T) { cheapSubscribers(t, 200, 5, waitTimeout) }

func cheapSubscribers(t *testing.T, n, likes int, bound time.Duration) {
	t.Helper()
	// Users may wait for longer, because each event is read and encoded for every user.
	for who, bound := range map[string]time.Duration{asNobody: bound, asUsers: 4 * bound} {
		t.Run(who, func(t *testing.T) {
			s := serve(t, t.TempDir(), "--log-level=error", "--rate-per-address=0", "--max-streams-per-address=20000", "--max-subscriptions-per-address=20000")
			s.like(t, "first", "1") // creates everything that is created only once
			before := measure()
			crowd := startCrowd(t, s, n, who)
			crowd.await(t, 1)
			bytes, goroutines := measure().since(before, n)
			t.Logf("%d idle subscribers: %.1f KB and %.2f goroutines each", n, bytes/1024, goroutines)
			if bytes > raceMemoryFactor*maxIdleBytes || goroutines > maxIdleGoroutines {
				t.Errorf("an idle subscriber takes %.1f KB and %.2f goroutines, want at most %d and %d", bytes/1024, goroutines, raceMemoryFactor*maxIdleBytes>>10, maxIdleGoroutines)
			}
			var worst deliveryTimes
			var p99 []period // of each like
			pulse := probeNode(t, s)
			for i := range likes {
				began := time.Now()
				s.like(t, fmt.Sprintf("liker-%d", i), "1")
				after := crowd.await(t, i+2).since(began)
				p99 = append(p99, period{began, began.Add(time.Duration(after[1]))})
				worst = deliveryTimes{max(worst[0], after[0]), max(worst[1], after[1]), max(worst[2], after[2])}
			}
			t.Logf("%d subscribers received each of %d likes after: p50 %v, p99 %v, the last %v", n, likes, time.Duration(worst[0]), time.Duration(worst[1]), time.Duration(worst[2]))
			took, pause := pulse.worst(p99...)
			within(t, "p99", took, pause, bound)
		})
	}
}

// BenchmarkIdleSubscriber measures the cost of an idle subscriber. An iteration is one
// subscriber, but at most 10,000 clients subscribe.
func BenchmarkIdleSubscriber(b *testing.B) {
	s := serve(b, b.TempDir(), "--log-level=error", "--rate-per-address=0", "--max-streams-per-address=20000", "--max-subscriptions-per-address=20000")
	s.like(b, "first", "1")
	before, n := measure(), min(b.N, 10_000)
	startCrowd(b, s, n, asNobody).await(b, 1)
	bytes, goroutines := measure().since(before, n)
	b.ReportMetric(bytes, "B/subscriber")
	b.ReportMetric(goroutines, "goroutines/subscriber")
}

// cost is the memory and the number of goroutines that a process uses.
type cost struct{ bytes, goroutines float64 }

// measure returns the size of the live heap and the stacks, and the number of goroutines.
// It first collects garbage several times, because each collection halves unused stacks.
func measure() cost {
	for range 4 {
		runtime.GC()
	}
	used := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(used)
	return cost{float64(used[0].Value.Uint64() + used[1].Value.Uint64()), float64(runtime.NumGoroutine())}
}

func (c cost) since(before cost, n int) (bytes, goroutines float64) {
	return (c.bytes - before.bytes) / float64(n), (c.goroutines - before.goroutines) / float64(n)
}

// crowd is a process that holds many subscribers.
type crowd struct {
	stdout *bufio.Scanner
	times  map[int]deliveryTimes
}

// deliveryTimes holds the times by which 50 %, 99 % and 100 % of a crowd had received an
// event. The times are in nanoseconds since 1970. The method since makes them relative to
// another time.
type deliveryTimes [3]int64

func (w deliveryTimes) since(began time.Time) deliveryTimes {
	for i := range w {
		w[i] -= began.UnixNano()
	}
	return w
}

// The kinds of subscribers in a crowd.
const (
	asNobody = "nobody"
	asUsers  = "users"
)

// startCrowd starts a crowd of n subscribers of the kind in who.
func startCrowd(tb testing.TB, s *server, n int, who string) *crowd {
	tb.Helper()
	self, err := os.Executable()
	must.Succeed(tb, err)
	command := exec.Command(self)
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", crowdVariable, strings.TrimPrefix(s.url, "http://"), n, who))
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	must.Succeed(tb, err)
	stdout, err := command.StdoutPipe()
	must.Succeed(tb, err)
	must.Succeed(tb, command.Start())
	tb.Cleanup(func() {
		must.Succeed(tb, stdin.Close()) // this ends the crowd
		must.Succeed(tb, command.Wait())
	})
	return &crowd{stdout: bufio.NewScanner(stdout), times: map[int]deliveryTimes{}}
}

// await waits until the whole crowd has received the given number of likes, and returns
// the delivery times.
func (c *crowd) await(tb testing.TB, likes int) deliveryTimes {
	tb.Helper()
	for c.stdout.Scan() {
		var count int
		var w deliveryTimes
		if _, err := fmt.Sscan(c.stdout.Text(), &count, &w[0], &w[1], &w[2]); err != nil {
			tb.Fatalf("got the line %q, want four numbers: %v", c.stdout.Text(), err)
		}
		if c.times[count] = w; count == likes {
			return w
		}
	}
	tb.Fatalf("the crowd ended before all received %d likes: %v", likes, c.stdout.Err())
	return deliveryTimes{}
}

// crowdVariable is the environment variable that makes a test process a crowd. Its value
// contains the address of the server, the number of subscribers and their kind.
const crowdVariable = "OVATION_TEST_CROWD"

// runCrowd opens the subscriptions of the crowd that the value of crowdVariable
// describes. For each number of likes, it prints when the subscribers received that
// number. The process exits at the end of its standard input.
func runCrowd(what string) int {
	var addr, who string
	var n int
	if _, err := fmt.Sscan(what, &addr, &n, &who); err != nil {
		panic(err)
	}
	known := make(chan [2]int64, n) // a number of likes, and when it was received
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for i := range n {
		init := []byte("{}")
		if who == asUsers {
			init = fmt.Appendf(nil, `{"X-Ovation-User":"user-%d"}`, i)
		}
		watch, err := benchload.Subscribe(context.Background(), addr, init, []byte(crowdWatches))
		if err != nil {
			panic(err)
		}
		go reportLikes(watch, known)
	}
	when := map[int64][]int64{}
	for one := range known {
		when[one[0]] = append(when[one[0]], one[1])
		if times := when[one[0]]; len(times) == n {
			slices.Sort(times)
			fmt.Println(one[0], times[n/2], times[n*99/100], times[n-1])
		}
	}
	return 0
}

// crowdWatches is the operation that every subscriber of a crowd sends.
const crowdWatches = `{"query":"subscription Watch($s:[SubjectInput!]!){interactiveChanged(subjects:$s){id biz bizId version freshness readCount collectCount liked{reaction} collected{id} likeCount}}",` +
	`"variables":{"s":[{"biz":"video","bizId":"1"}]}}`

// reportLikes reads the events of one subscriber. For each event, it sends the number of
// likes and the current time to the channel known.
func reportLikes(watch *benchload.Subscription, known chan<- [2]int64) {
	for {
		text, err := watch.Next()
		if err != nil {
			panic(err)
		}
		_, after, _ := bytes.Cut(text, []byte(`"likeCount":`))
		likes, err := strconv.ParseInt(string(bytes.TrimRight(after, "}")), 10, 64)
		if err != nil {
			panic(string(text))
		}
		known <- [2]int64{likes, time.Now().UnixNano()}
	}
}
