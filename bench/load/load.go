package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Client creates the requests for one connection and checks the replies. Next and Done
// are called alternately, by one goroutine.
type Client interface {
	// Next appends the next request to buf. It returns nil when no request is left.
	Next(buf []byte) []byte
	// Done checks the reply to the last request. body is valid until Done returns. Done
	// is not called if the connection has failed.
	Done(status int, body []byte) error
}

// Result reports the outcome of a load.
type Result struct {
	Requests int64 // number of requests that were answered
	Errors   int64 // number of replies that were wrong, and of connections that failed
	Faults   []string
	Elapsed  time.Duration // from the first request to the last reply
	// Latency holds the latency of each answered request, in microseconds.
	Latency *hdrhistogram.Histogram
}

// Rate returns the number of replies per second.
func (r *Result) Rate() float64 { return float64(r.Requests) / r.Elapsed.Seconds() }

// Quantile returns the time within which the given percentage of requests was answered.
func (r *Result) Quantile(percent float64) time.Duration {
	return time.Duration(r.Latency.ValueAtQuantile(percent)) * time.Microsecond
}

const (
	maxFaults    = 3                // maximum length of Result.Faults
	maxLatency   = time.Minute      // longer latencies are recorded as this value
	drainTimeout = 15 * time.Second // maximum wait for the last replies, after the end of the load
)

// Closed makes each client send its next request as soon as the previous one is answered.
// It ends after the given time, or once no client has requests left. It returns an error
// if a connection cannot be established or ctx is done.
func Closed(ctx context.Context, address string, clients []Client, during time.Duration) (*Result, error) {
	r := newLoadRun(address, during)
	return r.runClients(ctx, clients, func(ctx context.Context, c Client, conn *Conn) {
		var buf []byte
		for ctx.Err() == nil && time.Now().Before(r.end) {
			if buf = c.Next(buf[:0]); buf == nil {
				return
			}
			if !r.exchange(c, conn, buf, time.Now()) {
				return
			}
		}
	}, nil)
}

// Open sends requests at random times, perSecond on average, regardless of earlier
// requests. Each request is sent by the next client that is free. Latency is measured
// from the time at which the request was due. Like Closed, Open returns an error if a
// connection cannot be established or ctx is done. It also returns an error if a client
// has no requests left, or if too many requests are waiting to be sent.
func Open(ctx context.Context, address string, clients []Client, perSecond float64, during time.Duration, random *rand.Rand) (*Result, error) {
	r := newLoadRun(address, during)
	due := make(chan time.Time, int(perSecond*during.Seconds()*2)+1000) // so that sending to it never blocks
	var empty error
	var once sync.Once
	return r.runClients(ctx, clients, func(ctx context.Context, c Client, conn *Conn) {
		var buf []byte
		for at := range due {
			if ctx.Err() != nil {
				continue // the remaining requests are dropped
			}
			if buf = c.Next(buf[:0]); buf == nil {
				once.Do(func() { empty = errors.New("a client has run out of requests") })
				return
			}
			if !r.exchange(c, conn, buf, at) {
				return
			}
		}
	}, func(ctx context.Context) error {
		defer close(due)
		for at := r.started; ; {
			at = at.Add(time.Duration(random.ExpFloat64() / perSecond * float64(time.Second)))
			if at.After(r.end) || ctx.Err() != nil {
				return nil
			}
			sleepUntil(at)
			select {
			case due <- at:
			default:
				return fmt.Errorf("more than %d requests are waiting to be sent", cap(due))
			}
		}
	}, &empty)
}

// loadRun is the state of one call to Closed or Open.
type loadRun struct {
	address      string
	during       time.Duration
	started, end time.Time

	mu     sync.Mutex
	result Result
}

func newLoadRun(address string, during time.Duration) *loadRun {
	r := &loadRun{address: address, during: during}
	r.result.Latency = hdrhistogram.New(1, maxLatency.Microseconds(), 3)
	return r
}

// runClients connects all clients. Then it runs every client and, if schedule is not nil,
// calls schedule concurrently. The error that it returns includes the errors that
// clientErrs point to.
func (r *loadRun) runClients(
	ctx context.Context, clients []Client, runClient func(context.Context, Client, *Conn), schedule func(context.Context) error, clientErrs ...*error,
) (*Result, error) {
	conns := make([]*Conn, 0, len(clients))
	defer func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	}()
	for range clients {
		conn, err := Dial(ctx, r.address)
		if err != nil {
			return nil, fmt.Errorf("connect to %s: %w", r.address, err)
		}
		conns = append(conns, conn)
	}
	r.started = time.Now()
	r.end = r.started.Add(r.during)
	for _, conn := range conns {
		conn.setDeadline(r.end.Add(drainTimeout))
	}
	defer context.AfterFunc(ctx, func() {
		for _, conn := range conns {
			conn.setDeadline(time.Unix(1, 0))
		}
	})()
	var wait sync.WaitGroup
	for i, conn := range conns {
		wait.Go(func() { runClient(ctx, clients[i], conn) })
	}
	var err error
	if schedule != nil {
		err = schedule(ctx)
	}
	wait.Wait()
	for _, other := range clientErrs {
		err = errors.Join(err, *other)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r.result.Elapsed = time.Since(r.started)
	return &r.result, err
}

// exchange sends a request and records the reply. Latency is measured from the given
// time, at which the request was due. It returns false if the connection has failed.
func (r *loadRun) exchange(c Client, conn *Conn, request []byte, due time.Time) bool {
	status, body, err := conn.Do(request)
	took := min(time.Since(due), maxLatency)
	failed := err != nil
	if !failed {
		err = c.Done(status, body)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !failed {
		r.result.Requests++
		_ = r.result.Latency.RecordValue(max(1, took.Microseconds())) // the value is within bounds
	}
	if err != nil {
		r.result.Errors++
		if len(r.result.Faults) < maxFaults {
			r.result.Faults = append(r.result.Faults, err.Error())
		}
	}
	return !failed
}
