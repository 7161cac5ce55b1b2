package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"ovation/resolvers"
	"ovation/storage"
	"ovation/storage/metered"
	"ovation/storage/postgres"
	"ovation/storage/redis"
	"ovation/worker"
	"ovation/worker/trends"
)

// workCommand persists what the API nodes have queued.
type workCommand struct {
	servicesFlags `embed:""`
	clockFlag     `embed:""`
	logFlag       `embed:""`
	blobFlag      `embed:""`

	keptEventsFlags `embed:""`
	configFlag      `embed:""`

	EventsExchange bool `default:"true" help:"With --events, publish every event to the topic exchange PREFIX.events of RabbitMQ." negatable:"" env:"OVATION_EVENTS_EXCHANGE"`

	Addr                address `default:"127.0.0.1:8081" help:"Address of /healthz, /readyz and /metrics; port 0 is any free one." env:"OVATION_ADDR"`
	Concurrency         int     `default:"2" help:"Batches persisted at the same time, 1 to 8, each from its own partitions." type:"batches" env:"OVATION_CONCURRENCY"`
	MaxActionsPerSecond int     `default:"0" help:"Maximum number of actions written to the database per second; 0 means no limit." type:"rate" env:"OVATION_MAX_ACTIONS_PER_SECOND"`
}

// pace is the minimum time between the starts of two batches of a batch loop while
// actions arrive one by one. Other users see an action at most this much later. In
// return, pace reduces the cost of a like for the database and the worker by a third.
// After an idle period, a batch starts immediately.
const pace = 20 * time.Millisecond

// maxActions is the number of actions at which a batch is full. Batches grow to this size
// while a worker has a backlog. An action costs less in a large batch, because a batch
// changes the counts of a subject only once. A batch of 20,000 actions takes less than a
// second.
const maxActions = 20_000

// Run persists messages until the program is stopped.
func (c *workCommand) Run(p *program) (err error) {
	if err := c.complete("work"); err != nil {
		return err
	}
	if err := c.checkEvents(); err != nil {
		return err
	}
	config, err := c.openConfig()
	if err != nil {
		return err
	}
	behind, err := c.begin(p, "work", c.Addr, c.LogLevel, worker.Works, c.eventOptions(config))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, behind.close()) }()
	log, registry, listener := behind.log, behind.registry, behind.listener

	consumer := &watchedConsumer{Consumer: behind.queue, log: log}
	store := metered.New(behind.database, registry)
	options := worker.Options{
		Concurrency: c.Concurrency, Pace: pace, MaxActions: maxActions,
		Logger: log, Metrics: worker.NewMetrics(registry, worker.Works),
	}
	var persister storage.Persister = store
	if c.MaxActionsPerSecond > 0 {
		persister = &rateLimited{Persister: store, perSecond: float64(c.MaxActionsPerSecond)}
		options.MaxActions = min(5000, c.MaxActionsPerSecond)
	}
	working := worker.New(consumer, persister, behind.mirrored, options)

	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { resolvers.Probe(w, nil) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		err := cmp.Or(c.tooFar(behind.mirrored.ClockSkew()), behind.mirrored.Foreign())
		if err == nil {
			err = c.ready(r.Context(), p, consumer, behind.database, working)
		}
		resolvers.Probe(w, err)
	})
	config.reloads(p, registry)
	stopVideos, err := c.startVideos(p, behind, store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopVideos()) }()
	defer p.reloadOnHangup(log)()
	serving, stop := context.WithCancel(context.WithoutCancel(p.ctx))
	defer stop()
	number, _ := built()
	sayf(p.stdout, "Ovation %s works; see %s/metrics\n", number, urlOf(listener))

	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	running.Go(func() {
		defer stop()
		supervise(ctx, working, consumer, behind.mirrored.Foreign)
	})
	changes := behind.mirrored.NewBus(redis.Comments)
	running.Go(func() { changes.Run(ctx, func([]storage.Subject) {}) })
	sweeper := worker.NewSweeper(worker.SweeperOptions{Store: behind.mirrored, Changed: changes.Notify, Logger: log, Metrics: options.Metrics})
	running.Go(func() { sweeper.Run(ctx) })
	running.Go(func() { worker.NewIndexer(behind.mirrored, log).Run(ctx) })
	relayed, err := c.openRelays(behind.database, log, registry)
	if err != nil {
		return err
	}
	if c.Events && c.EventsExchange {
		relayed.broker = behind.queue
	}
	if c.Events {
		defer relayed.start(ctx)()
	}
	if c.Trending {
		defer startTrends(ctx, trends.Options{Store: behind.database, Policies: config.policies, Now: behind.mirrored.Now, Logger: log, Registry: registry})()
	}
	running.Go(func() { worker.NewBarriers(behind.queue, behind.mirrored.Barrier, options).Run(ctx) })
	return serveHTTP(serving, listener, mux, nil, nil, log)
}

// ready returns an error unless messages are being consumed and can be persisted.
func (c *workCommand) ready(ctx context.Context, p *program, consumer *watchedConsumer, store *postgres.Store, w *worker.Worker) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	switch {
	case p.ctx.Err() != nil:
		return errStopping
	case !consumer.consumes.Load():
		return errors.New("the queue does not deliver")
	case store.Stalled() != nil:
		return store.Stalled()
	case w.Failing() != nil:
		return errors.New("actions cannot be persisted at the moment; the log has the reason")
	case store.Ping(ctx) != nil:
		return errors.New("the database does not answer")
	}
	return nil
}

// supervise runs the worker until ctx ends. If the worker loses the queue, supervise
// restarts the worker and logs the loss once. While the database uses another mirror, the
// worker does not run; see whileOwner.
func supervise(ctx context.Context, w *worker.Worker, consumer *watchedConsumer, stranger func() error) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 100*time.Millisecond, 5*time.Second
	for {
		err := whileOwner(ctx, stranger, w.Run)
		if consumer.consumes.Swap(false) {
			wait.Reset()
		}
		if err == nil {
			return
		}
		if !errors.Is(err, redis.ErrForeignMirror) && !consumer.lost.Swap(true) {
			consumer.log.Warn("the worker has lost its connection to the queue; retrying", "error", err)
		}
		select {
		case <-time.After(wait.NextBackOff()):
		case <-ctx.Done():
			return
		}
	}
}

// whileOwner calls run and, in the meantime, repeatedly calls stranger, which is the
// method Foreign of redis.Store. stranger returns an error if the database uses another
// mirror. In that case, whileOwner cancels the context of run and returns that error,
// because this process could no longer mark anything, and messages would only wait. If
// stranger returns an error at the start, run is not called.
func whileOwner(ctx context.Context, stranger func() error, run func(context.Context) error) error {
	if err := stranger(); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return run(ctx) })
	group.Go(func() error {
		tick := time.NewTicker(time.Second / 4)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return nil
			}
			if err := stranger(); err != nil {
				return err
			}
		}
	})
	return group.Wait()
}

// watchedConsumer is a consumer that records whether the queue can be consumed.
type watchedConsumer struct {
	worker.Consumer

	log      *slog.Logger
	consumes atomic.Bool
	lost     atomic.Bool // the queue is lost, and the loss has been logged
}

// Consume calls the wrapped consumer's Consume method, and records whether the queue can
// be consumed.
func (c *watchedConsumer) Consume(ctx context.Context) (<-chan worker.Delivery, error) {
	deliveries, err := c.Consumer.Consume(ctx)
	c.consumes.Store(err == nil)
	if err == nil && c.lost.Swap(false) {
		c.log.Info("the worker is connected to the queue again")
	}
	return deliveries, err
}

// rateLimited persists at most perSecond actions per second, at an even rate. All batch
// loops of a worker share it.
type rateLimited struct {
	storage.Persister

	perSecond float64
	mu        sync.Mutex
	next      time.Time // when the next batch may be persisted
}

// Persist waits until the rate permits another batch, and then persists the messages.
func (p *rateLimited) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	actions := 0
	for i := range messages {
		actions += len(messages[i].Actions)
	}
	if wait := p.reserve(actions); wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return storage.Outcome{}, ctx.Err()
		}
	}
	return p.Persister.Persist(ctx, messages, mark)
}

// reserve reserves the next free period for the given number of actions, and returns how
// long to wait for it.
func (p *rateLimited) reserve(actions int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	begin := p.next
	if begin.Before(now) {
		begin = now
	}
	p.next = begin.Add(time.Duration(float64(actions) / p.perSecond * float64(time.Second)))
	return begin.Sub(now)
}
