package events

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"ovation/internal/outage"
	"ovation/storage"
)

const (
	// leaseTime is how long another process waits for one that has stopped without giving
	// up its lease. The lease is extended after a third of it.
	leaseTime = 15 * time.Second
	// pollEvery is how often the log is read once all of it is handled, and how soon a page
	// is handled again after an error. After more errors, that time doubles up to maxPause.
	pollEvery = time.Second
	maxPause  = 15 * time.Second
	// releaseTimeout bounds the last call, which gives up the lease.
	releaseTimeout = 2 * time.Second
)

// Handler handles the events that a Consumer reads.
type Handler interface {
	// Handle handles all events of a page, saves its position Next under the lease, and
	// returns nil. After an error, it is called again with a page that begins with the same
	// events. The context ends when the lease is lost.
	Handle(ctx context.Context, lease storage.EventLease, page storage.EventPage) error
}

// Maintainer is a Handler with periodic work of its own to do under the lease.
type Maintainer interface {
	// Maintain is called about once a second, between two pages, and again soon if it
	// reports that there is more to do.
	Maintain(ctx context.Context, lease storage.EventLease) (more bool, err error)
}

// ConsumerOptions configure a Consumer. Name, Log and Handler are required.
type ConsumerOptions struct {
	// Name is the name of the consumer in the log; also the label of its metrics.
	Name    string
	Log     storage.EventLog
	Handler Handler // may also be a Maintainer
	// PageSize is the maximum number of events of a page; storage.MaxEvents if 0.
	PageSize int
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Logger logs failures; slog.Default() if nil.
	Logger *slog.Logger
	// Registry registers the metrics. If it is nil, there are none.
	Registry prometheus.Registerer
}

// Consumer reads the log of events, and continues after a restart where it had stopped.
// Several processes may run a consumer of the same name; one of them at a time reads. A
// new consumer begins with the oldest event that is kept.
type Consumer struct {
	opts    ConsumerOptions
	holder  string
	failed  *outage.Log
	pending atomic.Int64 // when the oldest event that is not handled yet was made; 0 if there is none
	handled prometheus.Counter
	skipped prometheus.Counter

	lease      storage.EventLease
	extended   time.Time // when the lease was taken or extended
	maintained time.Time
}

// NewConsumer returns a Consumer.
func NewConsumer(opts ConsumerOptions) *Consumer {
	if opts.Logger = cmp.Or(opts.Logger, slog.Default()).With("consumer", opts.Name); opts.Now == nil {
		opts.Now = time.Now
	}
	c := &Consumer{
		opts: opts, holder: uuid.NewString(),
		failed: outage.New(opts.Logger, "events not handled; retrying", "events are handled again"),
	}
	factory, label := promauto.With(opts.Registry), prometheus.Labels{"consumer": opts.Name}
	c.handled = factory.NewCounter(prometheus.CounterOpts{
		Name: "ovation_events_handled_total", ConstLabels: label,
		Help: "Events that this process has handled for a consumer of the log.",
	})
	c.skipped = factory.NewCounter(prometheus.CounterOpts{
		Name: "ovation_events_gaps_total", ConstLabels: label,
		Help: "How often a consumer of the log had to skip events that had been pruned.",
	})
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ovation_events_lag_seconds", ConstLabels: label,
		Help: "Age of the oldest event that a consumer of the log has not handled; 0 if there is none, or if another process reads for it.",
	}, c.lag)
	return c
}

// lag returns the age of the oldest event that is not handled yet.
func (c *Consumer) lag() float64 {
	at := c.pending.Load()
	if at == 0 {
		return 0
	}
	return max(0, c.opts.Now().Sub(storage.Time(at)).Seconds())
}

// Run handles events until the context ends, whenever no other process does.
func (c *Consumer) Run(ctx context.Context) {
	defer c.Release(context.WithoutCancel(ctx))
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval, wait.Multiplier = pollEvery, maxPause, 2
	for ctx.Err() == nil {
		more, err := c.Step(ctx)
		pause := pollEvery
		switch {
		case err == nil:
			c.failed.Worked()
			wait.Reset()
		case errors.Is(err, storage.ErrLeaseLost):
			c.lease = storage.EventLease{} // another process reads
			c.pending.Store(0)
		case ctx.Err() == nil:
			c.failed.Failed("error", err)
			pause = wait.NextBackOff()
		}
		if more && err == nil {
			continue
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// Step handles a page of events. It reports whether more follow. Errors:
// storage.ErrLeaseLost if another process reads.
func (c *Consumer) Step(ctx context.Context) (more bool, err error) {
	if err := c.hold(ctx); err != nil {
		return false, err
	}
	page, err := c.opts.Log.Events(ctx, storage.EventsQuery{After: c.lease.Position, Limit: c.opts.PageSize})
	if errors.Is(err, storage.ErrEventsPruned) || errors.Is(err, storage.ErrEventsAhead) {
		return true, c.skip(ctx, err)
	}
	if err != nil {
		return false, err
	}
	if more = page.Next != c.lease.Position; more {
		err = c.handle(ctx, page)
	} else {
		c.pending.Store(0)
	}
	if err != nil {
		return false, err
	}
	left, err := c.maintain(ctx)
	return more || left, err
}

// hold takes or extends the lease.
func (c *Consumer) hold(ctx context.Context) error {
	if c.lease.Holder != "" && time.Since(c.extended) < leaseTime/3 {
		return nil
	}
	at := time.Now()
	lease, err := c.opts.Log.LeaseEvents(ctx, c.opts.Name, c.holder, leaseTime)
	if err == nil {
		c.lease, c.extended = lease, at
	}
	return err
}

// handle passes a page to the handler, and extends the lease in the meantime.
func (c *Consumer) handle(ctx context.Context, page storage.EventPage) error {
	if len(page.Events) > 0 {
		c.pending.Store(page.Events[0].At)
	}
	handling, cancel := context.WithCancelCause(ctx)
	extended := make(chan struct{})
	go func() {
		defer close(extended)
		c.extend(handling, page.Next, cancel)
	}()
	err := c.opts.Handler.Handle(handling, c.lease, page)
	lost := context.Cause(handling)
	cancel(nil)
	<-extended
	switch {
	case err == nil:
		c.lease.Position = page.Next
		c.handled.Add(float64(len(page.Events)))
	case errors.Is(lost, storage.ErrLeaseLost):
		err = lost
	}
	return err
}

// extend extends the lease until the context ends, and ends it with storage.ErrLeaseLost if
// another process has the lease, or had it and saved a position. The parameter next is the
// position that the handler saves.
func (c *Consumer) extend(ctx context.Context, next int64, lost context.CancelCauseFunc) {
	tick := time.NewTicker(leaseTime / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		at := time.Now()
		lease, err := c.opts.Log.LeaseEvents(ctx, c.opts.Name, c.holder, leaseTime)
		if err == nil && lease.Position != c.lease.Position && lease.Position != next {
			err = storage.ErrLeaseLost
		}
		switch {
		case err == nil:
			c.extended = at // read after the end of this goroutine
		case errors.Is(err, storage.ErrLeaseLost):
			lost(err)
			return
		}
	}
}

// maintain calls Maintain once a second.
func (c *Consumer) maintain(ctx context.Context) (more bool, err error) {
	handler, is := c.opts.Handler.(Maintainer)
	now := c.opts.Now()
	if !is || now.Sub(c.maintained) < pollEvery {
		return false, nil
	}
	more, err = handler.Maintain(ctx, c.lease)
	if err == nil && !more {
		c.maintained = now
	}
	return more, err
}

// skip continues at the beginning of the log, because events before it are missing: they
// were pruned before they were handled, or the log is another one.
func (c *Consumer) skip(ctx context.Context, why error) error {
	stream, err := c.opts.Log.EventStream(ctx)
	if err != nil {
		return err
	}
	position := stream.First - 1
	if err := c.opts.Log.SaveEvents(ctx, c.lease, position); err != nil {
		return err
	}
	c.skipped.Inc()
	c.opts.Logger.Error("events were skipped", "reason", why, "continues_after", Cursor{stream.ID, position})
	c.lease.Position = position
	return nil
}

// Release gives up the lease, so that another process continues at once. Run calls it.
func (c *Consumer) Release(ctx context.Context) {
	if c.lease.Holder == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	_ = c.opts.Log.ReleaseEvents(ctx, c.lease) // otherwise it expires
	c.lease = storage.EventLease{}
}
