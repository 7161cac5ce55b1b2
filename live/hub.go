package live

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ovation/outage"
	"ovation/storage"
)

// Reader looks up counts. Every storage.Reader is one.
type Reader interface {
	Interactives(ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds) ([]storage.Interactive, error)
}

// Options tune a Hub. The zero value is a good choice.
type Options struct {
	// Gap is the least time between two events of one subject; 1/18 s if 0. It
	// keeps every watcher below 20 events of a subject in any second, though
	// one of them may be taken late and one be the snapshot.
	Gap time.Duration
	// Sweep is the time after which what is watched is read although nobody
	// told of a change; 1 s if 0. A sweep reads MaxSweep subjects at most, in
	// turns; 5,000 if 0.
	Sweep    time.Duration
	MaxSweep int
	// ReadTimeout bounds a read; 5 s if 0.
	ReadTimeout time.Duration
	// Logger takes what goes wrong; slog.Default() if nil.
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
	o.Metrics = cmp.Or(o.Metrics, unmeasured)
	return o
}

// Hub holds all watchers of a process. It is safe for concurrent use.
type Hub struct {
	reader  Reader
	opts    Options
	changes changes
	watched atomic.Int64  // subjects
	wake    chan struct{} // has the loop look at once
	unread  *outage.Log
	stop    context.CancelFunc
	loop    sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	topics  map[storage.Subject]*topic
	order   []*topic  // all of them, for sweeps
	next    int       // in order: where the next sweep begins
	swept   time.Time // when the last sweep began
	ready   []*topic  // to be read
	cooling []*topic  // told of lately, the longest ago first
}

// New returns a hub that reads by reader. Close it at the end.
func New(reader Reader, options Options) *Hub {
	h := &Hub{
		reader: reader, opts: options.withDefaults(),
		wake: make(chan struct{}, 1), topics: make(map[storage.Subject]*topic),
	}
	h.unread = outage.New(h.opts.Logger, "live counts cannot be read; tried again", "live counts are read again")
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	h.loop.Go(func() { h.run(ctx) })
	return h
}

// Close ends every watch and waits until the hub is at rest. It may be called
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

// Changed tells the hub that subjects may have changed. It is quick and never
// blocks.
func (h *Hub) Changed(subjects []storage.Subject) {
	if h.watched.Load() > 0 && len(subjects) > 0 {
		h.changes.add(subjects)
		h.look()
	}
}

// ChangedAll tells the hub that anything may have changed.
func (h *Hub) ChangedAll() {
	if h.watched.Load() > 0 {
		h.changes.addAll()
		h.look()
	}
}

func (h *Hub) look() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Watch begins to watch subjects, at least one and each once. Whatever changes
// from now on is told. Close the watcher at the end.
func (h *Hub) Watch(subjects []storage.Subject) *Watcher {
	w := &Watcher{
		hub:     h,
		entries: make([]entry, len(subjects)), unknown: len(subjects),
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
	h.look()
	return w
}

func (h *Hub) topicOf(subject storage.Subject) *topic {
	t := h.topics[subject]
	if t == nil {
		t = &topic{subject: subject, place: len(h.order)}
		h.topics[subject] = t
		h.order = append(h.order, t)
		h.count()
	}
	return t
}

// leave takes a watcher out, and the subjects that nobody else watches.
func (h *Hub) leave(w *Watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range w.entries {
		t := w.entries[i].topic
		if t.leave(w, i); len(t.watchers) > 0 {
			continue
		}
		t.gone = true
		delete(h.topics, t.subject)
		last := h.order[len(h.order)-1]
		h.order[t.place], last.place = last, t.place
		h.order[len(h.order)-1] = nil
		h.order = h.order[:len(h.order)-1]
	}
	h.opts.Metrics.watchers.Dec()
	h.count()
}

func (h *Hub) count() {
	h.watched.Store(int64(len(h.order)))
	h.opts.Metrics.subjects.Set(float64(len(h.order)))
}
