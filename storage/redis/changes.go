package redis

import (
	"github.com/redis/rueidis"

	"ovation/storage"
	"ovation/storage/redis/internal/changebus"
	"ovation/storage/redis/internal/keyspace"
)

// The topics of change buses.
const (
	Comments = "comments" // subjects whose comments have changed
	Messages = "messages" // users with new messages (storage.User.Subject)
)

// NewBus returns a bus that notifies all nodes of changes. Each topic has a channel of
// its own.
func (s *Store) NewBus(topic string) *changebus.Bus {
	return changebus.New(s.client, s.redis, s.opts.Prefix, topic, s.opts.RedisTimeout, s.opts.Logger)
}

// listener holds the callbacks of OnChange.
type listener struct {
	changed      func([]storage.Subject)
	all, rewound func()
}

// OnChange registers callbacks for changed counts. Calling OnChange again replaces the
// callbacks. The callbacks run on goroutines that read from Redis, so they must return
// quickly.
//   - changed is called with subjects whose counts may have changed since the counts were
//     read. A subject is reported again only after its counts have been read again.
//   - The callback all is called if the counts of any subject may have changed. While
//     Redis is unavailable, changes are not reported. Instead, the callback all is called
//     when Redis is available again.
//   - rewound is called if the database may have lost commits. Later reads then do not
//     include these commits, and versions continue from lower numbers.
func (s *Store) OnChange(changed func([]storage.Subject), all, rewound func()) {
	s.listener.Store(&listener{changed, all, rewound})
}

// onInvalidation is called with keys in the client-side cache that Redis has invalidated.
func (s *Store) onInvalidation(keys []rueidis.RedisMessage) {
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
	s.counts.Cache.Invalidate(subjects)
	if l := s.listener.Load(); l != nil {
		l.changed(subjects)
	}
}

// onRewind discards all cached counts and reports the rewind: the database may have lost
// commits that were made in the ended epoch.
func (s *Store) onRewind(ended keyspace.Epoch) {
	s.counts.Cache.Reset(ended)
	if l := s.listener.Load(); l != nil {
		l.rewound()
	}
}

// onTrusted is called when Redis is trusted again. The counts of any subject may have
// changed: changes made while Redis was not trusted, or under the keys of another epoch,
// were not reported.
func (s *Store) onTrusted() {
	if l := s.listener.Load(); l != nil {
		l.all()
	}
}
