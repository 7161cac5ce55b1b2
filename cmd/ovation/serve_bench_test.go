package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	clients "ovation/bench/load"

	"ovation/internal/testing/must"
)

// BenchmarkServe sends HTTP requests to a node over several concurrent connections. The
// node runs in this process, so that profiles include it. The node makes almost all of
// the allocations. It also uses almost all of the CPU time, except for about 25 µs per
// request. An iteration is one request.
func BenchmarkServe(b *testing.B) {
	s := newSite(b)
	address := s.serveHere(b)
	likes := newQueryClient(address, func(user, n int) string {
		return fmt.Sprintf(`{"query":"mutation Like($input: LikeInput!) { like(input: $input) { changed durability } }","operationName":"Like","variables":{"input":{"biz":"video","bizId":"%d"}}}`, (7*user+n)%3000)
	}, `{"data":{"like":{"changed":true,"durability":"`) // any durability: a queue that is too slow is bypassed
	pages := newQueryClient(address, func(user, _ int) string {
		var subjects strings.Builder
		for i := range 20 {
			fmt.Fprintf(&subjects, `,{"biz":"video","bizId":"%d"}`, (20*user+i)%1000)
		}
		return `{"query":"query Feed($subjects: [SubjectInput!]!) { interactives(subjects: $subjects) { bizId readCount likeCount dislikeCount collectCount liked { reaction } collected { folder { name } } } }","variables":{"subjects":[` + subjects.String()[1:] + `]}}`
	}, `{"data":{"interactives":[{"bizId":`)
	pages.run(b, 32, pages.users) // every user sends a query before the benchmarks
	b.Run("like", func(b *testing.B) { likes.run(b, 128, b.N) })
	b.Run("page", func(b *testing.B) { pages.run(b, 32, b.N) })
}

// serveHere runs ovation serve in this process until the benchmark ends, and returns its
// address.
func (s *site) serveHere(b *testing.B) (address string) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	read, write := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"serve", "--addr=127.0.0.1:0", "--log-level=warn"}, s.getenv(), strings.NewReader(""), write, b.Output())
		_ = write.Close()
	}()
	b.Cleanup(func() {
		cancel()
		if code := <-code; code != 0 {
			b.Errorf("serve: got exit code %d, want 0", code)
		}
	})
	line, err := bufio.NewReader(read).ReadString('\n')
	must.Succeed(b, err)
	return strings.TrimPrefix(serves.FindString(line), "http://")
}

// queryClient sends similar requests on behalf of many users in turn.
type queryClient struct {
	address string
	users   int
	tokens  []string
	body    func(user, n int) string // returns the body of a user's n-th request
	reply   string                   // the beginning of every correct reply
	asked   int                      // number of requests in earlier runs
}

func newQueryClient(address string, body func(user, n int) string, reply string) *queryClient {
	a := &queryClient{address: address, users: 4000, body: body, reply: reply}
	for i := range a.users {
		a.tokens = append(a.tokens, strings.TrimPrefix(as("user-" + strconv.Itoa(i))["Authorization"], "Bearer "))
	}
	return a
}

// run sends the given number of requests over the given number of connections.
func (a *queryClient) run(b *testing.B, connections, times int) {
	b.Helper()
	var next atomic.Int64
	all := make([]clients.Client, connections)
	for i := range all {
		all[i] = &queryLoadClient{queryClient: a, next: &next, end: int64(times)}
	}
	b.ReportAllocs()
	b.ResetTimer()
	worked := cpuTime(b)
	result, err := clients.Closed(b.Context(), a.address, all, time.Hour)
	b.StopTimer()
	worked = cpuTime(b) - worked
	a.asked += times
	must.Succeed(b, err)
	if result.Errors > 0 || result.Requests != int64(times) {
		b.Fatalf("%d of %d replies were wrong, want %d right ones: %q", result.Errors, result.Requests, times, result.Faults)
	}
	b.ReportMetric(float64(worked.Nanoseconds())/1e3/float64(times), "cpu-µs/op")
	b.ReportMetric(result.Rate(), "requests/s")
	b.ReportMetric(result.Quantile(50).Seconds()*1e3, "p50-ms")
	b.ReportMetric(result.Quantile(99).Seconds()*1e3, "p99-ms")
}

// cpuTime returns the processor time that this process has used. Other processes on the
// machine affect it little.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	must.Succeed(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// queryLoadClient is one connection of a queryClient.
type queryLoadClient struct {
	*queryClient

	next *atomic.Int64
	end  int64
}

// Next implements clients.Client.
func (c *queryLoadClient) Next(buf []byte) []byte {
	n := c.next.Add(1) - 1
	if n >= c.end {
		return nil
	}
	at := c.asked + int(n)
	user := at % c.users
	return clients.Post(buf, c.address, "/graphql", c.tokens[user], []byte(c.body(user, at/c.users)))
}

// Done implements clients.Client.
func (c *queryLoadClient) Done(status int, body []byte) error {
	if status != http.StatusOK || !strings.HasPrefix(string(body), c.reply) {
		return fmt.Errorf("got status %d, %.200s, want 200, %s…", status, body, c.reply)
	}
	return nil
}
