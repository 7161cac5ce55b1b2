package events

import (
	"context"

	"ovation/storage"
)

// Message is an event for a broker that routes messages by topic.
type Message struct {
	ID         string // that of the event
	RoutingKey string // tenant.biz.type, such as default.video.liked
	Body       []byte // the CloudEvent
}

// Publisher publishes events to a broker.
type Publisher interface {
	// PublishEvents publishes messages in their order, and returns nil when the broker has
	// made all of them durable. After an error, any of them may have been published.
	PublishEvents(ctx context.Context, messages []Message) error
}

// BrokerRelay returns a Handler that publishes the events of a log. The log is also where
// positions are saved.
func BrokerRelay(log storage.EventLog, publisher Publisher) Handler {
	return &brokerRelay{log, publisher}
}

type brokerRelay struct {
	log       storage.EventLog
	publisher Publisher
}

// Handle publishes a page of events.
func (r *brokerRelay) Handle(ctx context.Context, lease storage.EventLease, page storage.EventPage) error {
	messages := make([]Message, len(page.Events))
	for i := range page.Events {
		e := &page.Events[i]
		body, err := Encode(page.Stream, e)
		if err != nil {
			return err
		}
		messages[i] = Message{
			ID:         Cursor{page.Stream, e.Position}.String(),
			RoutingKey: e.Subject.Tenant + "." + e.Subject.Biz + "." + string(e.Type),
			Body:       body,
		}
	}
	if err := r.publisher.PublishEvents(ctx, messages); err != nil {
		return err
	}
	return r.log.SaveEvents(ctx, lease, page.Next)
}
