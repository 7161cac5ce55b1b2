package trends

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"ovation/outage"
	"ovation/storage"
	"ovation/storage/policy"
)

const (
	// consumer is the name under which the position in the log is saved.
	consumer = "trends"
	// leaseTime is how long another process waits for one that has stopped without giving
	// up its lease. The lease is extended after a third of it.
	leaseTime = 15 * time.Second
	// pollEvery is how often the log is read once all of it is folded, and how often
	// buckets are expired.
	pollEvery = time.Second
	// expireRows is the maximum number of buckets of a window that one transaction
	// removes.
	expireRows = 2000
	// releaseTimeout bounds the last call, which gives up the lease.
	releaseTimeout = 2 * time.Second
)

// Store is a database with a log of events.
type Store interface {
	storage.EventLog
	storage.Trends
}

// Options configure a Consumer. Store is required.
type Options struct {
	Store Store
	// Policies configure the trends of each kind of content. Changed settings apply to the
	// events that are folded afterwards.
	Policies *policy.Handle
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Logger logs failures; slog.Default() if nil.
	Logger *slog.Logger
	// Registry registers the metrics. If it is nil, there are none.
	Registry prometheus.Registerer
}

// Consumer folds the log of events into trends. Several processes may run one.
type Consumer struct {
	opts   Options
	holder string
	failed *outage.Log
	lag    prometheus.Gauge
	events prometheus.Counter

	lease    storage.EventLease
	extended time.Time // when the lease was taken or extended
	expired  time.Time // when buckets were last expired
}

// New returns a Consumer.
func New(opts Options) *Consumer {
	if opts.Logger = cmp.Or(opts.Logger, slog.Default()); opts.Now == nil {
		opts.Now = time.Now
	}
	factory := promauto.With(opts.Registry)
	return &Consumer{
		opts: opts, holder: uuid.NewString(),
		failed: outage.New(opts.Logger, "trends not computed; retrying", "trends are computed again"),
		lag: factory.NewGauge(prometheus.GaugeOpts{
			Name: "ovation_trends_lag_seconds",
			Help: "How old the last event is that was folded into trends, while more follow; 0 if none follows, or if another process folds.",
		}),
		events: factory.NewCounter(prometheus.CounterOpts{
			Name: "ovation_trends_events_total",
			Help: "Events that this process has folded into trends.",
		}),
	}
}

// Run folds events until the context ends, whenever no other process does.
func (c *Consumer) Run(ctx context.Context) {
	defer c.release(context.WithoutCancel(ctx))
	for ctx.Err() == nil {
		more, err := c.Step(ctx)
		switch {
		case err == nil:
			c.failed.Worked()
		case errors.Is(err, storage.ErrLeaseLost):
			c.lease, more = storage.EventLease{}, false // another process folds
			c.lag.Set(0)
		case ctx.Err() == nil:
			c.failed.Failed("error", err)
		}
		if more && err == nil {
			continue
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
		}
	}
}

// Step folds a page of events and expires buckets. It reports whether more follow. Errors:
// storage.ErrLeaseLost if another process folds.
func (c *Consumer) Step(ctx context.Context) (more bool, err error) {
	if err := c.hold(ctx); err != nil {
		return false, err
	}
	page, err := c.opts.Store.Events(ctx, storage.EventsQuery{After: c.lease.Position})
	if errors.Is(err, storage.ErrEventsPruned) || errors.Is(err, storage.ErrEventsAhead) {
		return true, c.skip(ctx, err)
	}
	if err != nil {
		return false, err
	}
	if more = page.Next != c.lease.Position; more {
		err = c.fold(ctx, page)
	} else {
		c.lag.Set(0)
	}
	if err != nil || c.opts.Now().Sub(c.expired) < pollEvery {
		return more, err
	}
	left, err := c.expire(ctx)
	return more || left, err
}

// hold takes or extends the lease.
func (c *Consumer) hold(ctx context.Context) error {
	if c.lease.Holder != "" && time.Since(c.extended) < leaseTime/3 {
		return nil
	}
	at := time.Now()
	lease, err := c.opts.Store.LeaseEvents(ctx, consumer, c.holder, leaseTime)
	if err == nil {
		c.lease, c.extended = lease, at
	}
	return err
}

func (c *Consumer) fold(ctx context.Context, page storage.EventPage) error {
	now := c.opts.Now()
	changes := fold(page.Events, c.opts.Policies.Trending, now)
	changes.Lease, changes.Position = c.lease, page.Next
	if err := c.opts.Store.FoldTrends(ctx, changes); err != nil {
		return err
	}
	c.lease.Position = page.Next
	c.events.Add(float64(len(page.Events)))
	if n := len(page.Events); n > 0 {
		c.lag.Set(max(0, now.Sub(storage.Time(page.Events[n-1].At)).Seconds()))
	}
	return nil
}

// expire removes buckets that have left their window, and reports whether more are left.
func (c *Consumer) expire(ctx context.Context) (left bool, err error) {
	now := c.opts.Now()
	n, err := c.opts.Store.ExpireTrends(ctx, c.lease, now, expireRows)
	if left = n == expireRows; err == nil && !left {
		c.expired = now
	}
	return left, err
}

// skip continues at the beginning of the log, because events before it are missing: they
// were pruned while no process folded them, or the log is another one.
func (c *Consumer) skip(ctx context.Context, why error) error {
	stream, err := c.opts.Store.EventStream(ctx)
	if err != nil {
		return err
	}
	position := stream.First - 1
	if err := c.opts.Store.FoldTrends(ctx, storage.TrendFold{Lease: c.lease, Position: position}); err != nil {
		return err
	}
	c.opts.Logger.Warn("trends lack events until the windows have passed", "reason", why)
	c.lease.Position = position
	return nil
}

// release gives up the lease, so that another process continues at once.
func (c *Consumer) release(ctx context.Context) {
	if c.lease.Holder == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	_ = c.opts.Store.ReleaseEvents(ctx, c.lease) // otherwise it expires
}
