package live

import (
	"sync"
	"time"

	"ovation/storage"
)

// maxChanges is how many changed subjects are told apart. Where there are more,
// any may have changed.
const maxChanges = 10_000

// changes are what the hub was told since it looked last. To tell it never
// blocks on anything else.
type changes struct {
	mu  sync.Mutex
	of  map[storage.Subject]time.Time // when it was told first
	all bool
}

func (c *changes) add(subjects []storage.Subject) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all {
		return
	}
	for _, subject := range subjects {
		if len(c.of) >= maxChanges {
			c.all, c.of = true, nil
			return
		}
		if _, known := c.of[subject]; !known {
			if c.of == nil {
				c.of = make(map[storage.Subject]time.Time)
			}
			c.of[subject] = now
		}
	}
}

func (c *changes) addAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all, c.of = true, nil
}

func (c *changes) take() (of map[storage.Subject]time.Time, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of, all = c.of, c.all
	c.of, c.all = nil, false
	return of, all
}
