package events_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/sqlite"
	"ovation/worker/events"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// database is a database whose changes are logged.
type database struct {
	*sqlite.Store

	t        *testing.T
	messages int
}

func openDatabase(t *testing.T) *database {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{
		Path:   filepath.Join(t.TempDir(), "ovation.db"),
		Events: storage.EventOptions{Log: func(string, string) bool { return true }},
	})
	must.Succeed(t, err)
	t.Cleanup(func() { must.Succeed(t, s.Close()) })
	return &database{Store: s, t: t}
}

// like makes users like a subject, in their order, and returns the ids of the events.
func (d *database) like(bizID string, users ...string) (ids []string) {
	d.t.Helper()
	message := storage.Message{}
	d.messages++
	message.ID = strconv.Itoa(d.messages)
	for i, user := range users {
		message.Actions = append(message.Actions, storage.Action{
			User:    storage.User{Tenant: storage.DefaultTenant, UserID: user},
			Subject: storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: bizID},
			Kind:    storage.KindReaction, Reaction: storage.Like, Version: storage.Micros(time.Now()) + int64(i),
		})
	}
	_, err := d.Persist(d.t.Context(), []storage.Message{message}, nil)
	must.Succeed(d.t, err)
	stream, err := d.EventStream(d.t.Context())
	must.Succeed(d.t, err)
	for i := range users {
		ids = append(ids, events.Cursor{Stream: stream.ID, Position: stream.Last - int64(len(users)-1-i)}.String())
	}
	return ids
}

// recorder is a handler that records positions.
type recorder struct {
	log storage.EventLog
	mu  sync.Mutex
	got []int64
	// before is called before a page is handled, if it is not nil.
	before func(context.Context) error
}

func (r *recorder) Handle(ctx context.Context, lease storage.EventLease, page storage.EventPage) error {
	if r.before != nil {
		if err := r.before(ctx); err != nil {
			return err
		}
	}
	r.mu.Lock()
	for i := range page.Events {
		r.got = append(r.got, page.Events[i].Position)
	}
	r.mu.Unlock()
	return r.log.SaveEvents(ctx, lease, page.Next)
}

func (r *recorder) want(t *testing.T, want ...int64) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if fmt.Sprint(r.got) != fmt.Sprint(want) {
		t.Errorf("got the events %v, want %v", r.got, want)
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// TestAnotherConsumerContinues stops a consumer that was given an error, and starts another.
func TestAnotherConsumerContinues(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	d.like("1", "a", "b", "c", "d", "e")
	r, fails := &recorder{log: d}, errors.New("fails")
	options := events.ConsumerOptions{Name: "test", Log: d, Handler: r, PageSize: 2, Logger: quiet()}
	ctx, stop := context.WithCancel(t.Context())
	first, ended := events.NewConsumer(options), make(chan struct{})
	r.before = func(context.Context) error {
		if len(r.got) == 2 {
			stop()
			return fails
		}
		return nil
	}
	go func() { defer close(ended); first.Run(ctx) }()
	<-ended // it has given up its lease
	r.want(t, 1, 2)
	r.before = nil
	second := events.NewConsumer(options)
	for more := true; more; {
		var err error
		more, err = second.Step(t.Context())
		must.Succeed(t, err)
	}
	r.want(t, 1, 2, 3, 4, 5)
	if _, err := first.Step(t.Context()); !errors.Is(err, storage.ErrLeaseLost) {
		t.Errorf("got the error %v while another consumer reads, want that the lease is lost", err)
	}
}

// TestLeaseIsHeldWhileEventsAreHandled handles a page for a minute. Meanwhile, no other
// consumer gets the lease.
func TestLeaseIsHeldWhileEventsAreHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDatabase(t)
		d.like("1", "a")
		r, handling := &recorder{log: d}, make(chan struct{})
		r.before = func(context.Context) error {
			close(handling)
			time.Sleep(time.Minute)
			return nil
		}
		options := events.ConsumerOptions{Name: "test", Log: d, Handler: r, Logger: quiet()}
		stepped := make(chan error, 1)
		go func() {
			_, err := events.NewConsumer(options).Step(t.Context())
			stepped <- err
		}()
		<-handling
		other := events.NewConsumer(options)
		for range 59 {
			time.Sleep(time.Second)
			if _, err := other.Step(t.Context()); !errors.Is(err, storage.ErrLeaseLost) {
				t.Fatalf("another consumer: got the error %v, want that it has no lease", err)
			}
		}
		must.Succeed(t, <-stepped)
		r.want(t, 1)
	})
}

// TestHandlerEndsWhenTheLeaseIsLost cuts a consumer off from the database until another
// consumer has its lease.
func TestHandlerEndsWhenTheLeaseIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDatabase(t)
		d.like("1", "a")
		log := &unreliableLog{EventLog: d}
		r := &recorder{log: log}
		r.before = func(ctx context.Context) error {
			log.cut.Store(true)
			time.Sleep(time.Minute)
			_, err := d.LeaseEvents(ctx, "test", "another", time.Hour)
			must.Succeed(t, err)
			log.cut.Store(false)
			<-ctx.Done()
			return ctx.Err()
		}
		_, err := events.NewConsumer(events.ConsumerOptions{Name: "test", Log: log, Handler: r, Logger: quiet()}).Step(t.Context())
		if !errors.Is(err, storage.ErrLeaseLost) {
			t.Errorf("got the error %v, want that the lease is lost", err)
		}
		r.want(t)
	})
}

// TestPositionNeverGoesBack lets another consumer work while the first is cut off in the
// middle of a page.
func TestPositionNeverGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDatabase(t)
		d.like("1", "a", "b")
		log := &unreliableLog{EventLog: d}
		r, other := &recorder{log: log}, &recorder{log: d}
		r.before = func(ctx context.Context) error {
			log.cut.Store(true)
			time.Sleep(time.Minute)
			second := events.NewConsumer(events.ConsumerOptions{Name: "test", Log: d, Handler: other, Logger: quiet()})
			for more := true; more; {
				var err error
				more, err = second.Step(ctx)
				must.Succeed(t, err)
			}
			second.Release(ctx)
			log.cut.Store(false)
			<-ctx.Done()
			return ctx.Err()
		}
		_, err := events.NewConsumer(events.ConsumerOptions{Name: "test", Log: log, Handler: r, PageSize: 1, Logger: quiet()}).Step(t.Context())
		if !errors.Is(err, storage.ErrLeaseLost) {
			t.Errorf("got the error %v, want that the lease is lost", err)
		}
		r.want(t)
		other.want(t, 1, 2)
	})
}

// unreliableLog is a log whose leases cannot be extended while it is cut off.
type unreliableLog struct {
	storage.EventLog

	cut atomic.Bool
}

func (l *unreliableLog) LeaseEvents(ctx context.Context, consumer, holder string, until time.Duration) (storage.EventLease, error) {
	if l.cut.Load() {
		return storage.EventLease{}, storage.ErrUnavailable
	}
	return l.EventLog.LeaseEvents(ctx, consumer, holder, until)
}

// TestPrunedEventsAreSkipped prunes events that a consumer has not handled.
func TestPrunedEventsAreSkipped(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	d.like("1", "a")
	r, registry := &recorder{log: d}, prometheus.NewRegistry()
	c := events.NewConsumer(events.ConsumerOptions{Name: "test", Log: d, Handler: r, Logger: quiet(), Registry: registry})
	for range 2 {
		_, err := c.Step(t.Context())
		must.Succeed(t, err)
	}
	d.like("2", "a")
	_, err := d.PruneEvents(t.Context(), -time.Hour)
	must.Succeed(t, err)
	d.like("3", "a")
	for more := true; more; {
		more, err = c.Step(t.Context())
		must.Succeed(t, err)
	}
	r.want(t, 1, 3)
	for name, want := range map[string]float64{"ovation_events_gaps_total": 1, "ovation_events_handled_total": 2, "ovation_events_lag_seconds": 0} {
		if got := metric(t, registry, name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

// metric returns the sum of the values of a metric.
func metric(t *testing.T, registry *prometheus.Registry, name string) (sum float64) {
	t.Helper()
	if n, err := testutil.GatherAndCount(registry, name); err != nil || n == 0 {
		t.Fatalf("there is no metric %s: %v", name, err)
	}
	families, err := registry.Gather()
	must.Succeed(t, err)
	for _, family := range families {
		if family.GetName() == name {
			for _, m := range family.GetMetric() {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// TestLagIsTheAgeOfTheOldestEvent reads the lag while a handler fails and after it worked.
func TestLagIsTheAgeOfTheOldestEvent(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	d.like("1", "a")
	page, err := d.Events(t.Context(), storage.EventsQuery{})
	must.Succeed(t, err)
	now, registry := storage.Time(page.Events[0].At).Add(time.Minute), prometheus.NewRegistry()
	r := &recorder{log: d, before: func(context.Context) error { return errors.New("fails") }}
	c := events.NewConsumer(events.ConsumerOptions{
		Name: "test", Log: d, Handler: r, Logger: quiet(), Registry: registry, Now: func() time.Time { return now },
	})
	if _, err := c.Step(t.Context()); err == nil {
		t.Error("got no error of the handler")
	}
	if got := metric(t, registry, "ovation_events_lag_seconds"); got != 60 {
		t.Errorf("got a lag of %v s, want a minute", got)
	}
	r.before = nil
	for more := true; more; {
		more, err = c.Step(t.Context())
		must.Succeed(t, err)
	}
	if got := metric(t, registry, "ovation_events_lag_seconds"); got != 0 {
		t.Errorf("got a lag of %v s after all was handled, want 0", got)
	}
}
