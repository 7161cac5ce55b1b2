package counts

import (
	"sync"
	"time"

	"github.com/redis/rueidis"

	"ovation/storage"
	"ovation/storage/redis/internal/keyspace"
)

const (
	// maxCached is how many subjects a Cache holds: some 20 MB, 50 MB where all
	// names are as long as can be.
	maxCached = 100_000
	seenLife  = 2 * time.Second // by then every invalidation has come
)

// Result is the counts of a subject, known or not.
type Result struct {
	storage.Counts

	Known bool
}

// Cache holds, decoded, the counts that this process has read through the client's
// cache and that Redis has not invalidated since: to ask that cache for a page
// costs more than everything else a page needs of Redis. It also holds, for a
// moment, counts that the process has seen past that cache: until every
// invalidation has come, no older ones are an answer.
//
// A reader reserves the places of what is missing, and keeps what comes only where
// the place is still its own: an invalidation meanwhile has taken it away.
type Cache struct {
	// Until returns how long the client's cache keeps a reply, in milliseconds of
	// the Unix clock.
	Until func(rueidis.RedisResult) int64

	mu    sync.RWMutex
	of    map[storage.Subject]*place
	turns int64
	lost  int64 // places of turns up to this one are void
}

// NewCache returns an empty Cache.
func NewCache() *Cache {
	return &Cache{Until: rueidis.RedisResult.CachePXAT, of: make(map[storage.Subject]*place)}
}

// place holds the counts of one subject.
type place struct {
	counts storage.Counts
	epoch  keyspace.Epoch // under whose keys they were
	until  int64          // in milliseconds of the Unix clock; 0 or less while they are not known
	turn   int64          // whose place it is
	seen   *seen
}

// seen are counts that older ones must not follow.
type seen struct {
	storage.Counts

	until int64
}

// newer returns counts above a version that were seen lately.
func (p *place) newer(version, now int64) (storage.Counts, bool) {
	if p == nil || p.seen == nil || p.seen.Version <= version || now >= p.seen.until {
		return storage.Counts{}, false
	}
	return p.seen.Counts, true
}

// Find answers what is cached, and returns the indices of what is not.
func (c *Cache) Find(at keyspace.Epoch, subjects []storage.Subject, out []Result) (left []int) {
	now := time.Now().UnixMilli()
	c.mu.RLock()
	defer c.mu.RUnlock()
	for i := range subjects {
		p := c.of[subjects[i]]
		if p == nil || now >= p.until || p.turn <= c.lost || p.epoch != at {
			left = append(left, i)
			continue
		}
		out[i] = Result{p.counts, true}
		if counts, newer := p.newer(p.counts.Version, now); newer {
			out[i].Counts = counts
		}
	}
	return left
}

// reserve takes the places of subjects that are about to be read. They belong to
// the turn that it returns.
func (c *Cache) reserve(subjects []storage.Subject, left []int) (turn int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turns++
	for _, i := range left {
		p := c.place(subjects[i])
		*p = place{turn: c.turns, seen: p.seen}
	}
	return c.turns
}

// place returns that of a subject, which it makes if need be. The lock is held.
func (c *Cache) place(subject storage.Subject) *place {
	p := c.of[subject]
	if p == nil {
		c.makeRoom()
		p = new(place)
		c.of[detached(subject)] = p
	}
	return p
}

// makeRoom drops any one where there are too many. What was seen lasts a moment, so
// that forgetting some of it is harmless.
func (c *Cache) makeRoom() {
	if len(c.of) < maxCached {
		return
	}
	for subject := range c.of {
		delete(c.of, subject)
		return
	}
}

// keep puts in what was read in a turn, if it was not invalidated since it began.
func (c *Cache) keep(turn int64, at keyspace.Epoch, subjects []storage.Subject, left []int, out []Result, until []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, i := range left {
		if p := c.of[subjects[i]]; p != nil && p.turn == turn && out[i].Known {
			p.counts, p.epoch, p.until = out[i].Counts, at, until[k]
		}
	}
}

// replaceOlder puts in place of what was read what was seen lately, if that is
// newer. What was not found stays unknown: still newer counts may have come through
// the client's cache since, and the database has them.
func (c *Cache) replaceOlder(subjects []storage.Subject, left []int, out []Result) {
	now := time.Now().UnixMilli()
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, i := range left {
		if counts, newer := c.of[subjects[i]].newer(out[i].Version, now); newer && out[i].Known {
			out[i].Counts = counts
		}
	}
}

// Seen notes counts that were read past the client's cache, or written.
func (c *Cache) Seen(subject storage.Subject, counts storage.Counts) {
	now := time.Now().UnixMilli()
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.place(subject); p.seen == nil || now >= p.seen.until || p.seen.Version <= counts.Version {
		p.seen = &seen{counts, now + seenLife.Milliseconds()}
	}
}

// Forget drops what Redis has invalidated.
func (c *Cache) Forget(subjects []storage.Subject) {
	now := time.Now().UnixMilli()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, subject := range subjects {
		if p := c.of[subject]; p != nil && p.seen != nil && now < p.seen.until {
			*p = place{seen: p.seen}
		} else {
			delete(c.of, subject)
		}
	}
}

// ForgetAll drops everything that was cached: nothing may be known to be current.
func (c *Cache) ForgetAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = c.turns
}

// Reset drops everything, also what was seen: the database has gone back, and
// versions begin again from what it has now.
func (c *Cache) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = c.turns
	c.of = make(map[storage.Subject]*place)
}

// detached is a subject that keeps no other text in memory than its own: what a
// request names may be a part of all that it says.
func detached(of storage.Subject) storage.Subject {
	all := of.Tenant + of.Biz + of.BizID
	biz := len(of.Tenant) + len(of.Biz)
	return storage.Subject{Tenant: all[:len(of.Tenant)], Biz: all[len(of.Tenant):biz], BizID: all[biz:]}
}
