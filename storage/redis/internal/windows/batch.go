package windows

import (
	"context"
	"sync"
	"time"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/keyspace"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/window"
)

// maxPipelines is the maximum number of pipelines in flight. Reads that arrive while so
// many pipelines are in flight share the next pipeline.
const maxPipelines = 2

// getBatcher batches the reads of single entries: a pipeline costs little more than a
// single command. It uses no timer.
type getBatcher struct {
	running sync.WaitGroup // pipelines
	free    sync.Pool      // unused *Request values

	mu       sync.Mutex
	waiting  []*Request
	inFlight int  // pipelines
	closed   bool // no more reads are accepted
}

// touchAge is the time after which an entry is touched again, as in lua/read.lua. A fill
// keeps an entry that was touched in the last 60 s (lua/fill.lua), so the clocks of this
// process and Redis may differ by most of that time.
const touchAge = 10 * time.Second

// GetBatched returns the entry that an action needs, without writing to Redis. kind is an
// index in window.Kinds. GetBatched returns false if a script or the database is needed.
// Errors: storage.ErrUnavailable, the context's error.
func (r *Reader) GetBatched(ctx context.Context, at keyspace.Epoch, key storage.StateKey, kind int) (window.Entry, bool, error) {
	w, _ := r.gets.free.Get().(*Request)
	if w == nil {
		w = new(Request)
	}
	w.Init(at, key)
	if !r.enqueue(w) { //nolint:contextcheck // several callers share the pipeline
		return window.Entry{}, false, errClosed
	}
	select {
	case <-w.done: // only this goroutine uses w now
		defer r.gets.free.Put(w)
		e, found := w.Result(kind, min(touchAge, r.Guard))
		return e, found && w.err == nil, w.err
	case <-ctx.Done():
		return window.Entry{}, false, ctx.Err()
	}
}

// Init prepares w to read the states of one user on one subject.
func (w *Request) Init(at keyspace.Epoch, key storage.StateKey) {
	if w.done == nil {
		w.indices, w.fields, w.out, w.done = []int{0}, make([]string, 1), make([]window.Entries, 1), make(chan struct{}, 1)
	}
	w.key = at.Window(mirror.WindowKey{User: key.User, Biz: key.Subject.Biz})
	w.fields[0] = window.Field(key.Subject.BizID)
	w.loaded, w.complete, w.malformed = false, false, nil
}

// Result returns the entry of a kind. It returns false if the window must be loaded, if
// the window is incomplete and lacks the entry, or if the value is malformed. It also
// returns false if only clears of the reaction are known, or if the entry was not touched
// within the duration fresh. An entry that was not touched for so long must be touched
// again, since a fill must not remove an entry that an action has relied on. If such an
// entry is marked, it may count as persisted by now; whether it does is decided by the
// clock of Redis.
func (w *Request) Result(kind int, fresh time.Duration) (window.Entry, bool) {
	e := w.out[0][kind]
	if e.Absent() {
		return window.KnownNone, w.loaded && w.complete
	}
	return e, w.loaded && e.Known && time.Since(e.Touched()) < fresh
}

// enqueue adds a read to the next pipeline. It returns false after Close.
func (r *Reader) enqueue(w *Request) bool {
	r.gets.mu.Lock()
	defer r.gets.mu.Unlock()
	if !r.gets.closed {
		r.gets.waiting = append(r.gets.waiting, w)
		r.startPipeline()
	}
	return !r.gets.closed
}

// startPipeline starts a pipeline if reads are waiting and fewer than maxPipelines are in
// flight. The caller holds the lock.
func (r *Reader) startPipeline() {
	if all := r.gets.waiting; len(all) > 0 && r.gets.inFlight < maxPipelines {
		n := min(len(all), scripts.Pipeline)
		r.gets.waiting = all[n:]
		r.gets.inFlight++
		r.gets.running.Go(func() { r.runPipeline(all[:n:n]) })
	}
}

func (r *Reader) runPipeline(all []*Request) {
	err := r.ReadAll(context.Background(), "read states", all)
	r.gets.mu.Lock()
	r.gets.inFlight--
	r.startPipeline()
	r.gets.mu.Unlock()
	for _, w := range all {
		w.err = err
		w.done <- struct{}{}
	}
}

// Close rejects further reads and waits until no pipeline is in flight.
func (r *Reader) Close() {
	r.gets.mu.Lock()
	r.gets.closed = true
	r.gets.mu.Unlock()
	r.gets.running.Wait()
}
