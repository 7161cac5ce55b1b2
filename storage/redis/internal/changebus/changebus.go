// Package changebus notifies all nodes, through a Redis channel, of changes to data that
// is only in the database, such as comments and messages. It is tested by
// TestChangeBusReachesEveryNode and TestMessagesOfOneNodeReachAnother of package redis.
package changebus

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"ovation/internal/outage"
	"ovation/storage"
	"ovation/storage/redis/internal/dependency"
)

const (
	// maxWaiting is the maximum number of subjects waiting to be published. Further
	// subjects are dropped: nodes learn of changes to these subjects when they poll the
	// database, which they do every second.
	maxWaiting = 10_000
	// MessageSize is the maximum number of subjects in a message.
	MessageSize = 500
	// resubscribePause is the pause after a failed subscription.
	resubscribePause = time.Second
)

// Bus notifies all nodes, through a Redis channel, that the data of subjects has changed.
// It may lose messages, and it loses every message while Redis is unavailable, so
// listeners poll the database as well. Failures do not open the breaker of Redis: the
// Redis user may merely lack permission for the channel.
type Bus struct {
	client  rueidis.Client
	redis   *dependency.Backend
	timeout time.Duration
	log     *outage.Log
	channel string
	wake    chan struct{}

	mu      sync.Mutex
	waiting map[storage.Subject]bool
}

// New returns a Bus for a topic. The channel is named after the prefix and the topic.
// timeout bounds a publication. Nothing is published or received until Run is called.
func New(client rueidis.Client, redis *dependency.Backend, prefix, topic string, timeout time.Duration, logger *slog.Logger) *Bus {
	return &Bus{
		log: outage.New(logger, topic+" of other nodes show up to a second late: Redis does not publish or subscribe",
			"Redis publishes and subscribes again"),
		client: client, redis: redis, timeout: timeout, channel: prefix + ":" + topic,
		wake: make(chan struct{}, 1), waiting: make(map[storage.Subject]bool),
	}
}

// Notify enqueues subjects for publication. It never blocks.
func (b *Bus) Notify(subjects []storage.Subject) {
	b.mu.Lock()
	for _, subject := range subjects {
		if len(b.waiting) < maxWaiting {
			b.waiting[subject] = true
		}
	}
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Run publishes and listens until the context ends. It calls changed with the subjects
// that any node has published. The function changed must return quickly.
func (b *Bus) Run(ctx context.Context, changed func([]storage.Subject)) {
	var listening sync.WaitGroup
	defer listening.Wait()
	listening.Go(func() { b.listen(ctx, changed) })
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.wake:
			b.publish(ctx)
		}
	}
}

// publish publishes the waiting subjects.
func (b *Bus) publish(ctx context.Context) {
	b.mu.Lock()
	waiting := b.waiting
	b.waiting = make(map[storage.Subject]bool)
	b.mu.Unlock()
	names := make([][3]string, 0, min(len(waiting), MessageSize))
	send := func() {
		text, err := json.Marshal(names)
		names = names[:0]
		if err == nil && b.redis.Healthy() {
			err = b.send(ctx, string(text))
		}
		if err != nil && ctx.Err() == nil {
			b.log.Failed("error", err)
		}
	}
	for s := range waiting {
		if names = append(names, [3]string{s.Tenant, s.Biz, s.BizID}); len(names) == MessageSize {
			send()
		}
	}
	if len(names) > 0 {
		send()
	}
}

func (b *Bus) send(ctx context.Context, text string) error {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	return b.client.Do(ctx, b.client.B().Publish().Channel(b.channel).Message(text).Build()).Error()
}

// listen subscribes to the channel until the context ends. After a failure, it subscribes
// again.
func (b *Bus) listen(ctx context.Context, changed func([]storage.Subject)) {
	for ctx.Err() == nil {
		err := b.client.Receive(ctx, b.client.B().Subscribe().Channel(b.channel).Build(), func(message rueidis.PubSubMessage) {
			var names [][3]string
			if json.Unmarshal([]byte(message.Message), &names) != nil {
				return // from another program
			}
			b.log.Worked()
			subjects := make([]storage.Subject, len(names))
			for i, name := range names {
				subjects[i] = storage.Subject{Tenant: name[0], Biz: name[1], BizID: name[2]}
			}
			changed(subjects)
		})
		if ctx.Err() != nil {
			return
		}
		b.log.Failed("error", err)
		select {
		case <-ctx.Done():
		case <-time.After(resubscribePause):
		}
	}
}
