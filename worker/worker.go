package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ovation/internal/outage"
	"ovation/storage"
)

// Options configure a Worker. The zero value is a good choice.
type Options struct {
	// MaxActions is the number of actions at which a batch is full; 5,000 if 0. A
	// message is never split, so a batch may hold more.
	MaxActions int
	// Pace is the minimum time between the starts of two batches of one batch loop.
	// Messages that arrive in between share the next batch; after an idle period of this
	// length, a batch starts immediately. If 0, a batch holds the messages that are
	// available when it starts.
	Pace time.Duration
	// Concurrency is the number of batches processed at the same time, each with its own
	// partitions; 1 if 0. Values above the number of partitions have no effect.
	Concurrency int
	// MaxTries is how often a single message is tried before it is rejected; 3 if 0.
	// Tries that fail because the store is unavailable do not count.
	MaxTries int
	// MinBackoff and MaxBackoff bound the wait between two tries, which doubles each
	// time and has a jitter of 50 %. Their defaults are 50 ms and 2 s.
	MinBackoff, MaxBackoff time.Duration
	// Logger logs failures; slog.Default() if nil.
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics *Metrics
}

func (o Options) withDefaults() Options {
	o.MaxActions = cmp.Or(o.MaxActions, 5000)
	o.Concurrency = cmp.Or(o.Concurrency, 1)
	o.MaxTries = cmp.Or(o.MaxTries, 3)
	o.MinBackoff = cmp.Or(o.MinBackoff, 50*time.Millisecond)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, 2*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.Metrics = cmp.Or(o.Metrics, noMetrics)
	return o
}

// finishTimeout is how long the current batch may take after the context passed to Run
// has ended.
const finishTimeout = 10 * time.Second

// pruneEvery is the interval at which the inbox is pruned.
const pruneEvery = time.Hour

// Worker takes messages from the queue and persists them.
type Worker struct {
	consumer     Consumer
	persister    storage.Persister
	mirror       Mirror
	opts         Options
	loops        []*batchLoop
	settleOutage *outage.Log
	splitLog     *outage.Log
}

// batchLoop processes one batch after another, all from its own partitions.
type batchLoop struct {
	*Worker

	deliveries <-chan Delivery
	started    time.Time // when the last batch started
	requeued   bool      // whether this loop has requeued any message since Run began
	failing    atomic.Pointer[error]
}

// New returns a Worker. The Worker does nothing until Run is called.
func New(consumer Consumer, persister storage.Persister, mirror Mirror, opts Options) *Worker {
	opts = opts.withDefaults()
	w := &Worker{
		consumer: consumer, persister: persister, mirror: mirror, opts: opts,
		settleOutage: outage.New(opts.Logger, "deliveries not settled; the queue will redeliver them", "settling deliveries succeeds again"),
		splitLog:     outage.New(opts.Logger, "batch not persisted; it is split into halves", "batches are persisted without splitting again"),
	}
	for range opts.Concurrency {
		w.loops = append(w.loops, &batchLoop{Worker: w})
	}
	return w
}

// Run persists messages until the context ends; it then finishes the current batches,
// requeues all other messages and returns nil. If the queue is lost before that, Run
// returns an error and may be called again.
//
// A panic in the store or the mirror is not recovered, because it leaves the store or the
// mirror in an unknown state. The queue redelivers all messages that Run has not settled.
func (w *Worker) Run(ctx context.Context) error {
	// Two contexts outlive ctx: the context of the consumer, so that the current batch
	// can still be settled, and the context of the work on this batch.
	consuming, stopConsuming := context.WithCancel(context.WithoutCancel(ctx))
	defer stopConsuming()
	working, stopWorking := WithGrace(ctx, finishTimeout)
	defer stopWorking()
	pruning, stopPruning := context.WithCancel(ctx)
	var pruner sync.WaitGroup
	defer pruner.Wait()
	defer stopPruning()

	deliveries, err := w.consumer.Consume(consuming)
	if err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	pruner.Go(func() { w.prune(pruning) })
	for _, h := range w.loops {
		h.requeued = false
	}
	dealing, stopDealing := context.WithCancel(ctx)
	var others sync.WaitGroup
	defer others.Wait()
	defer stopDealing()
	w.distribute(dealing, &others, deliveries)
	for _, h := range w.loops[1:] {
		others.Go(func() { h.run(ctx, working) })
	}
	w.loops[0].run(ctx, working)
	others.Wait()
	if ctx.Err() == nil {
		return fmt.Errorf("consume: the queue is closed or its connection is lost: %w", ErrClosed)
	}
	stopConsuming()
	for range deliveries { // the queue takes back the messages that no loop has started
	}
	return nil
}

// loopBuffer is how many deliveries can wait for one loop before deliveries to the other
// loops are delayed, too. It exceeds the number of unsettled deliveries that a queue with
// default options allows.
const loopBuffer = 1 << 17

// distribute passes each delivery to the loop of its partition, until the context ends
// or the queue is lost. Deliveries that no loop has started by then are redelivered.
func (w *Worker) distribute(ctx context.Context, running *sync.WaitGroup, deliveries <-chan Delivery) {
	if len(w.loops) == 1 {
		w.loops[0].deliveries = deliveries
		return
	}
	to := make([]chan Delivery, len(w.loops))
	for i := range to {
		to[i] = make(chan Delivery, loopBuffer)
		w.loops[i].deliveries = to[i]
	}
	running.Go(func() {
		for d, open := receive(ctx, deliveries, nil, true); open; d, open = receive(ctx, deliveries, nil, true) {
			select {
			case to[d.Partition()%len(to)] <- d:
			case <-ctx.Done():
			}
		}
		for _, waiting := range to {
			drainAndClose(waiting)
		}
	})
}

// drainAndClose discards buffered deliveries and closes the channel.
func drainAndClose(waiting chan Delivery) {
	for {
		select {
		case <-waiting:
		default:
			close(waiting)
			return
		}
	}
}

// run processes batches until the context ends or the channel of deliveries is closed.
func (l *batchLoop) run(ctx, working context.Context) {
	for batch := l.nextBatch(ctx); len(batch) > 0; batch = l.nextBatch(ctx) {
		l.processAll(ctx, working, batch)
	}
}

// WithGrace returns a context that has the values of ctx and ends the given time after
// ctx.
func WithGrace(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(by, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, cancel
}

// task is a delivery. mayBeMarked is true if a transaction, in this process or another,
// may have marked the actions of the delivery and then been rolled back.
type task struct {
	Delivery
	mayBeMarked bool
}

// redeliveryQuiet is the pause after which no further redelivered messages of another
// worker's batch are expected.
const redeliveryQuiet = 100 * time.Millisecond

// fullBatch is the number of messages at which a batch starts without waiting for Pace.
const fullBatch = 100

// nextBatch waits for a first delivery and then takes the deliveries that are available,
// up to MaxActions. If these are fewer than fullBatch, it waits until Pace allows a batch
// and adds the deliveries that have arrived since.
//
// If one of the deliveries is redelivered, nextBatch continues until no more redelivered
// messages arrive, because the marks that another worker made in one transaction must all
// be invalidated before any message of that transaction is persisted. The queue's
// prefetch limit bounds the number of redelivered messages.
//
// nextBatch returns an empty batch when the context has ended or the queue is lost.
func (l *batchLoop) nextBatch(ctx context.Context) []task {
	deliveries := l.deliveries
	if ctx.Err() != nil {
		return nil
	}
	var batch []task
	actions, redelivered := 0, false
	take := func(d Delivery) {
		batch = append(batch, task{d, d.Redelivered()})
		actions += len(d.Message().Actions)
		redelivered = redelivered || d.Redelivered()
	}
	takeAvailable := func() {
		for !redelivered && actions < l.opts.MaxActions {
			d, open := receive(ctx, deliveries, nil, false)
			if !open {
				return
			}
			take(d)
		}
	}
	d, open := receive(ctx, deliveries, nil, true)
	if !open {
		return nil
	}
	take(d)
	takeAvailable()
	if len(batch) < fullBatch && !redelivered {
		sleep(ctx, l.opts.Pace-time.Since(l.started))
		takeAvailable()
	}
	l.started = time.Now()
	quiet := time.NewTimer(redeliveryQuiet)
	defer quiet.Stop()
	for redelivered {
		d, open := receive(ctx, deliveries, quiet.C, true)
		if !open {
			break
		}
		take(d)
		if d.Redelivered() { // new messages may never stop arriving
			quiet.Reset(redeliveryQuiet)
		}
	}
	return batch
}

// receive returns the next delivery and true, or nil and false if there is none. If wait
// is false, it returns immediately; otherwise it waits for one until timeout fires or the
// context ends.
func receive(ctx context.Context, deliveries <-chan Delivery, timeout <-chan time.Time, wait bool) (Delivery, bool) {
	if !wait {
		select {
		case d, open := <-deliveries:
			return d, open
		default:
			return nil, false
		}
	}
	select {
	case d, open := <-deliveries:
		return d, open
	case <-timeout:
	case <-ctx.Done():
	}
	return nil, false
}

// sleep waits for the given time or until the context ends.
func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// errStopped ends the attempts on a batch when the worker stops.
var errStopped = errors.New("the worker is stopping")

// processAll invalidates all marks that may be wrong, then persists and settles the
// batch in parts of MaxActions. When the context ends, it requeues the remaining parts.
func (l *batchLoop) processAll(ctx, working context.Context, batch []task) {
	stopped := l.invalidateAll(ctx, working, batch) != nil
	for len(batch) > 0 {
		n := 1
		for actions := len(batch[0].Message().Actions); n < len(batch) && actions < l.opts.MaxActions; n++ {
			actions += len(batch[n].Message().Actions)
		}
		if stopped {
			l.requeue(batch[:n])
		} else {
			l.process(ctx, working, batch[:n])
		}
		batch = batch[n:]
		stopped = stopped || ctx.Err() != nil
	}
}

// process persists a batch and settles each of its deliveries. If the batch as a whole
// fails or takes too long, it is split into halves, so that a message that can never be
// persisted is isolated and rejected without delaying other messages.
func (l *batchLoop) process(ctx, working context.Context, batch []task) {
	outcome, err := l.persist(ctx, working, batch)
	switch {
	case err == nil && l.publish(ctx, working, outcome) == nil:
		l.splitLog.Worked()
		l.ack(l.rejectExpired(ctx, working, batch, outcome.Expired))
	case err == nil: // persisted but not published: the next worker publishes the counts
		l.requeue(batch)
	case errors.Is(err, errStopped):
		l.requeue(batch)
	case len(batch) > 1:
		l.opts.Metrics.retries.Inc()
		l.splitLog.Failed("messages", len(batch), "error", err)
		half := len(batch) / 2
		l.process(ctx, working, batch[:half])
		l.process(ctx, working, batch[half:])
	case batch[0].isBarrier(): // it is acknowledged: the barrier is published again
		l.opts.Logger.Error("barrier not passed", "barrier", batch[0].Message().Barrier.Number, "error", err)
		l.ack(batch)
	default:
		l.reject(ctx, working, batch[0], err)
	}
}

func (w *Worker) ack(batch []task) {
	if len(batch) == 0 {
		return
	}
	if first, can := batch[0].Delivery.(BatchAcker); can {
		deliveries := make([]Delivery, len(batch))
		for i := range batch {
			deliveries[i] = batch[i].Delivery
		}
		w.logSettled("ack", first.AckAll(deliveries))
		return
	}
	for _, t := range batch {
		w.logSettled("ack", t.Ack())
	}
}

func (l *batchLoop) requeue(batch []task) {
	l.requeued = true
	for _, t := range batch {
		l.logSettled("requeue", t.Requeue())
	}
}

// logSettled logs that a delivery could not be settled, and that settling succeeds again.
// The queue redelivers the message, which is skipped if it is already persisted.
func (w *Worker) logSettled(how string, err error) {
	if err != nil {
		w.settleOutage.Failed("how", how, "error", err)
		return
	}
	w.settleOutage.Worked()
}

// prune deletes old message ids, immediately and then every hour until the context
// ends.
func (w *Worker) prune(ctx context.Context) {
	ticker := time.NewTicker(pruneEvery)
	defer ticker.Stop()
	for {
		if _, err := w.persister.Prune(ctx, storage.InboxAge); err != nil && ctx.Err() == nil {
			w.opts.Logger.Warn("inbox not pruned; retrying in an hour", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
