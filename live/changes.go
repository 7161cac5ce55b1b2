package live

import (
	"sync"
	"time"

	"ovation/storage"
)

// maxChanges is the maximum number of changed subjects that are kept individually. If
// more change, all subjects count as changed.
const maxChanges = 10_000

// changes collects the signals that arrive between two reads of the hub. Adding a signal
// waits for nothing but a mutex.
type changes struct {
	mu       sync.Mutex
	subjects map[storage.Subject]time.Time // time of the first signal
	all      bool
	rewinds  int // number of rewinds since the hub was created
}

func (c *changes) add(subjects []storage.Subject) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all {
		return
	}
	for _, subject := range subjects {
		if len(c.subjects) >= maxChanges {
			c.all, c.subjects = true, nil
			return
		}
		if _, known := c.subjects[subject]; !known {
			if c.subjects == nil {
				c.subjects = make(map[storage.Subject]time.Time)
			}
			c.subjects[subject] = now
		}
	}
}

func (c *changes) addAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all, c.subjects = true, nil
}

func (c *changes) rewind() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rewinds++
	c.all, c.subjects = true, nil
}

// rewound reports whether there has been a rewind since the call to take that returned
// this value of rewinds.
func (c *changes) rewound(rewinds int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rewinds != rewinds
}

func (c *changes) take() (subjects map[storage.Subject]time.Time, all bool, rewinds int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	subjects, all = c.subjects, c.all
	c.subjects, c.all = nil, false
	return subjects, all, c.rewinds
}
