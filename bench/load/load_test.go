package load_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ovation/bench/load"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client sends limit requests, or an unlimited number if limit is 0.
type client struct {
	request []byte
	limit   int
	sent    int
	waiting bool
	check   func(status int, body []byte) error
}

func (c *client) Next(buf []byte) []byte {
	if c.waiting {
		panic("a request was taken before the last one was answered")
	}
	if c.limit > 0 && c.sent == c.limit {
		return nil
	}
	c.sent++
	c.waiting = true
	return append(buf, c.request...)
}

func (c *client) Done(status int, body []byte) error {
	c.waiting = false
	if c.check == nil {
		return nil
	}
	return c.check(status, body)
}

// startServer starts a server. It returns the server's address and n clients, once as
// load.Client and once as *client.
func startServer(t *testing.T, n int, handler http.HandlerFunc) (string, []load.Client, []*client) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	address := strings.TrimPrefix(server.URL, "http://")
	own := make([]*client, n)
	all := make([]load.Client, n)
	for i := range all {
		own[i] = &client{request: load.Post(nil, address, "/it", "secret", []byte(`{"a":1}`))}
		all[i] = own[i]
	}
	return address, all, own
}

func TestRequestsAndRepliesAreComplete(t *testing.T) {
	for name, size := range map[string]int{"empty": 0, "short": 10, "in chunks": 100_000} {
		t.Run(name, func(t *testing.T) {
			want := strings.Repeat("x", size)
			address, clients, own := startServer(t, 1, func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil || string(body) != `{"a":1}` || r.URL.Path != "/it" || r.Header.Get("Authorization") != "Bearer secret" {
					w.WriteHeader(http.StatusTeapot)
				}
				_, _ = io.WriteString(w, want)
			})
			own[0].limit = 3
			own[0].check = func(status int, body []byte) error {
				if status != http.StatusOK || string(body) != want {
					return fmt.Errorf("status %d, %d bytes", status, len(body))
				}
				return nil
			}
			result, err := load.Closed(t.Context(), address, clients, time.Minute)
			if err != nil || result.Requests != 3 || result.Errors != 0 {
				t.Errorf("got %+v, %v, want 3 requests and no errors", result, err)
			}
		})
	}
}

func TestRequestsOfAClientAlternateWithReplies(t *testing.T) {
	var at, most atomic.Int64
	address, clients, own := startServer(t, 4, func(http.ResponseWriter, *http.Request) {
		most.Store(max(most.Load(), at.Add(1)))
		at.Add(-1)
	})
	for _, c := range own {
		c.limit = 50
	}
	result, err := load.Closed(t.Context(), address, clients, time.Minute) // Next panics if it is called out of turn
	if err != nil || result.Requests != 200 || most.Load() > 4 {
		t.Errorf("got %d requests, %d of them at a time, %v, want 200, at most 4", result.Requests, most.Load(), err)
	}
}

func TestOpenKeepsTheRate(t *testing.T) {
	address, clients, _ := startServer(t, 16, func(http.ResponseWriter, *http.Request) {})
	const rate, seconds = 500, 1
	result, err := load.Open(t.Context(), address, clients, rate, seconds*time.Second, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	// The seed determines the times, so that the number of requests is always the same.
	if result.Requests < 400 || result.Requests > 600 || result.Latency.TotalCount() != result.Requests {
		t.Errorf("%d requests, %d of them measured, want 400 to 600, all measured", result.Requests, result.Latency.TotalCount())
	}
}

func TestOpenMeasuresFromTheDueTime(t *testing.T) {
	const stall = 500 * time.Millisecond
	var once sync.Once
	var mu sync.Mutex
	address, clients, _ := startServer(t, 2, func(http.ResponseWriter, *http.Request) {
		mu.Lock() // while one request stalls, all other requests wait
		defer mu.Unlock()
		once.Do(func() { <-time.After(stall) })
	})
	result, err := load.Open(t.Context(), address, clients, 200, time.Second, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	// Of about 200 requests, 100 fall due while the server is stalled. If latency were
	// measured from the time of sending, only two of these requests would be slow.
	if waited := result.Quantile(75); waited < stall/4 {
		t.Errorf("a quarter of the requests waited %v and longer, want at least %v", waited, stall/4)
	}
}

func TestFaultsAreCounted(t *testing.T) {
	address, clients, own := startServer(t, 2, func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 {
			panic(http.ErrAbortHandler)
		}
	})
	own[0].limit, own[0].check = 5, func(int, []byte) error { return errors.New("wrong") }
	own[1].request = load.Post(nil, address, "/it", "", nil)
	result, err := load.Closed(t.Context(), address, clients, time.Minute)
	if err != nil || result.Requests != 5 || result.Errors != 6 || len(result.Faults) != 3 {
		t.Errorf("got %+v, %v, want 5 requests, 6 errors and 3 faults", result, err)
	}
}

func TestRunningOutOfRequestsIsAnError(t *testing.T) {
	address, clients, own := startServer(t, 1, func(http.ResponseWriter, *http.Request) {})
	own[0].limit = 1
	if _, err := load.Open(t.Context(), address, clients, 100, 100*time.Millisecond, rand.New(rand.NewPCG(1, 1))); err == nil {
		t.Error("Open returned no error when a client ran out of requests")
	}
}
