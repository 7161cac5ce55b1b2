package redis

import (
	"github.com/redis/rueidis"

	"ovation/storage"
	"ovation/storage/redis/internal/keyspace"
)

// listener is told of changes.
type listener struct {
	changed func([]storage.Subject)
	all     func()
}

// OnChange has the store tell, from now on, when counts that it has answered
// with may have changed: changed names the subjects, all is called where any
// may have. Each subject is told once and then again only after it was read
// again. Nothing is told while Redis is away; all is called when it is back.
// Both are called by whoever reads from Redis, and must be quick. There is one
// listener.
func (s *Store) OnChange(changed func([]storage.Subject), all func()) {
	s.listener.Store(&listener{changed, all})
}

// invalidated is told which keys the client's cache has forgotten.
func (s *Store) invalidated(keys []rueidis.RedisMessage) {
	subjects := make([]storage.Subject, 0, len(keys))
	for i := range keys {
		key, err := keys[i].ToString()
		if err != nil {
			continue
		}
		if subject, ok := keyspace.SubjectOf(s.opts.Prefix, key); ok {
			subjects = append(subjects, subject)
		}
	}
	if len(subjects) == 0 {
		return
	}
	s.counts.Cache.Forget(subjects)
	if l := s.listener.Load(); l != nil {
		l.changed(subjects)
	}
}

// back tells that Redis is believed again: what was not told meanwhile, or lay
// under the keys of another epoch, may be anything.
func (s *Store) back() {
	if l := s.listener.Load(); l != nil {
		l.all()
	}
}
