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

	"ovation/outage"
	"ovation/storage"
)

// Options tune a Worker. The zero value is a good choice.
type Options struct {
	// MaxActions ends the gathering of a batch: no further message is taken
	// once it holds as many; 5,000 if 0. One message is always taken whole.
	MaxActions int
	// Pace is the least time from the beginning of a batch to that of the next
	// one in the same hand. What comes meanwhile shares the next one; what comes
	// to a worker that has rested for so long is begun at once. With 0 a batch
	// takes what is there.
	Pace time.Duration
	// Concurrency is how many batches are worked on at the same time, each of
	// partitions of its own; 1 if 0. More than the queue has partitions are no
	// use.
	Concurrency int
	// MaxTries is how often a single message is tried before it is rejected;
	// 3 if 0. Tries that find the store unavailable do not count.
	MaxTries int
	// MinBackoff and MaxBackoff bound the wait between two tries, which doubles
	// each time and is spread by half; 50 ms and 2 s if 0.
	MinBackoff, MaxBackoff time.Duration
	// Logger takes what goes wrong; slog.Default() if nil.
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
	o.Metrics = cmp.Or(o.Metrics, unmeasured)
	return o
}

// finishTimeout is how long the batch in hand may take once the context of Run has
// ended.
const finishTimeout = 10 * time.Second

// pruneEvery is the time between two prunings of the inbox.
const pruneEvery = time.Hour

// Worker takes messages out of the queue and makes them durable.
type Worker struct {
	consumer  Consumer
	persister storage.Persister
	mirror    Mirror
	opts      Options
	hands     []*hand
	unsettled *outage.Log
	halved    *outage.Log
}

// hand holds one batch after another, all of partitions of its own.
type hand struct {
	*Worker

	deliveries <-chan Delivery
	began      time.Time // the last batch
	gaveBack   bool      // something, since Run began
	failing    atomic.Pointer[error]
}

// New returns a Worker. It does nothing until Run.
func New(consumer Consumer, persister storage.Persister, mirror Mirror, opts Options) *Worker {
	opts = opts.withDefaults()
	w := &Worker{
		consumer: consumer, persister: persister, mirror: mirror, opts: opts,
		unsettled: outage.New(opts.Logger, "deliveries not settled; they will come again", "deliveries are settled again"),
		halved:    outage.New(opts.Logger, "what cannot be persisted together is tried in halves", "batches are persisted as they come again"),
	}
	for range opts.Concurrency {
		w.hands = append(w.hands, &hand{Worker: w})
	}
	return w
}

// Run persists messages until the context ends; it then finishes the batch in
// hand, gives back what it had not begun and returns nil. Where the queue goes
// away before, Run returns an error and may be called again.
//
// A panic of the store or the mirror is not caught: what it leaves behind is
// unknown. The queue delivers again whatever Run had in hand.
func (w *Worker) Run(ctx context.Context) error {
	// Two contexts outlive the given one: that of the consumer, so that the
	// batch in hand can still be settled, and that of the work on it.
	consuming, stopConsuming := context.WithCancel(context.WithoutCancel(ctx))
	defer stopConsuming()
	working, stopWorking := outlive(ctx, finishTimeout)
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
	for _, h := range w.hands {
		h.gaveBack = false
	}
	dealing, stopDealing := context.WithCancel(ctx)
	var others sync.WaitGroup
	defer others.Wait()
	defer stopDealing()
	w.share(dealing, &others, deliveries)
	for _, h := range w.hands[1:] {
		others.Go(func() { h.run(ctx, working) })
	}
	w.hands[0].run(ctx, working)
	others.Wait()
	if ctx.Err() == nil {
		return fmt.Errorf("consume: the queue went away: %w", ErrClosed)
	}
	stopConsuming()
	for range deliveries { // the queue takes back what was not begun
	}
	return nil
}

// handRoom is how many deliveries wait for a hand, until those for others have to
// wait too. It is more than queues give before one is settled.
const handRoom = 1 << 17

// share gives each hand the deliveries of its partitions, until the context ends
// or the queue goes away. What none has begun by then comes again.
func (w *Worker) share(ctx context.Context, running *sync.WaitGroup, deliveries <-chan Delivery) {
	if len(w.hands) == 1 {
		w.hands[0].deliveries = deliveries
		return
	}
	to := make([]chan Delivery, len(w.hands))
	for i := range to {
		to[i] = make(chan Delivery, handRoom)
		w.hands[i].deliveries = to[i]
	}
	running.Go(func() {
		for d, open := next(ctx, deliveries, nil, true); open; d, open = next(ctx, deliveries, nil, true) {
			select {
			case to[d.Partition()%len(to)] <- d:
			case <-ctx.Done():
			}
		}
		for _, waiting := range to {
			abandon(waiting)
		}
	})
}

// abandon closes a channel after what lies in it is gone.
func abandon(waiting chan Delivery) {
	for {
		select {
		case <-waiting:
		default:
			close(waiting)
			return
		}
	}
}

// run works until the context ends or nothing more comes.
func (h *hand) run(ctx, working context.Context) {
	for batch := h.gather(ctx); len(batch) > 0; batch = h.gather(ctx) {
		h.workAll(ctx, working, batch)
	}
}

// outlive returns a context that ends some time after another one has ended.
func outlive(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(by, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, cancel
}

// task is a delivery. It is doubtful where a transaction may have marked its
// actions and then been rolled back, here or elsewhere.
type task struct {
	Delivery
	doubtful bool
}

// redeliveryQuiet is how long nothing comes after the last redelivered message
// of what another worker had in hand.
const redeliveryQuiet = 100 * time.Millisecond

// plenty is how many messages are a batch before the Pace allows one.
const plenty = 100

// gather waits for a first delivery and, where there are not plenty, until the
// Pace allows a batch, and takes what is there then, up to MaxActions. Once a
// message is redelivered it takes all that comes until no more such ones do:
// what the other worker had marked together must be forgotten before any of it
// is persisted. The queue bounds how much that is. It returns none when the
// context has ended or the queue is gone.
func (h *hand) gather(ctx context.Context) []task {
	deliveries := h.deliveries
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
	takeWhatIsThere := func() {
		for !redelivered && actions < h.opts.MaxActions {
			d, open := next(ctx, deliveries, nil, false)
			if !open {
				return
			}
			take(d)
		}
	}
	d, open := next(ctx, deliveries, nil, true)
	if !open {
		return nil
	}
	take(d)
	takeWhatIsThere()
	if len(batch) < plenty && !redelivered {
		sleep(ctx, h.opts.Pace-time.Since(h.began))
		takeWhatIsThere()
	}
	h.began = time.Now()
	quiet := time.NewTimer(redeliveryQuiet)
	defer quiet.Stop()
	for redelivered {
		d, open := next(ctx, deliveries, quiet.C, true)
		if !open {
			break
		}
		take(d)
		if d.Redelivered() { // new ones never end
			quiet.Reset(redeliveryQuiet)
		}
	}
	return batch
}

// next returns a delivery that is there, or comes before the time has passed
// where it may wait.
func next(ctx context.Context, deliveries <-chan Delivery, passed <-chan time.Time, wait bool) (Delivery, bool) {
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
	case <-passed:
	case <-ctx.Done():
	}
	return nil, false
}

// sleep waits for some time or until the context ends.
func sleep(ctx context.Context, some time.Duration) {
	if some <= 0 {
		return
	}
	timer := time.NewTimer(some)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// errStopped ends the tries of a batch when the worker is stopping.
var errStopped = errors.New("the worker is stopping")

// workAll settles a batch, in parts of MaxActions, after all that is doubtful
// in it is forgotten. When the context ends in between, it gives back the rest.
func (h *hand) workAll(ctx, working context.Context, batch []task) {
	stopped := h.forgetAll(ctx, working, batch) != nil
	for len(batch) > 0 {
		n := 1
		for actions := len(batch[0].Message().Actions); n < len(batch) && actions < h.opts.MaxActions; n++ {
			actions += len(batch[n].Message().Actions)
		}
		if stopped {
			h.giveBack(batch[:n])
		} else {
			h.work(ctx, working, batch[:n])
		}
		batch = batch[n:]
		stopped = stopped || ctx.Err() != nil
	}
}

// work persists a batch and settles each of its deliveries. What cannot be
// persisted together, or not in time, is tried in halves, so that a message which
// fails for itself is found and rejected and holds up no other.
func (h *hand) work(ctx, working context.Context, batch []task) {
	outcome, err := h.persist(ctx, working, batch)
	switch {
	case err == nil && h.publish(ctx, working, outcome) == nil:
		h.halved.Worked()
		h.ack(h.rejectExpired(ctx, working, batch, outcome.Expired))
	case err == nil: // persisted, but not told: whoever gets it again will tell
		h.giveBack(batch)
	case errors.Is(err, errStopped):
		h.giveBack(batch)
	case len(batch) > 1:
		h.opts.Metrics.retries.Inc()
		h.halved.Failed("messages", len(batch), "error", err)
		half := len(batch) / 2
		h.work(ctx, working, batch[:half])
		h.work(ctx, working, batch[half:])
	case batch[0].isBarrier(): // others follow it
		h.opts.Logger.Error("barrier not passed", "barrier", batch[0].Message().Barrier.Number, "error", err)
		h.ack(batch)
	default:
		h.reject(ctx, working, batch[0], err)
	}
}

func (w *Worker) ack(batch []task) {
	if len(batch) == 0 {
		return
	}
	if first, can := batch[0].Delivery.(Together); can {
		deliveries := make([]Delivery, len(batch))
		for i := range batch {
			deliveries[i] = batch[i].Delivery
		}
		w.settled("ack", first.AckAll(deliveries))
		return
	}
	for _, t := range batch {
		w.settled("ack", t.Ack())
	}
}

func (h *hand) giveBack(batch []task) {
	h.gaveBack = true
	for _, t := range batch {
		h.settled("requeue", t.Requeue())
	}
}

// settled notes where a delivery could not be settled. It then comes again,
// and whatever of it is persisted is skipped.
func (w *Worker) settled(how string, err error) {
	if err != nil {
		w.unsettled.Failed("how", how, "error", err)
		return
	}
	w.unsettled.Worked()
}

// prune forgets old message ids, at once and every hour until the context
// ends.
func (w *Worker) prune(ctx context.Context) {
	ticker := time.NewTicker(pruneEvery)
	defer ticker.Stop()
	for {
		if _, err := w.persister.Prune(ctx, storage.InboxAge); err != nil && ctx.Err() == nil {
			w.opts.Logger.Warn("inbox not pruned; tried again in an hour", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
