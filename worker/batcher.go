package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"ovation/internal/outage"
	"ovation/storage"
)

// batcher groups the actions of each partition into messages. A message is sent
// immediately if no other message is unconfirmed. Otherwise, the actions that arrive in
// the meantime form the next message of their partition. This message is sent when no
// other message is unconfirmed any more, or when the partition has been able to send it
// for the duration given by the option Linger. A partition has at most MaxInFlight
// unconfirmed messages.
type batcher struct {
	publisher Publisher
	mirror    Mirror
	onOutcome func(*storage.Action, error) // see submit
	opts      RecorderOptions
	applyLog  *outage.Log

	items            sync.Pool     // of *item that are not in use
	backlog          chan struct{} // holds a token for each accepted action without an answer
	anonymousBacklog chan struct{} // the same for actions by anonymous users, which are not in backlog
	closing          chan struct{} // closed by close
	drained          chan struct{} // closed when, after close, the last batch is answered

	mu         sync.Mutex
	closed     bool
	sending    int // batches without an answer
	publishing int // unconfirmed messages of all lanes
	lanes      []lane
	ready      []int // lanes that may send, in the order in which they became ready
	lingering  bool  // a timer runs until the first ready lane has waited for Linger
}

// lane is the queue of one partition.
type lane struct {
	waiting    []*item
	publishing int       // unconfirmed messages
	ready      bool      // is in batcher.ready
	readySince time.Time // when it was added to batcher.ready
}

// item is an action whose caller waits for the answer. The batcher does not touch an item
// after it has sent the answer.
type item struct {
	action      storage.Action
	wantSubject bool // whether seen is to be filled
	seen        storage.Interactive
	answer      chan answer // has a buffer of 1, so that the batcher never blocks
}

type answer struct {
	durability storage.Durability
	err        error
}

func newBatcher(publisher Publisher, mirror Mirror, settle func(*storage.Action, error), opts RecorderOptions) *batcher {
	return &batcher{
		publisher:        publisher,
		mirror:           mirror,
		onOutcome:        settle,
		opts:             opts,
		applyLog:         outage.New(opts.Logger, "confirmed actions not applied to the mirror yet", "confirmed actions are applied to the mirror again"),
		backlog:          make(chan struct{}, opts.MaxBacklog),
		anonymousBacklog: make(chan struct{}, (opts.MaxBacklog+4)/5),
		closing:          make(chan struct{}),
		drained:          make(chan struct{}),
		lanes:            make([]lane, publisher.Partitions()),
	}
}

// errNotSent is passed to onOutcome if the action was not published.
var errNotSent = errors.New("not sent")

// submit sends the action and waits for the answer. If seen is not nil, submit fills it
// with the subject (see Mirror.Apply). The function onOutcome is called exactly once,
// possibly long after submit has returned, with nil, errNotSent or the publisher's error.
func (b *batcher) submit(ctx context.Context, a storage.Action, seen *storage.Interactive) (storage.Durability, error) {
	if err := b.admit(ctx, a.User.Anonymous()); err != nil {
		b.onOutcome(&a, errNotSent)
		return "", err
	}
	b.opts.Metrics.backlogActions.Inc()
	it, _ := b.items.Get().(*item)
	if it == nil {
		it = &item{answer: make(chan answer, 1)}
	}
	it.action, it.wantSubject, it.seen = a, seen != nil, storage.Interactive{}
	if !b.enqueue(it) { //nolint:contextcheck // accepted actions outlive their caller
		b.release(&it.action, errNotSent)
		return "", fmt.Errorf("record: %w", ErrClosed)
	}
	select {
	case got := <-it.answer:
		if seen != nil {
			*seen = it.seen
		}
		b.items.Put(it)
		return got.durability, got.err
	case <-ctx.Done():
		return "", storage.Ended(ctx, "wait for confirmation")
	}
}

// admit waits for room in the backlog. An action by an anonymous user fails instead of
// waiting, because nothing else bounds the number of such actions.
func (b *batcher) admit(ctx context.Context, anonymous bool) error {
	if anonymous {
		select {
		case b.anonymousBacklog <- struct{}{}:
			return nil
		default:
			b.opts.Metrics.refusals.Inc()
			return fmt.Errorf("record: %w", ErrBusy)
		}
	}
	select {
	case b.backlog <- struct{}{}:
		return nil
	default:
	}
	select {
	case b.backlog <- struct{}{}:
		return nil
	case <-b.closing:
		return fmt.Errorf("record: %w", ErrClosed)
	case <-ctx.Done():
		return storage.Ended(ctx, "wait for room in the backlog")
	}
}

// enqueue adds the item to the lane of its partition. After close, it returns false.
func (b *batcher) enqueue(it *item) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	partition := PartitionOf(it.action.Subject, len(b.lanes))
	b.lanes[partition].waiting = append(b.lanes[partition].waiting, it)
	b.markReady(partition)
	b.dispatch()
	return true
}

// release reports the outcome of an action and frees its place in the backlog.
func (b *batcher) release(a *storage.Action, err error) {
	b.onOutcome(a, err)
	if a.User.Anonymous() {
		<-b.anonymousBacklog
	} else {
		<-b.backlog
	}
	b.opts.Metrics.backlogActions.Dec()
}

// dispatch starts sending from all lanes that may send. The caller holds the mutex.
func (b *batcher) dispatch() {
	for len(b.ready) > 0 && (b.publishing == 0 || b.lingerLeft() <= 0) {
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
		b.markReady(next)
	}
	if len(b.ready) > 0 && !b.lingering {
		b.lingering = true
		time.AfterFunc(b.lingerLeft(), b.lingerElapsed)
	}
}

// lingerLeft returns how long the first ready lane still has to wait.
func (b *batcher) lingerLeft() time.Duration {
	return b.opts.Linger - time.Since(b.lanes[b.ready[0]].readySince)
}

// lingerElapsed runs when the Linger timer fires.
func (b *batcher) lingerElapsed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lingering = false
	b.dispatch()
}

// markReady appends a lane to ready if it has something to send and may send it. The
// caller holds the mutex.
func (b *batcher) markReady(partition int) {
	l := &b.lanes[partition]
	if !l.ready && len(l.waiting) > 0 && l.publishing < b.opts.MaxInFlight {
		l.ready, l.readySince = true, time.Now()
		b.ready = append(b.ready, partition)
	}
}

// send publishes a batch and answers its callers. It uses a context of its own, so that
// the cancellation of one caller does not affect the others.
func (b *batcher) send(partition int, batch []*item) {
	b.opts.Metrics.recorderSizes.Observe(float64(len(batch)))
	actions := make([]storage.Action, len(batch))
	var seen []*storage.Interactive
	for i, it := range batch {
		actions[i] = it.action
		if it.wantSubject {
			if seen == nil {
				seen = make([]*storage.Interactive, len(batch))
			}
			seen[i] = &it.seen
		}
	}
	durability, err := b.publish(partition, actions)

	b.mu.Lock()
	b.lanes[partition].publishing--
	b.publishing--
	b.markReady(partition)
	b.dispatch() // the next message need not wait for apply
	b.mu.Unlock()

	if err == nil {
		b.apply(actions, durability, seen)
	}
	for i, it := range batch {
		b.release(&actions[i], err)
		it.answer <- answer{durability, err}
	}
	b.finishBatch()
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

// apply makes the batch visible. The actions are durable already, so a failure is only
// logged: readers then get the old state until a worker has persisted the batch.
func (b *batcher) apply(actions []storage.Action, where storage.Durability, seen []*storage.Interactive) {
	ctx, cancel := context.WithTimeout(context.Background(), b.opts.PublishTimeout)
	defer cancel()
	if err := b.mirror.Apply(ctx, actions, where, seen); err != nil {
		b.opts.Metrics.mirrorFailures.Inc()
		b.applyLog.Failed("actions", len(actions), "error", err)
		return
	}
	if where == storage.Queued { // for persisted actions, the mirror may have had nothing to do
		b.applyLog.Worked()
	}
}

// finishBatch records that a batch is answered, and wakes close after the last batch.
func (b *batcher) finishBatch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sending--
	if b.closed && b.sending == 0 {
		close(b.drained)
	}
}

// close rejects new actions and waits for the last answer.
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
