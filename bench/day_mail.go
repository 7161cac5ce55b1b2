package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"ovation/bench/load"
)

// messageCollector collects delivered messages. For each user, it subscribes to that
// user's messages over a WebSocket.
type messageCollector struct {
	simulation    *simulation
	subscriptions []*load.Subscription
	closed        chan struct{}
	wait          sync.WaitGroup

	mu       sync.Mutex
	received map[string]map[string]int // number of deliveries, by user and message
	count    int
	errs     []error
}

// messageEvent is an event that messagesSubscription delivers.
type messageEvent struct {
	Data struct {
		Messages struct {
			ID, Text string
			To       struct{ UserID string }
		}
	}
}

const messagesSubscription = `subscription Mail($after: String) { messages(after: $after) { id text to { userId } } }`

// collectMessages subscribes to the messages of each user, on the node that the user does
// not use in the first half of the run. Each stream begins at the cursor in the user's
// list of conversations, so that no message is missed.
func (d *simulation) collectMessages(ctx context.Context) (_ *messageCollector, err error) {
	w := &messageCollector{simulation: d, closed: make(chan struct{}), received: map[string]map[string]int{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	for i, v := range d.users {
		node := d.nodes[(i+1)%len(d.nodes)]
		cursor, err := d.readMessagesCursor(ctx, node, v)
		if err != nil {
			return nil, fmt.Errorf("list the conversations of %s: %w", v.name, err)
		}
		who := mustJSON(map[string]string{"Authorization": "Bearer " + v.token})
		one, err := load.Subscribe(ctx, node.address, who, mustJSON(map[string]any{
			"query": messagesSubscription, "variables": map[string]string{"after": cursor},
		}))
		if err != nil {
			return nil, fmt.Errorf("watch the messages of %s: %w", v.name, err)
		}
		w.subscriptions, w.received[v.name] = append(w.subscriptions, one), map[string]int{}
		w.wait.Go(func() { w.listen(v.name, one) })
	}
	return w, nil
}

// readMessagesCursor returns the cursor of a user's messages.
func (d *simulation) readMessagesCursor(ctx context.Context, node *process, v *simulatedUser) (string, error) {
	conn, err := load.Dial(ctx, node.address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	status, body, err := conn.Do(load.Post(nil, node.address, "/graphql", v.token,
		mustJSON(map[string]string{"query": `{ conversations(first: 1) { messagesCursor } }`})))
	if err != nil {
		return "", err
	}
	var got struct {
		Data struct {
			Conversations struct{ MessagesCursor string }
		}
	}
	err = json.Unmarshal(body, &got) //nolint:musttag // names differ in case alone
	if cursor := got.Data.Conversations.MessagesCursor; err == nil && cursor != "" {
		return cursor, nil
	}
	return "", fmt.Errorf("status %d with %.200s", status, body)
}

// listen records each message that a user's subscription delivers. If the message was
// sent to that user, listen also records the delay from sending to delivery. It returns
// after the first error.
func (m *messageCollector) listen(user string, from *load.Subscription) {
	for {
		text, err := from.Next()
		at := time.Now()
		var got messageEvent
		if err == nil {
			err = json.Unmarshal(text, &got) //nolint:musttag // names differ in case alone
		}
		one := got.Data.Messages
		var sent int64
		if err == nil {
			stamp, _, _ := strings.Cut(one.Text, " ")
			if sent, err = strconv.ParseInt(stamp, 10, 64); err != nil {
				err = fmt.Errorf("unexpected event %.200s", text)
			}
		}
		m.mu.Lock()
		if err != nil {
			select {
			case <-m.closed:
			default:
				m.errs = append(m.errs, fmt.Errorf("the stream of %s: %w", user, err))
			}
			m.mu.Unlock()
			return
		}
		m.received[user][one.ID]++
		m.count++
		m.mu.Unlock()
		if one.To.UserID == user {
			m.simulation.recorder.recordDelivery(at.Sub(time.Unix(0, sent)))
		}
	}
}

const deliveryWait = 10 * time.Second // maximum wait for the last delivery

// awaitDelivery waits until all messages in Postgres have been delivered. It returns an
// error unless each message has reached its sender and its receiver exactly once.
func (m *messageCollector) awaitDelivery(ctx context.Context, of []*simulatedUser) error {
	want := map[string]int{}
	rows, err := m.simulation.installation.database.Query(ctx, `SELECT u, count(*) FROM
		(SELECT user_low AS u FROM message UNION ALL SELECT user_high FROM message) m GROUP BY u`)
	if err != nil {
		return fmt.Errorf("count messages: %w", err)
	}
	total, err := scanCounts(rows, want)
	if err != nil {
		return fmt.Errorf("count messages: %w", err)
	}
	err = poll(ctx, deliveryWait, "all messages have arrived", func() (bool, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.count >= total, errors.Join(m.errs...)
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range of {
		if got := m.received[v.name]; len(got) != want[v.name] {
			err = errors.Join(err, fmt.Errorf("%s has received %d messages of %d", v.name, len(got), want[v.name]))
		}
		for id, times := range m.received[v.name] {
			if times > 1 {
				err = errors.Join(err, fmt.Errorf("%s has received the message %s %d times", v.name, id, times))
			}
		}
	}
	return err
}

// close ends all streams. It may be called only once.
func (m *messageCollector) close() error {
	close(m.closed)
	var err error
	for _, one := range m.subscriptions {
		err = errors.Join(err, one.Close())
	}
	m.wait.Wait()
	return err
}
