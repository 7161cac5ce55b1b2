package amqp

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rabbitmq/amqp091-go"

	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/worker/events"
)

// eventMessages returns messages with the given routing keys and distinct ids.
func eventMessages(keys ...string) (out []events.Message) {
	for i, key := range keys {
		out = append(out, events.Message{ID: fmt.Sprint("e", i), RoutingKey: key, Body: []byte(`{"n":` + fmt.Sprint(i) + `}`)})
	}
	return out
}

// bind declares the exchange, and a queue for the routing keys that match.
func bind(t *testing.T, channel *amqp091.Channel, opts Options, match string) string {
	t.Helper()
	q, err := channel.QueueDeclare("", false, true, true, false, nil)
	must.Succeed(t, err)
	must.Succeed(t, channel.QueueBind(q.Name, match, opts.exchange(), false, nil))
	return q.Name
}

func deleteExchange(t *testing.T, opts Options) {
	t.Helper()
	t.Cleanup(func() {
		if err := channel(t, opts).ExchangeDelete(opts.exchange(), false, false); err != nil {
			t.Error(err)
		}
	})
}

// TestEventsArePublishedToTheTopicExchange binds queues to the exchange, deletes the
// exchange, and binds another queue.
func TestEventsArePublishedToTheTopicExchange(t *testing.T) {
	t.Parallel()
	opts := options(t)
	deleteExchange(t, opts)
	q, ch := open(t, opts), channel(t, opts)
	must.Succeed(t, q.PublishEvents(t.Context(), eventMessages("default.video.liked"))) // no queue is bound
	all, likes := bind(t, ch, opts, "#"), bind(t, ch, opts, "*.*.liked")
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = []string{"default.video.liked", "default.video.unliked"}[i%2]
	}
	must.Succeed(t, q.PublishEvents(t.Context(), eventMessages(keys...)))
	for name, want := range map[string]int{all: 1, likes: 2} {
		for i := 0; i < len(keys); i += want {
			d, there, err := ch.Get(name, true)
			must.Succeed(t, err)
			if !there || d.MessageId != fmt.Sprint("e", i) || string(d.Body) != `{"n":`+fmt.Sprint(i)+`}` || d.RoutingKey != keys[i] ||
				d.DeliveryMode != amqp091.Persistent || d.ContentType != events.ContentType {
				t.Fatalf("got message %d: %+v", i, d)
			}
		}
		if d, there, err := ch.Get(name, true); there || err != nil {
			t.Errorf("got %+v, %v after all messages, want none", d, err)
		}
	}

	must.Succeed(t, ch.ExchangeDelete(opts.exchange(), false, false))
	if err := q.PublishEvents(t.Context(), eventMessages("a.b.c")); !errors.Is(err, storage.ErrUnavailable) || !strings.Contains(err.Error(), opts.exchange()) {
		t.Errorf("got the error %v without an exchange, want that it is unavailable", err)
	}
	publish(t, q, 0, "not-affected")
	must.Succeed(t, q.PublishEvents(t.Context(), eventMessages("a.b.c")))
	again := bind(t, ch, opts, "#")
	must.Succeed(t, q.PublishEvents(t.Context(), eventMessages("a.b.c")))
	if d, there, err := ch.Get(again, true); !there || err != nil || d.RoutingKey != "a.b.c" {
		t.Errorf("got %+v, %v from the new exchange, want the event", d, err)
	}
}

// TestAnotherExchangeIsRefused declares an exchange of the same name and another type.
func TestAnotherExchangeIsRefused(t *testing.T) {
	t.Parallel()
	opts := options(t)
	deleteExchange(t, opts)
	q, ch := open(t, opts), channel(t, opts)
	must.Succeed(t, ch.ExchangeDeclare(opts.exchange(), amqp091.ExchangeFanout, true, false, false, false, nil))
	err := q.PublishEvents(t.Context(), eventMessages("a.b.c"))
	if want := opts.exchange() + " exists and is not a durable topic exchange"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got the error %v, want %q", err, want)
	}
	publish(t, q, 0, "not-affected")
}

// TestEventsArePublishedAfterAnOutage closes the connection between two calls.
func TestEventsArePublishedAfterAnOutage(t *testing.T) {
	t.Parallel()
	opts := options(t)
	deleteExchange(t, opts)
	q := open(t, opts)
	must.Succeed(t, q.PublishEvents(t.Context(), eventMessages("a.b.c")))
	q.publishing.disconnect()
	for {
		err := q.PublishEvents(t.Context(), eventMessages("a.b.c"))
		if err == nil {
			break
		}
		if !errors.Is(err, storage.ErrUnavailable) {
			t.Fatalf("got the error %v, want that the broker is unavailable", err)
		}
	}
	must.Succeed(t, q.Close())
	if err := q.PublishEvents(t.Context(), eventMessages("a.b.c")); err == nil {
		t.Error("got no error from a closed queue")
	}
}
