package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What a subscriber may cost at rest, on the server, all included.
const (
	maxIdleBytes      = 20 << 10 // heap and stack
	maxIdleGoroutines = 3
)

// TestSubscribersAreCheapAndToldSoon has many anonymous subscribers of one
// subject on one node, over connections of their own.
func TestSubscribersAreCheapAndToldSoon(t *testing.T) {
	n, bound := 1000, 5*time.Second // on a busy machine
	if os.Getenv("OVATION_LOAD") == "full" {
		n, bound = 10_000, 250*time.Millisecond
	}
	s := serve(t, t.TempDir(), "--log-level=error")
	s.like(t, "first", "1") // so that all that is made once is there
	before := measure()
	crowd := gather(t, s, n)
	crowd.await(t, 1)
	bytes, goroutines := measure().since(before, n)
	t.Logf("%d idle subscribers: %.1f KB and %.2f goroutines each", n, bytes/1024, goroutines)
	if bytes > heavier*maxIdleBytes || goroutines > maxIdleGoroutines {
		t.Errorf("more than %d KB or %d goroutines", heavier*maxIdleBytes>>10, maxIdleGoroutines)
	}
	var worst told
	for i := range 20 {
		began := time.Now()
		s.like(t, fmt.Sprintf("user-%d", i), "1")
		after := crowd.await(t, i+2).since(began)
		worst = told{max(worst[0], after[0]), max(worst[1], after[1]), max(worst[2], after[2])}
	}
	t.Logf("%d subscribers were told of each of 20 likes after: p50 %v, p99 %v, the last %v", n, time.Duration(worst[0]), time.Duration(worst[1]), time.Duration(worst[2]))
	if time.Duration(worst[1]) > bound {
		t.Errorf("p99 is over %v", bound)
	}
}

// BenchmarkIdleSubscriber shows what a subscriber costs at rest: of b.N of
// them, up to 10,000 at a time.
func BenchmarkIdleSubscriber(b *testing.B) {
	s := serve(b, b.TempDir(), "--log-level=error")
	s.like(b, "first", "1")
	before, n := measure(), min(b.N, 10_000)
	gather(b, s, n).await(b, 1)
	bytes, goroutines := measure().since(before, n)
	b.ReportMetric(bytes, "B/subscriber")
	b.ReportMetric(goroutines, "goroutines/subscriber")
}

// cost is what a process takes.
type cost struct{ bytes, goroutines float64 }

// measure looks once the collector has come to rest: it gives stacks back by
// halves.
func measure() cost {
	var m runtime.MemStats
	for range 4 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return cost{float64(m.HeapInuse + m.StackInuse), float64(runtime.NumGoroutine())}
}

func (c cost) since(before cost, n int) (bytes, goroutines float64) {
	return (c.bytes - before.bytes) / float64(n), (c.goroutines - before.goroutines) / float64(n)
}

// crowd is a process of subscribers.
type crowd struct {
	says  *bufio.Scanner
	known map[int]told
}

// told is when half of a crowd, 99 % and all of it knew of something, in
// nanoseconds since 1970 or since something else.
type told [3]int64

func (w told) since(began time.Time) told {
	for i := range w {
		w[i] -= began.UnixNano()
	}
	return w
}

// gather starts a crowd of n.
func gather(tb testing.TB, s *server, n int) *crowd {
	tb.Helper()
	self, err := os.Executable()
	must(tb, err)
	command := exec.Command(self)
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", crowdVariable, strings.TrimPrefix(s.url, "http://"), n))
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	must(tb, err)
	stdout, err := command.StdoutPipe()
	must(tb, err)
	must(tb, command.Start())
	tb.Cleanup(func() {
		must(tb, stdin.Close()) // it ends then
		must(tb, command.Wait())
	})
	return &crowd{says: bufio.NewScanner(stdout), known: map[int]told{}}
}

// await waits until all of the crowd know that so many like it.
func (c *crowd) await(tb testing.TB, likes int) told {
	tb.Helper()
	for c.says.Scan() {
		var count int
		var w told
		if _, err := fmt.Sscan(c.says.Text(), &count, &w[0], &w[1], &w[2]); err != nil {
			tb.Fatal(c.says.Text())
		}
		if c.known[count] = w; count == likes {
			return w
		}
	}
	tb.Fatalf("the crowd has ended: %v", c.says.Err())
	return told{}
}

// crowdVariable has a process be a crowd: the address of the server and how
// many there are.
const crowdVariable = "OVATION_TEST_CROWD"

// beCrowd subscribes so many times and prints for each number of likes that all
// have come to know of it, and when. It ends with its input.
func beCrowd(what string) int {
	var addr string
	var n int
	if _, err := fmt.Sscan(what, &addr, &n); err != nil {
		panic(err)
	}
	known := make(chan [2]int64, n) // how many likes, and when
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for range n {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			panic(err)
		}
		go subscriber(conn, known)
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

// subscriber speaks the little of the protocol that it needs.
func subscriber(conn net.Conn, known chan<- [2]int64) {
	in := bufio.NewReaderSize(conn, 512)
	say := func(opcode byte, text string) {
		frame := []byte{0x80 | opcode, 0x80 | 126, byte(len(text) >> 8), byte(len(text)), 0, 0, 0, 0} // masked by zeros
		if len(text) < 126 {
			frame = []byte{0x80 | opcode, 0x80 | byte(len(text)), 0, 0, 0, 0}
		}
		if _, err := conn.Write(append(frame, text...)); err != nil {
			panic(err)
		}
	}
	if _, err := io.WriteString(conn, "GET /graphql HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n"); err != nil {
		panic(err)
	}
	for line := ""; line != "\r\n"; {
		var err error
		if line, err = in.ReadString('\n'); err != nil {
			panic(err)
		}
	}
	say(1, `{"type":"connection_init"}`)
	for {
		var head [2]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return // it is over
		}
		length := int(head[1])
		if length == 126 {
			var long [2]byte
			_, _ = io.ReadFull(in, long[:])
			length = int(long[0])<<8 | int(long[1])
		}
		text := make([]byte, length)
		if _, err := io.ReadFull(in, text); err != nil {
			return
		}
		switch {
		case head[0] == 0x89:
			say(10, string(text))
		case bytes.Contains(text, []byte(`"connection_ack"`)):
			say(1, `{"type":"subscribe","id":"1","payload":{"query":"subscription Watch($s:[SubjectInput!]!){interactiveChanged(subjects:$s){id biz bizId version freshness readCount collectCount likeCount}}",`+
				`"variables":{"s":[{"biz":"video","bizId":"1"}]}}}`)
		default:
			_, after, found := bytes.Cut(text, []byte(`"likeCount":`))
			digits, _, _ := bytes.Cut(after, []byte("}"))
			likes, err := strconv.ParseInt(string(digits), 10, 64)
			if !found || err != nil {
				panic(string(text))
			}
			known <- [2]int64{likes, time.Now().UnixNano()}
		}
	}
}
