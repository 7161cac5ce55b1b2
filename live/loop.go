package live

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"ovation/storage"
)

const (
	maxReadSubjects    = 1000 // subjects in one read
	maxConcurrentReads = 8    // tenants whose subjects are read at the same time
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
		timer.Reset(h.untilDue())
	}
}

// reading is a topic that is being read.
type reading struct {
	topic       *topic
	newWatchers []watcherEntry
	changed     time.Time
}

// gather returns the topics to read now, at most maxReadSubjects. A change that is
// signalled from now on causes another read.
func (h *Hub) gather() []reading {
	changed, all, rewinds := h.changes.take()
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rewinds = rewinds
	for subject, at := range changed {
		if t := h.topics[subject]; t != nil {
			h.opts.Metrics.changes.Inc()
			h.markDirty(t, at)
		}
	}
	if all {
		for _, t := range h.order {
			h.markDirty(t, now)
		}
	}
	h.unthrottle(now)
	h.sweep(now)
	var batch []reading
	taken := 0
	for _, t := range h.ready {
		if len(batch) == maxReadSubjects {
			break
		}
		taken++
		t.queued = false
		if t.removed {
			continue
		}
		batch = append(batch, reading{t, t.newWatchers, t.changed})
		t.newWatchers, t.dirty, t.changed = nil, false, time.Time{}
	}
	if h.ready = h.ready[taken:]; len(h.ready) == 0 {
		h.ready = nil
	}
	return batch
}

// unthrottle ends the throttling of topics whose gap has passed, and queues the topics
// that have changed meanwhile.
func (h *Hub) unthrottle(now time.Time) {
	n := 0
	for ; n < len(h.throttled) && !h.throttled[n].throttledUntil.After(now); n++ {
		t := h.throttled[n]
		t.throttled = false
		if t.dirty {
			h.queue(t)
		}
	}
	if h.throttled = h.throttled[n:]; len(h.throttled) == 0 {
		h.throttled = nil
	}
}

// sweep queues the next watched subjects to be read, with or without a signal, if a sweep
// is due.
func (h *Hub) sweep(now time.Time) {
	if now.Sub(h.swept) < h.opts.Sweep || len(h.order) == 0 {
		return
	}
	h.swept = now
	for range min(len(h.order), h.opts.MaxSweep) {
		h.next %= len(h.order)
		if t := h.order[h.next]; !t.throttled {
			h.queue(t)
		}
		h.next++
	}
}

// untilDue returns how long the loop can wait if it receives no signal.
func (h *Hub) untilDue() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	wait := h.opts.Sweep
	if len(h.order) > 0 {
		wait = time.Until(h.swept.Add(h.opts.Sweep))
	}
	if len(h.throttled) > 0 {
		wait = min(wait, time.Until(h.throttled[0].throttledUntil))
	}
	return max(wait, 0)
}

// read reads a batch, in one call per tenant, and delivers the new counts.
func (h *Hub) read(ctx context.Context, batch []reading) {
	of := make(map[string][]int, 1)
	for i := range batch {
		tenant := batch[i].topic.subject.Tenant
		of[tenant] = append(of[tenant], i)
	}
	found := make([]storage.Interactive, len(batch))
	var readers errgroup.Group // a failed read does not cancel the reads of other tenants
	readers.SetLimit(maxConcurrentReads)
	for tenant, at := range of {
		readers.Go(func() error { return h.readTenant(ctx, tenant, at, batch, found) })
	}
	failed := readers.Wait()
	if ctx.Err() != nil {
		return
	}
	if failed != nil {
		h.outage.Failed("error", failed)
	} else {
		h.outage.Worked()
	}
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	var toRelease []*Watcher
	if h.changes.rewound(h.rewinds) { // the batch may contain lost commits
		h.requeue(batch)
		return
	}
	for i := range batch {
		toRelease = h.publish(batch[i].topic, &found[i], batch[i].newWatchers, batch[i].changed, now, toRelease)
	}
	for _, w := range toRelease {
		w.release()
	}
}

// requeue queues a batch to be read again. The caller holds the hub's lock.
func (h *Hub) requeue(batch []reading) {
	for _, one := range batch {
		one.topic.newWatchers = append(one.topic.newWatchers, one.newWatchers...)
		h.queue(one.topic)
	}
}

// readTenant reads the subjects of one tenant. If the read fails, the subjects' freshness
// is storage.Unavailable.
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
