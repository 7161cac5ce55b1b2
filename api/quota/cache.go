package quota

import "container/list"

// Cache keeps the entries that were used last. An entry counts in the shares of the owner
// that has added it until another owner uses it, and from then on only in the whole. An
// owner is another one if both its user and its site are: a client that logs in, or asks
// from its other networks, is the same. While
// there is room, an owner may have more than its share. Once the cache is full, the
// oldest entries of the owner furthest beyond its share are evicted first, and then the
// oldest of all. Calls must not be concurrent.
type Cache[K comparable, V any] struct {
	entries int // maximum
	shares  Shares
	dropped func(K, V)
	byKey   map[K]*entry[K, V]
	lists   map[share]*lru // the entries of each share, the oldest first
	over    map[share]*lru // the lists that exceed their shares: a few dozen at most
}

// lru is a list of entries with the sum of their sizes.
type lru struct {
	list.List

	size int
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int
	owner Owner
	// shares are those in which the entry counts, with its elements in their lists.
	shares   []share
	elements []*list.Element
}

// whole is the share that every entry belongs to.
var whole = share{kind: Total}

// NewCache returns an empty cache of at most the given number of entries, the sum of whose
// sizes is bounded by shares. The function dropped is called for each evicted entry. It may
// be nil.
func NewCache[K comparable, V any](entries int, shares Shares, dropped func(K, V)) *Cache[K, V] {
	return &Cache[K, V]{
		entries: entries, shares: shares, dropped: dropped,
		byKey: map[K]*entry[K, V]{}, lists: map[share]*lru{whole: {}}, over: map[share]*lru{},
	}
}

// Get returns the value of a key, which an owner is about to use.
func (c *Cache[K, V]) Get(key K, by Owner) (value V, found bool) {
	e, found := c.byKey[key]
	if !found {
		return value, false
	}
	if len(e.shares) > 1 && !e.owner.mayBe(by) {
		c.remove(e)
		c.count(e, []share{whole})
	}
	for i, one := range e.shares {
		c.lists[one].MoveToBack(e.elements[i])
	}
	return e.value, true
}

// Contains reports whether a key is in the cache. It does not count as a use.
func (c *Cache[K, V]) Contains(key K) bool {
	_, found := c.byKey[key]
	return found
}

// Add adds an entry of a size for an owner, unless the key is in the cache. It may evict
// the entry at once.
func (c *Cache[K, V]) Add(key K, value V, size int, by Owner) {
	if _, known := c.byKey[key]; known {
		return
	}
	e := &entry[K, V]{key: key, value: value, size: size, owner: by}
	c.byKey[key] = e
	c.count(e, by.shares(nil))
	c.evict()
}

// Grow adds to the size of a key's entry, if there is one.
func (c *Cache[K, V]) Grow(key K, by int) {
	e, found := c.byKey[key]
	if !found {
		return
	}
	e.size += by
	for _, one := range e.shares {
		c.lists[one].size += by
		c.compare(one)
	}
	c.evict()
}

// Remove removes a key's entry, if there is one.
func (c *Cache[K, V]) Remove(key K) {
	if e, found := c.byKey[key]; found {
		c.remove(e)
		delete(c.byKey, key)
	}
}

// EvictOne evicts an entry, as if the cache were full. It returns false if there is none.
func (c *Cache[K, V]) EvictOne() bool {
	from, most := c.lists[whole], 1.0
	for one, of := range c.over {
		if used := c.used(one, of); used > most {
			from, most = of, used
		}
	}
	if from.Len() == 0 {
		return false
	}
	oldest := from.Front().Value.(*entry[K, V]) //nolint:forcetypeassert // the lists hold nothing else
	c.Remove(oldest.key)
	if c.dropped != nil {
		c.dropped(oldest.key, oldest.value)
	}
	return true
}

// Len returns the number of entries.
func (c *Cache[K, V]) Len() int { return len(c.byKey) }

// Size returns the sum of the sizes of all entries.
func (c *Cache[K, V]) Size() int { return c.lists[whole].size }

// count appends an entry to the lists of shares.
func (c *Cache[K, V]) count(e *entry[K, V], shares []share) {
	e.shares, e.elements = shares, make([]*list.Element, len(shares))
	for i, one := range shares {
		if c.lists[one] == nil {
			c.lists[one] = &lru{}
		}
		e.elements[i] = c.lists[one].PushBack(e)
		c.lists[one].size += e.size
		c.compare(one)
	}
}

// remove removes an entry from the lists of its shares.
func (c *Cache[K, V]) remove(e *entry[K, V]) {
	for i, one := range e.shares {
		of := c.lists[one]
		of.Remove(e.elements[i])
		of.size -= e.size
		c.compare(one)
		if of.Len() == 0 && one != whole {
			delete(c.lists, one)
		}
	}
}

// evict evicts entries until the rest fits.
func (c *Cache[K, V]) evict() {
	for all := c.lists[whole]; all.size > c.shares.Total || all.Len() > c.entries; {
		c.EvictOne()
	}
}

// compare records whether a share is exceeded. A share with a single entry is not,
// however large the entry is.
func (c *Cache[K, V]) compare(one share) {
	if of := c.lists[one]; one != whole && of.Len() > 1 && c.used(one, of) > 1 {
		c.over[one] = of
	} else {
		delete(c.over, one)
	}
}

// used returns how much of a share is used, by size or by number of entries. 1 is all of
// it.
func (c *Cache[K, V]) used(one share, of *lru) float64 {
	part := float64(c.shares.of(one.kind)) / float64(c.shares.Total)
	return max(float64(of.size)/float64(c.shares.Total), float64(of.Len())/float64(c.entries)) / part
}
