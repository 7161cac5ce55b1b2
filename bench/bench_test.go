package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ovation/bench/load"
)

// generateTestData returns the users of generated data, a possible state of Postgres, and
// a few pages.
func generateTestData(t *testing.T) (*userPool, *databaseState, []page) {
	t.Helper()
	d := generateData(1)
	p, err := newUserPoolFromData(d, strings.Repeat("s", 32))
	if err != nil {
		t.Fatal(err)
	}
	_, users := d.samplers()
	drawn := p.drawPages(rand.New(rand.NewPCG(1, 1)), users, 8)
	of := &databaseState{counts: map[string]counts{}, liked: map[stateKey]int64{}, collected: map[stateKey]int64{}, sent: make([]int64, len(p.sent))}
	for i, name := range p.subjects.names {
		of.counts[name] = counts{int64(i), 7, 0, 3}
	}
	of.liked[stateKey{p.names[drawn[0].viewer], p.subjects.names[drawn[0].subjects[2]]}] = 1_700_000_000_123_456
	of.collected[stateKey{p.names[drawn[0].viewer], p.subjects.names[drawn[0].subjects[5]]}] = 1_700_000_000_000_000
	return p, of, drawn
}

func newTestSystem(p *userPool) *system {
	return &system{name: "it", process: &process{address: "127.0.0.1:1"}, users: p}
}

func TestWrongPagesAreFound(t *testing.T) {
	p, of, drawn := generateTestData(t)
	all := newTestSystem(p).newWorkload(p, of, drawn)
	clients := all.newPageClients(1, false)
	right := all.expectedReplies[0]
	for _, reply := range []struct {
		name   string
		status int
		body   string
		wrong  bool
	}{
		{"right", http.StatusOK, string(right), false},
		{"status", http.StatusServiceUnavailable, string(right), true},
		{"a wrong count", http.StatusOK, strings.Replace(string(right), `"likeCount":7`, `"likeCount":8`, 1), true},
		{"a like that was not made", http.StatusOK, strings.Replace(string(right), `"liked":null`, `"liked":{"reaction":"LIKE","at":"2024-01-01T00:00:00Z"}`, 1), true},
		{"a lost like", http.StatusOK, strings.Replace(string(right), `{"reaction":"LIKE","at":"2023-11-14T22:13:20.123456Z"}`, `null`, 1), true},
		{"nothing", http.StatusOK, "", true},
	} {
		one := all.newPageClients(1, false)[0]
		one.Next(nil)
		if err := one.Done(reply.status, []byte(reply.body)); (err != nil) != reply.wrong {
			t.Errorf("%s: got %v, want an error: %t", reply.name, err, reply.wrong)
		}
	}
	if first := clients[0].Next(nil); !bytes.Contains(first, []byte(p.tokens[drawn[0].viewer])) {
		t.Errorf("the first request is %s, want the token of viewer %d in it", first, drawn[0].viewer)
	}
}

func TestWrongPagesAreFoundDuringLikes(t *testing.T) {
	p, of, drawn := generateTestData(t)
	all := newTestSystem(p).newWorkload(p, of, drawn)
	newMixer := func() *mixedClient {
		m, ok := all.newMixedClients(drawn, newTestSystem(p), of, 1, 1, true)[0].(*mixedClient)
		if !ok {
			t.Fatal("the client is not a mixedClient")
		}
		m.Next(nil)
		return m
	}
	right := string(all.expectedReplies[0])
	liked := drawn[0].subjects[0] // liked by the viewer in the meantime
	id := p.subjects.names[liked]
	before := fmt.Sprintf(`"bizId":%q,"readCount":%d,"likeCount":7,"dislikeCount":0,"collectCount":3,"liked":null`, id, of.counts[id].reads)
	after := func(likes int, state string) string {
		changed := strings.Replace(before, `:7`, fmt.Sprintf(":%d", likes), 1)
		return strings.Replace(right, before, strings.Replace(changed, `null`, state, 1), 1)
	}
	const like = `{"reaction":"LIKE","at":"2024-01-01T00:00:00Z"}`
	if err := newMixer().checkPage([]byte(right)); err != nil {
		t.Errorf("before the like: judge(the right page) = %v, want no error", err)
	}
	if newMixer().checkPage([]byte(after(8, `null`))) == nil {
		t.Error("judge(a page with a stored like that was never sent) returned no error")
	}
	p.recordSent(drawn[0].viewer, liked)
	p.recordAcked(drawn[0].viewer, liked)
	for _, reply := range []struct {
		name, body string
		wrong      bool
	}{
		{"shown", after(8, like), false},
		{"not shown", right, true},
		{"not counted", after(7, like), true},
		{"counted twice", after(9, like), true},
		{"a dislike", after(8, strings.Replace(like, "LIKE", "DISLIKE", 1)), true},
	} {
		if err := newMixer().checkPage([]byte(reply.body)); (err != nil) != reply.wrong {
			t.Errorf("%s: got %v, want an error: %t", reply.name, err, reply.wrong)
		}
	}
}

func TestFloorPagesAreChecked(t *testing.T) {
	p, of, drawn := generateTestData(t)
	s := newTestSystem(p)
	s.floor = true
	right := string(s.newWorkload(p, of, drawn).expectedReplies[0])
	items, err := s.parsePage([]byte(right))
	if err != nil || len(items) != pageSize || !items[2].liked || items[0].liked || !items[5].collected || items[0].likes != 7 {
		t.Fatalf("got %+v, %v, want %d items, the first with 7 likes, the third liked, the sixth collected", items, err, pageSize)
	}
	m, ok := s.newWorkload(p, of, drawn).newMixedClients(drawn, s, of, 1, 1, true)[0].(*mixedClient)
	if !ok {
		t.Fatal("the client is not a mixedClient")
	}
	m.Next(nil)
	for body, wrong := range map[string]bool{
		right: false,
		strings.Replace(right, `"likes":7`, `"likes":8`, 1):             true,
		strings.Replace(right, `"own":"l"`, `"own":""`, 1):              true,
		strings.Replace(right, `"own":"c"`, `"own":""`, 1):              true,
		strings.Replace(right, `"own":""`, `"own":"l"`, 1):              true,
		strings.Replace(right, `"collections":3`, `"collections":4`, 1): true,
	} {
		if err := m.checkPage([]byte(body)); (err != nil) != wrong {
			t.Errorf("%s: got %v, want an error: %t", body, err, wrong)
		}
	}
}

func TestWrongLikesAreFound(t *testing.T) {
	p, of, _ := generateTestData(t)
	for _, reply := range []struct {
		name   string
		shown  bool
		status int
		body   string
		wrong  bool
	}{
		{"right", false, 200, `{"data":{"like":{"changed":true,"durability":"QUEUED"}}}`, false},
		{"past the queue", false, 200, `{"data":{"like":{"changed":true,"durability":"PERSISTED"}}}`, false},
		{"unchanged", false, 200, `{"data":{"like":{"changed":false,"durability":"QUEUED"}}}`, true},
		{"an error", false, 200, `{"errors":[{"message":"no"}],"data":null}`, true},
		{"status", false, 500, `{"data":{"like":{"changed":true,"durability":"QUEUED"}}}`, true},
		{"shown", true, 200, `{"data":{"like":{"changed":true,"durability":"QUEUED","interactive":{"likeCount":8,"liked":{"reaction":"LIKE"}}}}}`, false},
		{"not counted", true, 200, `{"data":{"like":{"changed":true,"durability":"QUEUED","interactive":{"likeCount":7,"liked":{"reaction":"LIKE"}}}}}`, true},
		{"counted too often", true, 200, `{"data":{"like":{"changed":true,"durability":"QUEUED","interactive":{"likeCount":99,"liked":{"reaction":"LIKE"}}}}}`, true},
		{"not liked", true, 200, `{"data":{"like":{"changed":true,"durability":"QUEUED","interactive":{"likeCount":8,"liked":null}}}}`, true},
	} {
		acked := p.acked.Load()
		one := newTestSystem(p).newLikeClients(1, 1, func(l *likeClient) { l.withCount, l.initialState = reply.shown, of })[0]
		one.Next(nil)
		err := one.Done(reply.status, []byte(reply.body))
		if (err != nil) != reply.wrong {
			t.Errorf("%s: got %v, want an error: %t", reply.name, err, reply.wrong)
		}
		if noted := p.acked.Load() > acked; noted == reply.wrong {
			t.Errorf("%s: got acknowledged: %t, want %t", reply.name, noted, !reply.wrong)
		}
	}
}

func TestWrongCommentsAreFound(t *testing.T) {
	p, _, _ := generateTestData(t)
	for body, wrong := range map[string]bool{
		`{"data":{"addComment":{"comment":{"commentId":"42"}}}}`:          false,
		`{"errors":[{"message":"no"}],"data":null}`:                       true,
		`{"data":{"addComment":null},"errors":[{"message":"no viewer"}]}`: true,
	} {
		var acked atomic.Int64
		subject := func(*rand.Rand) (string, string) { return commentedBiz, "7" }
		one := &commentClient{newTestSystem(p), rand.New(rand.NewPCG(1, 1)), subject, &acked, 1}
		if request := one.Next(nil); !bytes.Contains(request, []byte(`"bizId":"7"`)) || one.Next(nil) != nil {
			t.Errorf("the request is %s, want one about subject 7 and no second one", request)
		}
		if err := one.Done(http.StatusOK, []byte(body)); (err != nil) != wrong || (acked.Load() == 0) != wrong {
			t.Errorf("%s: got %v, %d acknowledged, want an error or an acknowledgement (an error: %t)", body, err, acked.Load(), wrong)
		}
	}
}

func TestNoUserLikesASubjectTwice(t *testing.T) {
	p, _, _ := generateTestData(t)
	seen := map[string]bool{}
	clients := newTestSystem(p).newLikeClients(3, 1, func(*likeClient) {})
	for range 2000 {
		for _, c := range clients {
			request := string(c.Next(nil))
			if seen[request] {
				t.Fatalf("the like is sent twice: %s", request)
			}
			seen[request] = true
		}
	}
}

func TestEveryPageIsRequestedOnce(t *testing.T) {
	p, of, drawn := generateTestData(t)
	all := newTestSystem(p).newWorkload(p, of, drawn)
	asked := map[string]int{}
	for _, c := range all.newPageClients(3, true) {
		for request := c.Next(nil); request != nil; request = c.Next(nil) {
			asked[string(request)]++
		}
	}
	if len(asked) != len(drawn) {
		t.Errorf("%d different pages are requested, want %d", len(asked), len(drawn))
	}
	for request, times := range asked {
		if times != 1 {
			t.Errorf("%s is requested %d times, want once", request, times)
		}
	}
}

func TestGeneratedDataIsReproducibleAndSkewed(t *testing.T) {
	a, b := generateData(7), generateData(7)
	if !slices.Equal(a.rows, b.rows) || slices.Equal(a.rows, generateData(8).rows) {
		t.Errorf("rows of seed 7 are the same twice: %t, those of seed 8 are the same: %t, want true, false", slices.Equal(a.rows, b.rows), slices.Equal(a.rows, generateData(8).rows))
	}
	subjects, users := a.samplers()
	for _, c := range []struct {
		name        string
		of          *sampler
		least, most int64 // limits on the number of rows with the first name
	}{{"subjects", subjects, 250, 500}, {"users", users, 1400, 2400}} {
		if first := c.of.cumulativeWeights[0]; first < c.least || first > c.most {
			t.Errorf("%s: the first has %d of %d rows, want %d to %d", c.name, first, generatedRows, c.least, c.most)
		}
	}
	if len(subjects.names) < generatedItems*9/10 || len(users.names) < generatedUsers*9/10 {
		t.Errorf("%d subjects and %d users have rows, want at least %d and %d", len(subjects.names), len(users.names), generatedItems*9/10, generatedUsers*9/10)
	}
}

func TestCPUTimeIsMeasuredPerProcess(t *testing.T) {
	m := newCPUMeter()
	before := m.read()
	if before == nil {
		if runtime.GOOS == "linux" {
			t.Fatal("/proc cannot be read")
		}
		t.Skip("only Linux has the /proc that is read")
	}
	sum := 0
	for m.read().since(before)[generatorName] < 5*clockTick { // ends, because the loop itself takes CPU time
		for i := range 1_000_000 {
			sum += i
		}
	}
	if used := m.read().since(before); used[machineName]+5*clockTick < used[generatorName] {
		t.Errorf("the machine used %v and this process %v, want no less for the machine (%d)", used[machineName], used[generatorName], sum)
	}
}

func TestNumbersAreFormatted(t *testing.T) {
	for want, of := range map[string]struct {
		f      float64
		digits int
	}{"1,234,567": {1234567, 0}, "999": {999, 0}, "-1,000.5": {-1000.5, 1}, "12.35": {12.345001, 2}} {
		if got := formatNumber(of.f, of.digits); got != want {
			t.Errorf("grouped(%v, %d) = %s, want %s", of.f, of.digits, got, want)
		}
	}
	if s := (series{3, 1, 2, 10}); s.median() != 2.5 {
		t.Errorf("the median of %v: got %v, want 2.5", s, s.median())
	}
}

func TestLikesAreAwaitedFromEveryWatcher(t *testing.T) {
	begin := time.Now()
	says := func(words ...receipt) *watcherGroup {
		c := &watcherGroup{subscriptions: make([]*load.Subscription, 2), receipts: make(chan receipt, len(words)), latestCounts: []int64{-1, -1}}
		for i, one := range words {
			one.at = begin.Add(time.Duration(i) * time.Second)
			c.receipts <- one
		}
		return c
	}
	c := says(receipt{watcher: 0}, receipt{watcher: 0}, receipt{watcher: 1}, receipt{watcher: 1, likes: 1}, receipt{watcher: 1, likes: 1}, receipt{watcher: 0, likes: 1})
	for likes, last := range []time.Duration{2 * time.Second, 5 * time.Second} {
		at, err := c.awaitLikes(t.Context(), int64(likes))
		if err != nil || len(at) != 2 || !at[1].Equal(begin.Add(last)) {
			t.Errorf("await(%d) = %v, %v, want two times, the second one %v after the start", likes, at, err, last)
		}
	}
	for name, words := range map[string][]receipt{
		"too many":  {{watcher: 0, likes: 2}},
		"backwards": {{watcher: 0, likes: 1}, {watcher: 0}},
		"a fault":   {{watcher: 0, err: errors.New("connection closed")}},
	} {
		if at, err := says(words...).awaitLikes(t.Context(), 1); err == nil {
			t.Errorf("%s: await = %v, want an error", name, at)
		}
	}
}

func TestLikeCountOfAnEventIsParsed(t *testing.T) {
	for text, want := range map[string]int64{
		`{"data":{"interactiveChanged":{"freshness":"LIVE","likeCount":12}}}`:  12,
		`{"data":{"interactiveChanged":{"freshness":"STALE","likeCount":12}}}`: -1,
		`{"errors":[{"message":"freshness\":\"LIVE"}]}`:                        -1,
	} {
		if got, err := parseLikeCount([]byte(text)); err == nil && got != want || err != nil && want >= 0 {
			t.Errorf("%s: got %d, %v, want %d (-1: an error)", text, got, err, want)
		}
	}
}

var _ load.Client = (*mixedClient)(nil)
