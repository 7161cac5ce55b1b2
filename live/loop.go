package live

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"ovation/storage"
)

const (
	maxRead   = 1000 // subjects in one read
	readsOnce = 8    // tenants that are read at the same time
)

// run reads the subjects that are due, until the context ends.
func (h *Hub) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		case <-timer.C:
		}
		for ctx.Err() == nil {
			batch := h.gather()
			if len(batch) == 0 {
				break
			}
			h.read(ctx, batch)
		}
		timer.Reset(h.pause())
	}
}

// reading is a topic that is being read.
type reading struct {
	topic   *topic
	fresh   []seat
	changed time.Time
}

// gather returns the topics to read now, at most maxRead. A change signalled from now
// on causes another read.
func (h *Hub) gather() []reading {
	told, all, rewinds := h.changes.take()
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rewinds = rewinds
	for subject, at := range told {
		if t := h.topics[subject]; t != nil {
			h.opts.Metrics.changes.Inc()
			h.note(t, at)
		}
	}
	if all {
		for _, t := range h.order {
			h.note(t, now)
		}
	}
	h.cool(now)
	h.sweep(now)
	var batch []reading
	taken := 0
	for _, t := range h.ready {
		if len(batch) == maxRead {
			break
		}
		taken++
		t.queued = false
		if t.gone {
			continue
		}
		batch = append(batch, reading{t, t.fresh, t.changed})
		t.fresh, t.dirty, t.changed = nil, false, time.Time{}
	}
	if h.ready = h.ready[taken:]; len(h.ready) == 0 {
		h.ready = nil
	}
	return batch
}

// cool ends the pause of topics that have paused long enough.
func (h *Hub) cool(now time.Time) {
	n := 0
	for ; n < len(h.cooling) && !h.cooling[n].until.After(now); n++ {
		t := h.cooling[n]
		t.cooling = false
		if t.dirty {
			h.queue(t)
		}
	}
	if h.cooling = h.cooling[n:]; len(h.cooling) == 0 {
		h.cooling = nil
	}
}

// sweep queues subjects without a signal, when a sweep is due.
func (h *Hub) sweep(now time.Time) {
	if now.Sub(h.swept) < h.opts.Sweep || len(h.order) == 0 {
		return
	}
	h.swept = now
	for range min(len(h.order), h.opts.MaxSweep) {
		h.next %= len(h.order)
		if t := h.order[h.next]; !t.cooling {
			h.queue(t)
		}
		h.next++
	}
}

// pause returns how long the loop has nothing to do unless it receives a signal.
func (h *Hub) pause() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	wait := h.opts.Sweep
	if len(h.order) > 0 {
		wait = time.Until(h.swept.Add(h.opts.Sweep))
	}
	if len(h.cooling) > 0 {
		wait = min(wait, time.Until(h.cooling[0].until))
	}
	return max(wait, 0)
}

// read reads a batch, each tenant's subjects by one call, and delivers what is new.
func (h *Hub) read(ctx context.Context, batch []reading) {
	of := make(map[string][]int, 1)
	for i := range batch {
		tenant := batch[i].topic.subject.Tenant
		of[tenant] = append(of[tenant], i)
	}
	found := make([]storage.Interactive, len(batch))
	var readers errgroup.Group // a tenant that fails does not cancel the others
	readers.SetLimit(readsOnce)
	for tenant, at := range of {
		readers.Go(func() error { return h.readTenant(ctx, tenant, at, batch, found) })
	}
	failed := readers.Wait()
	if ctx.Err() != nil {
		return
	}
	if failed != nil {
		h.unread.Failed("error", failed)
	} else {
		h.unread.Worked()
	}
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	var given []*Watcher
	if h.changes.rewound(h.rewinds) { // the batch may contain lost commits
		h.putBack(batch)
		return
	}
	for i := range batch {
		given = h.settle(batch[i].topic, &found[i], batch[i].fresh, batch[i].changed, now, given)
	}
	for _, w := range given {
		w.release()
	}
}

// putBack queues a batch to be read again. The lock is held.
func (h *Hub) putBack(batch []reading) {
	for _, one := range batch {
		one.topic.fresh = append(one.topic.fresh, one.fresh...)
		h.queue(one.topic)
	}
}

// readTenant reads the subjects of one tenant. If that fails they are
// storage.Unavailable.
func (h *Hub) readTenant(ctx context.Context, tenant string, at []int, batch []reading, found []storage.Interactive) error {
	ctx, cancel := context.WithTimeout(ctx, h.opts.ReadTimeout)
	defer cancel()
	subjects := make([]storage.Subject, len(at))
	for i, n := range at {
		subjects[i] = batch[n].topic.subject
	}
	begin := time.Now()
	got, err := h.reader.Interactives(ctx, storage.User{Tenant: tenant}, subjects, 0)
	h.opts.Metrics.read(len(subjects), begin, err)
	for i, n := range at {
		if err != nil {
			found[n] = storage.Interactive{Subject: subjects[i], Freshness: storage.Unavailable}
		} else {
			found[n] = got[i]
		}
	}
	return err
}
