package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"ovation/outage"
	"ovation/storage"
)

// batcher groups actions into messages. One leaves as soon as there is something
// to send and none is being published. What arrives meanwhile makes the next of
// its partition, which leaves when none is being published any more, or when the
// partition could have sent it for Linger: it publishes MaxInFlight at a time.
type batcher struct {
	publisher Publisher
	mirror    Mirror
	settle    func(*storage.Action, error) // see do
	opts      RecorderOptions
	unshown   *outage.Log

	items     sync.Pool     // of *item, that nobody holds any more
	space     chan struct{} // holds a token for each action accepted and not answered
	anonymous chan struct{} // the same for actions of anonymous users, which are not in space
	closing   chan struct{} // closed when no more is accepted
	drained   chan struct{} // closed when the last batch is answered after that

	mu         sync.Mutex
	closed     bool
	sending    int // batches that are not answered
	publishing int // messages, of all lanes
	lanes      []lane
	ready      []int // lanes that may send something, in the order in which they could
	lingering  bool  // a timer runs until the first of them has waited for Linger
}

// lane is one partition.
type lane struct {
	waiting    []*item
	publishing int       // messages
	ready      bool      // it is in batcher.ready
	since      time.Time // it is
}

// item is an action whose caller waits for the answer. Once it is answered the
// batcher does not touch it any more.
type item struct {
	action storage.Action
	answer chan answer // takes one without blocking
}

type answer struct {
	durability storage.Durability
	err        error
}

func newBatcher(publisher Publisher, mirror Mirror, settle func(*storage.Action, error), opts RecorderOptions) *batcher {
	return &batcher{
		publisher: publisher,
		mirror:    mirror,
		settle:    settle,
		opts:      opts,
		unshown:   outage.New(opts.Logger, "confirmed actions are not shown yet", "confirmed actions are shown at once again"),
		space:     make(chan struct{}, opts.MaxBacklog),
		anonymous: make(chan struct{}, (opts.MaxBacklog+4)/5),
		closing:   make(chan struct{}),
		drained:   make(chan struct{}),
		lanes:     make([]lane, publisher.Partitions()),
	}
}

// errNotSent is what settle is called with where nothing was published.
var errNotSent = errors.New("not sent")

// do sends the action and waits for its answer. It has settle called once, when
// the action is out of its hands, which may be long after it has returned: with
// nil, errNotSent or the publisher's error.
func (b *batcher) do(ctx context.Context, a storage.Action) (storage.Durability, error) {
	if err := b.enter(ctx, a.User.Anonymous()); err != nil {
		b.settle(&a, errNotSent)
		return "", err
	}
	b.opts.Metrics.backlogActions.Inc()
	it, _ := b.items.Get().(*item)
	if it == nil {
		it = &item{answer: make(chan answer, 1)}
	}
	it.action = a
	if !b.add(it) { //nolint:contextcheck // what is accepted outlives its caller
		b.leave(&it.action, errNotSent)
		return "", fmt.Errorf("record: %w", ErrClosed)
	}
	select {
	case got := <-it.answer:
		b.items.Put(it)
		return got.durability, got.err
	case <-ctx.Done():
		return "", storage.Ended(ctx, "wait for the confirm")
	}
}

// enter waits for room in the backlog. Anonymous users do not wait: nothing else
// bounds how many of them there are.
func (b *batcher) enter(ctx context.Context, anonymous bool) error {
	if anonymous {
		select {
		case b.anonymous <- struct{}{}:
			return nil
		default:
			b.opts.Metrics.refusals.Inc()
			return fmt.Errorf("record: %w", ErrBusy)
		}
	}
	select {
	case b.space <- struct{}{}:
		return nil
	default:
	}
	select {
	case b.space <- struct{}{}:
		return nil
	case <-b.closing:
		return fmt.Errorf("record: %w", ErrClosed)
	case <-ctx.Done():
		return storage.Ended(ctx, "wait for room in the backlog")
	}
}

// add puts the item into its lane, or returns false after close.
func (b *batcher) add(it *item) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	partition := PartitionOf(it.action.Subject, len(b.lanes))
	b.lanes[partition].waiting = append(b.lanes[partition].waiting, it)
	b.queue(partition)
	b.launch()
	return true
}

// leave gives back what an action holds.
func (b *batcher) leave(a *storage.Action, err error) {
	b.settle(a, err)
	if a.User.Anonymous() {
		<-b.anonymous
	} else {
		<-b.space
	}
	b.opts.Metrics.backlogActions.Dec()
}

// launch starts what may be sent. The lock is held.
func (b *batcher) launch() {
	for len(b.ready) > 0 && (b.publishing == 0 || b.patience() <= 0) {
		next := b.ready[0]
		b.ready = b.ready[1:]
		l := &b.lanes[next]
		l.ready = false
		n := min(len(l.waiting), b.opts.MaxBatch)
		batch := l.waiting[:n:n]
		l.waiting = l.waiting[n:]
		l.publishing++
		b.publishing++
		b.sending++
		go b.send(next, batch) // close waits for it
		b.queue(next)
	}
	if len(b.ready) > 0 && !b.lingering {
		b.lingering = true
		time.AfterFunc(b.patience(), b.lingered)
	}
}

// patience is how long the first of the ready lanes will still wait.
func (b *batcher) patience() time.Duration {
	return b.opts.Linger - time.Since(b.lanes[b.ready[0]].since)
}

// lingered launches what has waited for long enough.
func (b *batcher) lingered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lingering = false
	b.launch()
}

// queue has a lane wait for its turn, if it may send anything and does not wait
// already. The lock is held.
func (b *batcher) queue(partition int) {
	l := &b.lanes[partition]
	if !l.ready && len(l.waiting) > 0 && l.publishing < b.opts.MaxInFlight {
		l.ready, l.since = true, time.Now()
		b.ready = append(b.ready, partition)
	}
}

// send takes a batch all the way to its answers. It belongs to no caller: each
// may go away without cutting it short.
func (b *batcher) send(partition int, batch []*item) {
	b.opts.Metrics.recorderSizes.Observe(float64(len(batch)))
	actions := make([]storage.Action, len(batch))
	for i, it := range batch {
		actions[i] = it.action
	}
	durability, err := b.publish(partition, actions)

	b.mu.Lock()
	b.lanes[partition].publishing--
	b.publishing--
	b.queue(partition)
	b.launch() // the next message need not wait for the showing
	b.mu.Unlock()

	if err == nil {
		b.show(actions, durability)
	}
	for i, it := range batch {
		b.leave(&actions[i], err)
		it.answer <- answer{durability, err}
	}
	b.done()
}

func (b *batcher) publish(partition int, actions []storage.Action) (storage.Durability, error) {
	ctx, cancel := context.WithTimeout(context.Background(), b.opts.PublishTimeout)
	defer cancel()
	message := storage.Message{ID: uuid.Must(uuid.NewV7()).String(), Actions: actions}
	durability, err := b.publisher.Publish(ctx, partition, message)
	if err == nil {
		return durability, nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
	}
	return "", fmt.Errorf("publish batch of %d: %w", len(actions), err)
}

// show makes the batch visible. The actions are durable already, so that it
// fails nobody: until a worker has persisted them, readers see the past.
func (b *batcher) show(actions []storage.Action, where storage.Durability) {
	ctx, cancel := context.WithTimeout(context.Background(), b.opts.PublishTimeout)
	defer cancel()
	if err := b.mirror.Show(ctx, actions, where); err != nil {
		b.opts.Metrics.mirrorFailures.Inc()
		b.unshown.Failed("actions", len(actions), "error", err)
		return
	}
	b.unshown.Worked()
}

// done counts off a batch and tells close of the last one.
func (b *batcher) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sending--
	if b.closed && b.sending == 0 {
		close(b.drained)
	}
}

// close accepts no more and waits for the last answer.
func (b *batcher) close(ctx context.Context) error {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		close(b.closing)
		if b.sending == 0 {
			close(b.drained)
		}
	}
	b.mu.Unlock()
	select {
	case <-b.drained:
		return nil
	case <-ctx.Done():
		return storage.Ended(ctx, "send the backlog")
	}
}
