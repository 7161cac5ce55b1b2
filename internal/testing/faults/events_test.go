//go:build long

package faults_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/rabbitmq/amqp091-go"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"ovation/internal/testing/must"
	"ovation/storage"
	pg "ovation/storage/postgres"
	"ovation/storage/storagetest"
)

const webhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// eventConsumer collects events, and ignores those that it gets again.
type eventConsumer struct {
	name string

	mu     sync.Mutex
	got    map[string]*storage.Event
	again  int
	latest map[storage.Subject]int64 // positions
	wrong  []string
}

func newEventConsumer(name string) *eventConsumer {
	return &eventConsumer{name: name, got: map[string]*storage.Event{}, latest: map[storage.Subject]int64{}}
}

func (c *eventConsumer) handle(body []byte) {
	printed, err := storagetest.ParseEvent(body)
	var event *storage.Event
	if err == nil {
		event, err = printed.Event()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.wrong = append(c.wrong, err.Error())
	case c.got[printed.ID] != nil:
		c.again++
	default:
		if before := c.latest[event.Subject]; event.Position < before {
			c.wrong = append(c.wrong, fmt.Sprintf("%v: event %d came after event %d", event.Subject, event.Position, before))
		}
		c.latest[event.Subject] = event.Position
		c.got[printed.ID] = event
	}
}

// compare folds what the consumer has, and compares it with the database.
func (c *eventConsumer) compare(t *testing.T, store storage.Store) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	fold := storagetest.NewFold()
	for _, e := range slices.SortedFunc(maps.Values(c.got), func(a, b *storage.Event) int { return int(a.Position - b.Position) }) {
		must.Succeed(t, fold.Apply(e))
	}
	differences, err := fold.Compare(t.Context(), store)
	must.Succeed(t, err)
	t.Logf("the %s got %d events, %d of them again", c.name, len(c.got)+c.again, c.again)
	if c.wrong = append(c.wrong, differences...); len(c.wrong) > 0 {
		t.Errorf("the %s: %d faults:\n%s", c.name, len(c.wrong), firstLines(c.wrong))
	}
}

// startReceivers starts a webhook, and declares a queue for all events.
func (s *installation) startReceivers(t *testing.T) {
	t.Helper()
	s.webhook, s.subscriber = newEventConsumer("webhook"), newEventConsumer("queue")
	verifier, err := standardwebhooks.NewWebhook(webhookSecret)
	must.Succeed(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = verifier.Verify(body, r.Header)
		}
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable) // a sender that dies has not sent all
			return
		}
		s.webhook.handle(body)
	}))
	t.Cleanup(server.Close)
	s.webhookURL = server.URL
	s.withChannel(t, func(channel *amqp091.Channel) {
		must.Succeed(t, channel.ExchangeDeclare(prefix+".events", amqp091.ExchangeTopic, true, false, false, false, nil))
		_, err := channel.QueueDeclare(prefix+".subscriber", true, false, false, false, amqp091.Table{amqp091.QueueTypeArg: amqp091.QueueTypeQuorum})
		must.Succeed(t, err)
		must.Succeed(t, channel.QueueBind(prefix+".subscriber", "#", prefix+".events", false, nil))
	})
}

func (s *installation) withChannel(t *testing.T, use func(*amqp091.Channel)) {
	t.Helper()
	connection, err := amqp091.Dial(s.urls[rabbitmq])
	must.Succeed(t, err)
	defer connection.Close()
	channel, err := connection.Channel()
	must.Succeed(t, err)
	use(channel)
}

// checkEvents waits until all events are relayed, and checks that the log, the webhook and
// the queue hold the content of the database.
func (s *installation) checkEvents(t *testing.T) {
	t.Helper()
	store, err := pg.Open(t.Context(), pg.Options{URL: s.urls[postgres]})
	must.Succeed(t, err)
	defer store.Close()
	stream, err := store.EventStream(t.Context())
	must.Succeed(t, err)
	awaitCondition(t, "all events are relayed", func() bool {
		var done int
		err := s.database.QueryRow(t.Context(), `SELECT count(*) FROM event_consumer WHERE position >= $1`, stream.Last).Scan(&done)
		return err == nil && done == 2
	})
	s.withChannel(t, func(channel *amqp091.Channel) {
		for {
			d, there, err := channel.Get(prefix+".subscriber", true)
			must.Succeed(t, err)
			if !there {
				return
			}
			s.subscriber.handle(d.Body)
		}
	})
	for _, c := range []*eventConsumer{s.webhook, s.subscriber} {
		c.compare(t, store)
	}
	dead, err := store.DeadEvents(t.Context(), "", 10)
	must.Succeed(t, err)
	if len(dead) > 0 {
		t.Errorf("the events %+v are dead, want none", dead)
	}
}
