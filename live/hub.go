package live

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ovation/internal/outage"
	"ovation/storage"
)

// Reader reads counts. Every storage.Reader implements it.
type Reader interface {
	Interactives(ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds) ([]storage.Interactive, error)
}

// Options configures a Hub. The zero value selects the defaults.
type Options struct {
	// Gap is the minimum time between two events for one subject. The default, 1/18 s,
	// limits every watcher to 20 events for a subject in any second, even if these
	// include the snapshot and an event that is taken late.
	Gap time.Duration
	// Sweep is the interval at which watched subjects are read without a signal, by
	// default 1 s. A sweep reads at most MaxSweep subjects, by default 5,000, and the
	// next sweep continues after them.
	Sweep    time.Duration
	MaxSweep int
	// ReadTimeout bounds a read. The default is 5 s.
	ReadTimeout time.Duration
	// Logger logs failures. The default is slog.Default().
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics *Metrics
}

func (o Options) withDefaults() Options {
	o.Gap = cmp.Or(o.Gap, time.Second/18)
	o.Sweep = cmp.Or(o.Sweep, time.Second)
	o.MaxSweep = cmp.Or(o.MaxSweep, 5000)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, 5*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.Metrics = cmp.Or(o.Metrics, noMetrics)
	return o
}

// Hub holds all watchers of a process. It is safe for concurrent use.
type Hub struct {
	reader  Reader
	opts    Options
	changes changes
	watched atomic.Int64  // number of subjects
	wake    chan struct{} // makes the loop check for changes immediately
	outage  *outage.Log
	stop    context.CancelFunc
	loop    sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	topics    map[storage.Subject]*topic
	order     []*topic  // all topics, for sweeps
	next      int       // the index in order at which the next sweep begins
	swept     time.Time // when the last sweep began
	ready     []*topic  // topics to be read
	throttled []*topic  // topics delivered less than Options.Gap ago, the oldest first
	rewinds   int       // number of rewinds as of the latest gather
}

// New returns a hub that reads from reader. Call Close when the hub is no longer needed.
func New(reader Reader, options Options) *Hub {
	h := &Hub{
		reader: reader, opts: options.withDefaults(),
		wake: make(chan struct{}, 1), topics: make(map[storage.Subject]*topic),
	}
	h.outage = outage.New(h.opts.Logger, "live counts cannot be read; tried again", "live counts are read again")
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	h.loop.Go(func() { h.run(ctx) })
	return h
}

// Close ends every watch and waits for the hub's goroutine. It may be called
// twice.
func (h *Hub) Close() {
	h.stop()
	h.loop.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, t := range h.order {
		for _, one := range t.watchers {
			one.watcher.end()
		}
	}
}

// Changed signals that the given subjects may have changed. It is fast and never blocks.
func (h *Hub) Changed(subjects []storage.Subject) {
	if h.watched.Load() > 0 && len(subjects) > 0 {
		h.changes.add(subjects)
		h.wakeLoop()
	}
}

// ChangedAll signals that any subject may have changed.
func (h *Hub) ChangedAll() {
	if h.watched.Load() > 0 {
		h.changes.addAll()
		h.wakeLoop()
	}
}

// Rewound signals that commits may have been lost, for example in a database failover, so
// that versions may be lower than before. The hub discards the counts that it has read,
// re-reads all subjects and delivers them again. Rewound is fast and never blocks.
func (h *Hub) Rewound() {
	h.changes.rewind()
	h.wakeLoop()
}

func (h *Hub) wakeLoop() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Watch begins to watch the given subjects: at least one, without duplicates. All changes
// from this call on are delivered. Call Close on the watcher when it is no longer needed.
func (h *Hub) Watch(subjects []storage.Subject) *Watcher {
	w := &Watcher{
		hub:     h,
		entries: make([]entry, len(subjects)), awaitingFirst: len(subjects),
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		w.closed = true
		return w
	}
	for i, subject := range subjects {
		h.topicOf(subject).join(h, w, i)
	}
	h.opts.Metrics.watchers.Inc()
	h.wakeLoop()
	return w
}

func (h *Hub) topicOf(subject storage.Subject) *topic {
	t := h.topics[subject]
	if t == nil {
		t = &topic{subject: subject, index: len(h.order)}
		h.topics[subject] = t
		h.order = append(h.order, t)
		h.updateCount()
	}
	return t
}

// leave removes a watcher, and the subjects that no other watcher watches.
func (h *Hub) leave(w *Watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range w.entries {
		t := w.entries[i].topic
		if t.leave(w, i); len(t.watchers) > 0 {
			continue
		}
		t.removed = true
		delete(h.topics, t.subject)
		last := h.order[len(h.order)-1]
		h.order[t.index], last.index = last, t.index
		h.order[len(h.order)-1] = nil
		h.order = h.order[:len(h.order)-1]
	}
	h.opts.Metrics.watchers.Dec()
	h.updateCount()
}

func (h *Hub) updateCount() {
	h.watched.Store(int64(len(h.order)))
	h.opts.Metrics.subjects.Set(float64(len(h.order)))
}
