package resolvers_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"ovation/api/rate"
	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/worker"
)

// isRateLimited checks that a response is RATE_LIMITED and states how long to wait.
func isRateLimited(t *testing.T, got answer) {
	t.Helper()
	if len(got.Errors) != 1 || got.Errors[0].Extensions["code"] != "RATE_LIMITED" {
		t.Fatalf("got %+v, want RATE_LIMITED alone", got)
	}
	seconds, _ := got.Errors[0].Extensions["retryAfter"].(float64)
	if seconds < 1 || got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != strconv.Itoa(int(seconds)) {
		t.Fatalf("got status %d, Retry-After %q, %+v, want 429 and Retry-After as retryAfter", got.status, got.header.Get("Retry-After"), got.Errors)
	}
}

// wantRateLimit repeats a call that costs price units until the call is refused. It
// checks that no more calls were accepted than a bucket that gains perSecond units per
// second allows. Of the price, charged units are taken after the call is admitted. The
// last call that is admitted may overdraw the bucket by these.
func wantRateLimit(t *testing.T, perSecond, price, charged int, do func() (refused bool)) {
	t.Helper()
	begin := time.Now()
	for n := 1; !do(); n++ {
		if most := 10*float64(perSecond) + float64(perSecond)*time.Since(begin).Seconds(); float64(n*price-charged) > most {
			t.Fatalf("got %d requests of cost %d accepted, want at most %.0f units in this time", n, price, most)
		}
	}
}

const (
	countsQuery  = `{ interactive(biz: "video", bizId: "1") { readCount likeCount } }`
	countsCost   = rate.PerRequest + 3/rate.FieldsPerUnit
	readMutation = `mutation { read(input: {biz: "video", bizId: "1"}) { changed } }`
	readCost     = rate.PerRequest + rate.PerRead + 2/rate.FieldsPerUnit
)

// TestOperationsAreLimitedByCost lets one client of each kind flood the service, and
// checks that other clients are not affected.
func TestOperationsAreLimitedByCost(t *testing.T) {
	const perSecond = 40
	s := start(t, withRates(rate.Config{PerUser: perSecond, PerAddress: perSecond}))
	flood := func(user, query string, price int) {
		t.Helper()
		wantRateLimit(t, perSecond, price, 0, func() bool {
			got := s.ask(t, user, query)
			if len(got.Errors) > 0 {
				isRateLimited(t, got)
			}
			return len(got.Errors) > 0
		})
	}
	flood("alice", countsQuery, countsCost)
	flood("reader", readMutation, readCost)
	s.ok(t, "bob", countsQuery)
	if got := s.askAs(t, storage.User{Tenant: "other", UserID: "alice"}, countsQuery); len(got.Errors) > 0 {
		t.Errorf("a user of another tenant: got %+v, want no errors", got)
	}
	flood("", readMutation, readCost)
	s.ok(t, "bob", readMutation)
	if users, addresses := s.metric(t, "ovation_rate_limited_total", "user"), s.metric(t, "ovation_rate_limited_total", "address"); users != 2 || addresses != 1 {
		t.Errorf("got %v refusals of users and %v of addresses counted, want 2 and 1", users, addresses)
	}
}

// TestRejectedRequestsAreCharged floods the service with requests that are rejected
// before they are executed.
func TestRejectedRequestsAreCharged(t *testing.T) {
	const perSecond, price = 1000, 1000
	padding := strings.Repeat("#", price)
	for name, test := range map[string]struct {
		query   string
		charged int // see wantRateLimit; 0 if the bucket is checked again before the operation is executed
	}{
		"no such field":   {"{ nothing } " + padding, price},
		"no document":     {"{ " + padding, price},
		"new, and valid":  {countsQuery + padding, 0},
		"new, and costly": {"{ interactive(biz: \"video\", bizId: \"1\") { likers(first: 100) { edges { node { user { likes(first: 100) { edges { node { at } } } } } } } }" + padding, price},
	} {
		t.Run(name, func(t *testing.T) {
			s, n := start(t, withRates(rate.Config{PerAddress: perSecond})), 0
			wantRateLimit(t, perSecond, price, test.charged, func() bool {
				n++
				got := s.ask(t, "", test.query+strconv.Itoa(n))
				return got.status == http.StatusTooManyRequests
			})
		})
	}
	t.Run("an invalid body", func(t *testing.T) {
		s := start(t, withRates(rate.Config{PerAddress: perSecond}))
		wantRateLimit(t, perSecond, price, price, func() bool {
			status, _, _ := s.exchange(t, http.MethodPost, "/graphql", `{"query":1}`+strings.Repeat(" ", price))
			return status == http.StatusTooManyRequests
		})
	})
	t.Run("an invalid token", func(t *testing.T) {
		s, begin := start(t, withRates(rate.Config{PerAddress: 10})), time.Now()
		for n := 1; ; n++ {
			status := s.askBy(t, "nonsense", `{ __typename }`).status
			if status == http.StatusTooManyRequests {
				return
			}
			if most := 100 + 10*time.Since(begin).Seconds(); status != http.StatusUnauthorized || float64(n*rate.PerRequest) > most {
				t.Fatalf("request %d: got status %d, want 401, and 429 beyond %.0f units", n, status, most)
			}
		}
	})
}

// aliased returns a mutation of n reads.
func aliased(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `a%d: read(input: {biz: "video", bizId: "%d"}) { changed } `, i, i)
	}
	return "mutation { " + text.String() + "}"
}

// TestOneSocketIsNoFlood sends operations with the maximum number of root fields over one
// WebSocket.
func TestOneSocketIsNoFlood(t *testing.T) {
	const perSecond = 1000
	price := rate.PerRequest + 10*(rate.PerRead+2/rate.FieldsPerUnit)
	s := start(t, withRates(rate.Config{PerSocket: perSecond}))
	c := s.connect(t, "alice")
	id := 0
	wantRateLimit(t, perSecond, price, 0, func() bool {
		id++
		c.asks(strconv.Itoa(id), aliased(10))
		got := c.next()
		if strings.Contains(got, `"type":"next"`) {
			c.receives(fmt.Sprintf(`{"type":"complete","id":"%d"}`, id))
			return false
		}
		if !strings.HasPrefix(got, fmt.Sprintf(`{"type":"error","id":"%d","payload":[{"message":"rate limit exceeded; try again in `, id)) ||
			!strings.Contains(got, `"extensions":{"code":"RATE_LIMITED","retryAfter":`) {
			t.Fatalf("the socket received %s, want a result or RATE_LIMITED with retryAfter", got)
		}
		return true
	})
	c.say(`{"type":"ping"}`) // the socket stays open
	c.receives(`{"type":"pong"}`)
	s.connect(t, "bob").asks("1", aliased(10))
	s.ok(t, "alice", aliased(10)) // not over the socket
}

// TestUnpaidStreamDoesNotStart requests event streams until the rate limit refuses one.
func TestUnpaidStreamDoesNotStart(t *testing.T) {
	const perSecond, query = 40, `{"query":"subscription { interactiveChanged(subjects: [{biz: \"video\", bizId: \"1\"}]) { likeCount } }"}`
	s := start(t, withRates(rate.Config{PerUser: perSecond}))
	wantRateLimit(t, perSecond, rate.PerRequest+2/rate.FieldsPerUnit, 0, func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/graphql", strings.NewReader(query))
		must.Succeed(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "text/event-stream")
		req.Header.Set("X-Ovation-User", "alice")
		res, err := http.DefaultClient.Do(req)
		must.Succeed(t, err)
		must.Succeed(t, res.Body.Close())
		if res.StatusCode != http.StatusTooManyRequests {
			return false
		}
		if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err != nil || seconds < 1 {
			t.Errorf("got Retry-After %q, want at least 1", res.Header.Get("Retry-After"))
		}
		return true
	})
}

// stalled is a store that persists nothing until its gate is open.
type stalled struct {
	storage.Store

	gate chan struct{}
}

func (s *stalled) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	select {
	case <-s.gate:
	case <-ctx.Done():
		return storage.Outcome{}, ctx.Err()
	}
	return s.Store.Persist(ctx, messages, mark)
}

// TestAnonymousReadsAreRefusedWhileManyWait sends more reads than may wait, and one like,
// while nothing is persisted.
func TestAnonymousReadsAreRefusedWhileManyWait(t *testing.T) {
	const room, readers = 10, 50
	gate := make(chan struct{})
	s := start(t,
		withStore(func(store storage.Store) storage.Store { return &stalled{store, gate} }),
		func(set *settings) { set.recorder = worker.RecorderOptions{MaxBacklog: 5 * room} })
	answers := make(chan answer, readers)
	for range readers {
		go func() { answers <- s.ask(t, "", readMutation) }()
	}
	for range readers - room {
		got := <-answers // the error is that of a field, so the operation was executed
		if len(got.Errors) != 1 || got.Errors[0].Extensions["code"] != "RATE_LIMITED" || got.Errors[0].Extensions["retryAfter"] != 1.0 {
			t.Errorf("a read beyond the limit: got %+v, want RATE_LIMITED alone, retryAfter 1", got)
		}
	}
	liked := make(chan answer, 1)
	go func() { liked <- s.ask(t, "alice", likeOne) }()
	close(gate)
	for range room {
		if got := <-answers; len(got.Errors) > 0 {
			t.Errorf("a read within the limit: got %+v, want no errors", got)
		}
	}
	if got := <-liked; len(got.Errors) > 0 {
		t.Errorf("a like: got %+v, want no errors", got)
	}
	if n := dig(t, s.ok(t, "", countsQuery), "interactive", "readCount"); n != float64(room) {
		t.Errorf("%v reads are counted, want %d", n, room)
	}
}
