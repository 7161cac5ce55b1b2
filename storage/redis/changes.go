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
	Messages = "messages" // users, as subjects, with new messages
)

// NewBus returns a bus that notifies all nodes of changes, on the channel of its topic.
func (s *Store) NewBus(topic string) *changebus.Bus {
	return changebus.New(s.client, s.redis, s.opts.Prefix, topic, s.opts.RedisTimeout, s.opts.Logger)
}

// listener holds the callbacks of OnChange.
type listener struct {
	changed      func([]storage.Subject)
	all, rewound func()
}

// OnChange registers the callbacks for changed counts. changed is called with subjects
// whose counts, as returned earlier, may have changed; all is called if the counts of any
// subject may have changed. A subject is reported once, and again only after its counts
// have been read again. Nothing is reported while Redis is unavailable; all is called
// when it is available again. rewound is called if the database may have lost commits:
// later reads then lack them, and versions continue from lower ones. The callbacks run on
// goroutines that read from Redis, so they must return quickly. A later call of OnChange
// replaces them.
func (s *Store) OnChange(changed func([]storage.Subject), all, rewound func()) {
	s.listener.Store(&listener{changed, all, rewound})
}

// onInvalidation is called with keys of the client-side cache that Redis has invalidated.
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
// commits of the ended epoch.
func (s *Store) onRewind(ended keyspace.Epoch) {
	s.counts.Cache.Reset(ended)
	if l := s.listener.Load(); l != nil {
		l.rewound()
	}
}

// onTrusted is called when Redis is trusted again. The counts of any subject may have
// changed: changes made while it was not trusted, or under the keys of another epoch,
// were not reported.
func (s *Store) onTrusted() {
	if l := s.listener.Load(); l != nil {
		l.all()
	}
}
