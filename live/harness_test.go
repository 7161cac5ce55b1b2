package live

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"ovation/storage"
)

// table is a Reader of counts that a test sets.
type table struct {
	mu     sync.Mutex
	reads  map[storage.Subject]int64
	fail   error
	calls  [][]storage.Subject
	atOnce int // calls in progress
	most   int // maximum of atOnce
	// during, if not nil, is called by every read once its result is determined.
	during func()
}

func (c *table) Interactives(_ context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds) ([]storage.Interactive, error) {
	c.mu.Lock()
	c.calls = append(c.calls, subjects)
	c.atOnce++
	c.most = max(c.most, c.atOnce)
	out, err := make([]storage.Interactive, len(subjects)), c.fail
	for i, subject := range subjects {
		if subject.Tenant != viewer.Tenant || !viewer.Anonymous() || kinds != 0 {
			err = errors.New("more is read than counts")
		}
		n := c.reads[subject]
		out[i] = storage.Interactive{Subject: subject, Freshness: storage.Live, Counts: storage.Counts{ReadCount: n, Version: n}}
	}
	during := c.during
	c.mu.Unlock()
	if during != nil {
		during()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.atOnce--
	if err != nil {
		return nil, err
	}
	return out, nil
}

// add adds one read to each subject, without a signal.
func (c *table) add(subjects ...storage.Subject) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reads == nil {
		c.reads = map[storage.Subject]int64{}
	}
	for _, subject := range subjects {
		c.reads[subject]++
	}
}

// set sets the number of reads of the first video, without a signal.
func (c *table) set(reads int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads = map[storage.Subject]int64{video(0): reads}
}

func (c *table) setError(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = err
}

// duringNextRead makes the next read call f after its result is determined and before it
// returns.
func (c *table) duringNextRead(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.during = func() {
		c.mu.Lock()
		c.during = nil
		c.mu.Unlock()
		f()
	}
}

func (c *table) takeCalls() [][]storage.Subject {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls
	c.calls = nil
	return calls
}

func video(i int) storage.Subject {
	return storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: strconv.Itoa(i)}
}

func videos(n int) []storage.Subject {
	out := make([]storage.Subject, n)
	for i := range out {
		out[i] = video(i)
	}
	return out
}

// now takes the available events, without waiting for more.
func (w *Watcher) now(t *testing.T) []*Event {
	t.Helper()
	synctest.Wait()
	events := make([]*Event, 1000)
	n, err := w.Take(events)
	if err != nil {
		t.Fatal(err)
	}
	return events[:n]
}

// bubble is a hub that reads a table and has a fake clock.
type bubble struct {
	t     *testing.T
	table *table
	hub   *Hub
}

// inBubble runs a test with a hub and a fake clock.
func inBubble(t *testing.T, options Options, test func(b *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &table{}
		if options.Logger == nil {
			options.Logger = slog.New(slog.DiscardHandler)
		}
		h := New(c, options)
		defer h.Close()
		test(&bubble{t, c, h})
	})
}
