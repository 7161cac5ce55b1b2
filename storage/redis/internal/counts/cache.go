package counts

import (
	"sync"
	"time"

	"github.com/redis/rueidis"

	"ovation/storage"
	"ovation/storage/redis/internal/keyspace"
)

const (
	// maxCached is the maximum number of subjects in a Cache. They take about 20 MB, or
	// 50 MB if all their names have the maximum length.
	maxCached = 100_000
	seenTTL   = 2 * time.Second // by then every invalidation that is not lost has arrived
)

// Result holds the counts of a subject, if they are known.
type Result struct {
	storage.Counts

	Known bool
}

// Cache holds the decoded counts that this process has read through the client-side cache
// and that Redis has not invalidated since. It exists because reading the counts of a
// page from the client-side cache costs more than everything else that the page needs
// from Redis. For seenTTL, the Cache also keeps counts that were written, or read without
// the client-side cache: until every invalidation has arrived, older counts must not be
// returned.
//
// A reader reserves the entries of missing subjects before it reads their counts. After
// the read, it stores counts only in entries that are still reserved for it: an
// invalidation in the meantime cancels the reservation.
type Cache struct {
	// Until returns the time at which the client-side cache expires a reply, as a Unix
	// time in milliseconds.
	Until func(rueidis.RedisResult) int64

	mu          sync.RWMutex
	entries     map[storage.Subject]*entry
	generation  int64
	invalidUpTo int64          // entries of generations up to this one are invalid
	ended       keyspace.Epoch // the epoch that the latest rewind has ended; Observe ignores the counts of this epoch
}

// NewCache returns an empty Cache.
func NewCache() *Cache {
	return &Cache{Until: rueidis.RedisResult.CachePXAT, entries: make(map[storage.Subject]*entry)}
}

// entry holds the counts of one subject.
type entry struct {
	counts     storage.Counts
	epoch      keyspace.Epoch // under whose keys the counts were read
	until      int64          // expiry, as a Unix time in milliseconds; 0 or less while unknown
	generation int64          // of the reader that has reserved the entry
	seen       *seen
}

// seen holds recently seen counts. Older counts must not be returned before the time in
// the field until, a Unix time in milliseconds.
type seen struct {
	storage.Counts

	until int64
}

// newer returns the recently seen counts if their version is above the given version.
func (p *entry) newer(version, now int64) (storage.Counts, bool) {
	if p == nil || p.seen == nil || p.seen.Version <= version || now >= p.seen.until {
		return storage.Counts{}, false
	}
	return p.seen.Counts, true
}

// Get stores the cached counts of subjects in the slice out, and returns the indices of
// the subjects whose counts are not cached.
func (c *Cache) Get(at keyspace.Epoch, subjects []storage.Subject, out []Result) (left []int) {
	now := time.Now().UnixMilli()
	c.mu.RLock()
	defer c.mu.RUnlock()
	for i := range subjects {
		p := c.entries[subjects[i]]
		if p == nil || now >= p.until || p.generation <= c.invalidUpTo || p.epoch != at {
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

// Authors returns the id of each subject's author in the cache, or "" if there is none.
// The ids may be outdated.
func (c *Cache) Authors(subjects []storage.Subject) []string {
	out := make([]string, len(subjects))
	c.mu.RLock()
	defer c.mu.RUnlock()
	for i := range subjects {
		if p := c.entries[subjects[i]]; p != nil {
			out[i] = p.counts.AuthorID
		}
	}
	return out
}

// Deleted reports whether the cached counts say that the subject is deleted.
func (c *Cache) Deleted(subject storage.Subject) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	p := c.entries[subject]
	return p != nil && (p.counts.Deleted || p.seen != nil && p.seen.Deleted)
}

// reserve reserves entries for the subjects whose counts the caller is about to read. The
// parameter left holds the indices of these subjects. The result turn is the generation
// of the reservation.
func (c *Cache) reserve(subjects []storage.Subject, left []int) (turn int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	for _, i := range left {
		p := c.entry(subjects[i])
		*p = entry{generation: c.generation, seen: p.seen}
	}
	return c.generation
}

// entry returns the entry of a subject, and creates it if necessary. The caller holds the
// lock.
func (c *Cache) entry(subject storage.Subject) *entry {
	p := c.entries[subject]
	if p == nil {
		c.evict()
		p = new(entry)
		c.entries[clone(subject)] = p
	}
	return p
}

// evict removes an arbitrary entry if the Cache is full. The caller holds the lock.
// Losing seen counts is harmless, as they are kept only briefly.
func (c *Cache) evict() {
	if len(c.entries) < maxCached {
		return
	}
	for subject := range c.entries {
		delete(c.entries, subject)
		return
	}
}

// put stores the counts that a reader has read. The parameter turn is the generation that
// reserve has returned to this reader, and left holds the same indices as in reserve. For
// each of these indices, the slice until holds the time at which the client-side cache
// expires the counts. put skips a subject if its entry is no longer reserved for this
// reader, for example because an invalidation has removed the entry.
func (c *Cache) put(turn int64, at keyspace.Epoch, subjects []storage.Subject, left []int, out []Result, until []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, i := range left {
		if p := c.entries[subjects[i]]; p != nil && p.generation == turn && out[i].Known {
			p.counts, p.epoch, p.until = out[i].Counts, at, until[k]
		}
	}
}

// raiseToSeen replaces counts in out if newer counts of the same subject were seen
// recently. The parameter left holds the indices of the counts to compare. Unknown counts
// stay unknown, so that they are read from the database: counts newer than the recently
// seen ones may have been returned through the client-side cache in the meantime.
func (c *Cache) raiseToSeen(subjects []storage.Subject, left []int, out []Result) {
	now := time.Now().UnixMilli()
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, i := range left {
		if counts, newer := c.entries[subjects[i]].newer(out[i].Version, now); newer && out[i].Known {
			out[i].Counts = counts
		}
	}
}

// Observe records counts that were written, or read without the client-side cache.
func (c *Cache) Observe(at keyspace.Epoch, subject storage.Subject, counts storage.Counts) {
	now := time.Now().UnixMilli()
	c.mu.Lock()
	defer c.mu.Unlock()
	if at == c.ended {
		return
	}
	if p := c.entry(subject); p.seen == nil || now >= p.seen.until || p.seen.Version <= counts.Version {
		p.seen = &seen{counts, now + seenTTL.Milliseconds()}
	}
}

// Invalidate removes the cached counts of subjects whose keys Redis has invalidated. It
// keeps recently seen counts.
func (c *Cache) Invalidate(subjects []storage.Subject) {
	now := time.Now().UnixMilli()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, subject := range subjects {
		if p := c.entries[subject]; p != nil && p.seen != nil && now < p.seen.until {
			*p = entry{seen: p.seen}
		} else {
			delete(c.entries, subject)
		}
	}
}

// InvalidateAll removes all cached counts, since any of them may be outdated. It keeps
// recently seen counts.
func (c *Cache) InvalidateAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.invalidUpTo = c.generation
}

// Reset removes everything, including recently seen counts: the database was rewound, and
// versions continue from those that the database has now. Reads and writes of the ended
// epoch may still be in progress; Observe ignores their counts.
func (c *Cache) Reset(ended keyspace.Epoch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.invalidUpTo, c.ended = c.generation, ended
	c.entries = make(map[storage.Subject]*entry)
}

// clone returns a copy of a subject. The strings of the original may be parts of a larger
// string, such as a request. The copy does not keep the larger string in memory.
func clone(of storage.Subject) storage.Subject {
	all := of.Tenant + of.Biz + of.BizID
	biz := len(of.Tenant) + len(of.Biz)
	return storage.Subject{Tenant: all[:len(of.Tenant)], Biz: all[len(of.Tenant):biz], BizID: all[biz:]}
}
