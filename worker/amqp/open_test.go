package amqp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"ovation/internal/testing/must"
	"ovation/storage"
)

func TestOpenErrorsNameTheCause(t *testing.T) {
	t.Parallel()
	good := options(t)
	open(t, good)
	with := func(change func(*url.URL)) func(*Options) {
		return func(o *Options) {
			at, err := url.Parse(o.URL)
			must.Succeed(t, err)
			change(at)
			o.URL = at.String()
		}
	}
	for name, c := range map[string]struct {
		change      func(*Options)
		says        string
		unavailable bool
	}{
		"no listener":                   {with(func(u *url.URL) { u.Host = unusedAddress(t) }), "connection refused", true},
		"a listener that never answers": {with(func(u *url.URL) { u.Host = silentServer(t) }), "no answer in time", true},
		"wrong password": {func(o *Options) {
			o.IOTimeout = time.Minute // the broker delays its answer by some seconds
			with(func(u *url.URL) { u.User = url.UserPassword("ovation", "wrong") })(o)
		}, "password", false},
		"no such vhost":             {with(func(u *url.URL) { u.Path = "/nowhere" }), "virtual host does not exist", false},
		"no URL":                    {func(o *Options) { o.URL = "" }, "must be amqp://", false},
		"another protocol":          {func(o *Options) { o.URL = "http://localhost" }, "must be amqp://", false},
		"unreadable URL":            {func(o *Options) { o.URL = "amqp://u:sec%ret@localhost" }, "%XX", false},
		"prefix":                    {func(o *Options) { o.Prefix = "a b" }, "prefix must be", false},
		"partitions":                {func(o *Options) { o.Partitions = 257 }, "must be 1 to 256", false},
		"name":                      {func(o *Options) { o.Name = "a.b"; o.Partitions = 1 }, "name must be", false},
		"name, partitions":          {func(o *Options) { o.Name = "jobs" }, "name must be", false},
		"fewer partitions":          {func(o *Options) { o.Partitions = 2 }, "queues do not have 2 partitions", false},
		"more partitions":           {func(o *Options) { o.Partitions = 4 }, "queues do not have 4 partitions", false},
		"different queue arguments": {func(o *Options) { o.DeliveryLimit = 7 }, "with a different type or arguments", false},
		"window too large":          {func(o *Options) { o.Window = 1001 }, "window is 1001", false},
		"prefetch negative":         {func(o *Options) { o.Prefetch = -1 }, "prefetch is -1", false},
	} {
		t.Run(name, func(t *testing.T) {
			opts := good
			if c.unavailable {
				opts.IOTimeout = 500 * time.Millisecond
			}
			c.change(&opts)
			_, err := Open(t.Context(), opts)
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "sec") {
				t.Errorf("Open: got %v, want an error with %q and no password", err, c.says)
			}
			if where := "RabbitMQ at " + opts.at() + ": "; !errors.Is(err, storage.ErrInvalid) && !strings.Contains(err.Error(), where) {
				t.Errorf("Open: got %v, want an error with %q", err, where)
			}
			if errors.Is(err, storage.ErrUnavailable) != c.unavailable {
				t.Errorf("Open: got %v, unavailable %t, want %t", err, !c.unavailable, c.unavailable)
			}
		})
	}
}

// unusedAddress returns an address at which nothing listens.
func unusedAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	defer l.Close()
	return l.Addr().String()
}

// silentServer returns the address of a server that accepts connections and never
// answers.
func silentServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

func TestOpenHonoursItsContext(t *testing.T) {
	opts := Options{URL: "amqp://" + silentServer(t), IOTimeout: time.Hour}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, opts); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("Open(50 ms) of a silent server: got %v, want %v", err, storage.ErrUnavailable)
	}
}

func TestOldBrokerIsRefused(t *testing.T) {
	for version, old := range map[string]bool{"3.9.29": true, "2.8.0": true, "3.10.0": false, "3.13.7": false, "4.1.0": false, "": false} {
		err := checkVersion(amqp091.Table{"product": "RabbitMQ", "version": version})
		if (err != nil) != old {
			t.Errorf("RabbitMQ %q: got %v, want an error: %t", version, err, old)
		}
	}
}

// TestQueuesMadeMeanwhileAreUsed lets two processes open queues that do not exist. One
// process creates the queues just as the other looks for them.
func TestQueuesMadeMeanwhileAreUsed(t *testing.T) {
	for name, asks := range map[string]func(Options) string{"for the gate": Options.gate, "for dead letters": Options.dead} {
		t.Run(name, func(t *testing.T) {
			opts := options(t)
			between, late := through(t, opts)
			late.IOTimeout = time.Minute // one request lasts as long as the other process takes
			first := sync.OnceFunc(func() {
				if q, err := Open(t.Context(), opts); err != nil {
					t.Errorf("Open of the first process: got %v, want no error", err)
				} else if err := q.Close(); err != nil {
					t.Errorf("Close of the first process: got %v, want no error", err)
				}
			})
			asked := []byte(asks(opts))
			between.tap(func(sent []byte) {
				if bytes.Contains(sent, asked) {
					first()
				}
			})
			publish(t, open(t, late), 0, "message")
		})
	}
}

// IOTimeout bounds each of the requests that create the queues, not all of them together.
func TestQueuesAreMadeBySlowBrokers(t *testing.T) {
	t.Parallel()
	opts := options(t)
	opts.IOTimeout = 5 * time.Second
	slow, late := through(t, opts)
	slow.tap(func([]byte) { <-time.After(late.IOTimeout / 80) }) // to and fro, for each of some 80 requests
	publish(t, open(t, late), 0, "message")
}

// Queues that an earlier release created lack an argument. They are used as they are.
func TestQueuesOfAnEarlierReleaseAreUsed(t *testing.T) {
	opts := options(t)
	ch := channel(t, opts)
	for _, queue := range topology(opts) {
		if queue.name == opts.queue(opts.Partitions-1) { // this queue is lost, and created again
			continue
		}
		delete(queue.args, leaderLocator)
		_, err := ch.QueueDeclare(queue.name, true, false, false, false, queue.args)
		must.Succeed(t, err)
	}
	for range 2 {
		q := open(t, opts)
		for partition := range opts.Partitions {
			publish(t, q, partition, fmt.Sprint("message-", partition))
		}
	}
}

func TestAnotherTypeOfQueueIsRefused(t *testing.T) {
	opts := options(t)
	_, err := channel(t, opts).QueueDeclare(opts.queue(0), true, false, false, false, nil)
	must.Succeed(t, err)
	_, err = Open(t.Context(), opts)
	if err == nil || !strings.Contains(err.Error(), opts.queue(0)) || !strings.Contains(err.Error(), "use another prefix") {
		t.Errorf("Open with a classic queue in the way: got %v, want an error that names %s and says to use another prefix", err, opts.queue(0))
	}
}
