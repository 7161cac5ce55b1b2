package windows

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/keyspace"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/window"
)

// maxGlancing is how many pipelines of glances are under way at a time. Whoever
// comes meanwhile shares the next one.
const maxGlancing = 2

// glances gather what callers look up one by one: a pipeline costs little more
// than a single command. No timer is involved.
type glances struct {
	running sync.WaitGroup // pipelines
	idle    sync.Pool      // of *glance, that nobody holds any more

	mu       sync.Mutex
	waiting  []*Glance
	Glancing int
	closed   bool // no more begin
}

// Glance is a look at one state of one user. Once done has been told nobody but
// its caller touches it.
type Glance struct {
	Window string // its key
	Field  string
	Kind   int // in window.Kinds
	entry  window.Entry
	Found  bool
	Err    error
	Done   chan struct{} // takes one without blocking
}

// Glance looks up a state as an action needs it, without changing anything. It
// returns false where that takes a script, or the database. Errors:
// storage.ErrUnavailable, the context's.
func (r *Reader) Glance(ctx context.Context, at keyspace.Epoch, key storage.StateKey, kind int) (window.Entry, bool, error) {
	g, _ := r.Glances.idle.Get().(*Glance)
	if g == nil {
		g = &Glance{Done: make(chan struct{}, 1)}
	}
	g.Window = at.Window(mirror.WindowKey{User: key.User, Biz: key.Subject.Biz})
	g.Field, g.Kind = window.Field(key.Subject.BizID), kind
	if !r.Glances.begin(g, r.glanceOn) {
		return window.Entry{}, false, errClosed
	}
	select {
	case <-g.Done:
		defer r.Glances.idle.Put(g)
		return g.entry, g.Found, g.Err
	case <-ctx.Done():
		return window.Entry{}, false, ctx.Err()
	}
}

// begin has a glance wait for its pipeline, unless none begin any more.
func (g *glances) begin(one *Glance, on func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.waiting = append(g.waiting, one)
		on()
	}
	return !g.closed
}

// close waits until the last pipeline has ended.
func (g *glances) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.running.Wait()
}

// glanceOn begins a pipeline if there is need and room. The lock is held.
func (r *Reader) glanceOn() {
	if all := r.Glances.waiting; len(all) > 0 && r.Glances.Glancing < maxGlancing {
		n := min(len(all), scripts.Pipeline)
		r.Glances.waiting = all[n:]
		r.Glances.Glancing++
		r.Glances.running.Go(func() { r.GlanceAt(all[:n:n]) })
	}
}

// GlanceAt looks up what a pipeline is about.
func (r *Reader) GlanceAt(all []*Glance) {
	err := r.Redis.Do(context.Background(), "look at states", func(ctx context.Context) error {
		commands := make([]rueidis.Completed, len(all))
		for i, g := range all {
			commands[i] = r.Redis.Client.B().Hmget().Key(g.Window).Field("~b", "~f", g.Field).Build()
		}
		for i, reply := range r.Redis.Client.DoMulti(ctx, commands...) {
			if err := all[i].take(reply, r.Life/2, r.Guard); err != nil {
				return err
			}
		}
		return nil
	})
	r.Glances.mu.Lock()
	r.Glances.Glancing--
	r.glanceOn()
	r.Glances.mu.Unlock()
	for _, g := range all {
		g.Err = err
		g.Done <- struct{}{}
	}
}

// renewAge is how old an entry is when it is kept alive, as in lua/look.lua. It
// stays for six times as long: clocks may differ by most of that.
const renewAge = 10 * time.Second

// take reads a reply. What has come of windows that are to be loaded again, or
// lack it, is not found, nor is a malformed value; nor is what is to be kept alive, or was marked a while
// ago: a fill must leave what an action has relied on, and by the clock of Redis
// alone it is told whether it is persisted by now.
func (g *Glance) take(reply rueidis.RedisResult, lasts, guard time.Duration) error {
	g.entry, g.Found = window.Entry{}, false
	values, err := reply.ToArray()
	if scripts.WrongType(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(values) != 3 {
		return errors.New("a window has not answered every field")
	}
	if !loadedWithin(&values[0], lasts) {
		return nil
	}
	var text string
	if !values[2].IsNil() {
		value, err := values[2].ToString()
		if err != nil {
			return err
		}
		texts, whole := window.Split(value)
		if !whole {
			return nil // the script replaces it
		}
		text = texts[g.Kind]
	}
	if text == "" {
		g.entry, g.Found = window.KnownNone, !values[1].IsNil()
		return nil
	}
	if g.entry, err = window.Parse(text); err == nil { // else the script replaces it
		g.Found = g.entry.Known && time.Since(window.Touched(text)) < min(renewAge, guard)
	}
	return nil
}
