package redis

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/epochs"
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
	waiting  []*glance
	glancing int
	closed   bool // no more begin
}

// glance is a look at one state of one user. Once done has been told nobody but
// its caller touches it.
type glance struct {
	window string // its key
	field  string
	kind   int // in window.Kinds
	entry  window.Entry
	found  bool
	err    error
	done   chan struct{} // takes one without blocking
}

// glance looks up a state as an action needs it, without changing anything. It
// returns false where that takes a script, or the database. Errors:
// storage.ErrUnavailable, the context's.
func (s *Store) glance(ctx context.Context, at *epochs.Epoch, key storage.StateKey, kind int) (window.Entry, bool, error) {
	if s.unshown.over([]storage.StateKey{key}) != nil {
		return window.Entry{}, false, nil
	}
	g, _ := s.glances.idle.Get().(*glance)
	if g == nil {
		g = &glance{done: make(chan struct{}, 1)}
	}
	g.window = at.Keys.Window(mirror.WindowKey{User: key.User, Biz: key.Subject.Biz})
	g.field, g.kind = window.Field(key.Subject.BizID), kind
	if !s.glances.begin(g, s.glanceOn) {
		return window.Entry{}, false, errClosed
	}
	select {
	case <-g.done:
		defer s.glances.idle.Put(g)
		return g.entry, g.found, g.err
	case <-ctx.Done():
		return window.Entry{}, false, ctx.Err()
	}
}

// begin has a glance wait for its pipeline, unless none begin any more.
func (g *glances) begin(one *glance, on func()) bool {
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
func (s *Store) glanceOn() {
	if all := s.glances.waiting; len(all) > 0 && s.glances.glancing < maxGlancing {
		n := min(len(all), scripts.Pipeline)
		s.glances.waiting = all[n:]
		s.glances.glancing++
		s.glances.running.Go(func() { s.glanceAt(all[:n:n]) })
	}
}

// glanceAt looks up what a pipeline is about.
func (s *Store) glanceAt(all []*glance) {
	err := s.redis.Call(context.Background(), "look at states", func(ctx context.Context) error {
		commands := make([]rueidis.Completed, len(all))
		for i, g := range all {
			commands[i] = s.client.B().Hmget().Key(g.window).Field("~b", "~f", g.field).Build()
		}
		for i, reply := range s.client.DoMulti(ctx, commands...) {
			if err := all[i].take(reply, s.opts.Life/2, s.opts.Guard); err != nil {
				return err
			}
		}
		return nil
	})
	s.glances.mu.Lock()
	s.glances.glancing--
	s.glanceOn()
	s.glances.mu.Unlock()
	for _, g := range all {
		g.err = err
		g.done <- struct{}{}
	}
}

// renewAge is how old an entry is when it is kept alive, as in lua/look.lua. It
// stays for six times as long: clocks may differ by most of that.
const renewAge = 10 * time.Second

// take reads a reply. What has come of windows that are to be loaded again, or
// lack it, is not found, nor is a malformed value; nor is what is to be kept alive, or was marked a while
// ago: a fill must leave what an action has relied on, and by the clock of Redis
// alone it is told whether it is persisted by now.
func (g *glance) take(reply rueidis.RedisResult, lasts, guard time.Duration) error {
	g.entry, g.found = window.Entry{}, false
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
		text = texts[g.kind]
	}
	if text == "" {
		g.entry, g.found = window.KnownNone, !values[1].IsNil()
		return nil
	}
	if g.entry, err = window.Parse(text); err == nil { // else the script replaces it
		g.found = g.entry.Known && time.Since(window.Touched(text)) < min(renewAge, guard)
	}
	return nil
}
