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

// mailWatcher collects the messages that arrive: every visitor subscribes to its messages on a
// WebSocket.
type mailWatcher struct {
	day    *day
	of     []*load.Watch
	closed chan struct{}
	wait   sync.WaitGroup

	mu    sync.Mutex
	seen  map[string]map[string]int // how often each message arrived, by user and message
	count int
	errs  []error
}

// messageEvent is one event of such a subscription.
type messageEvent struct {
	Data struct {
		Messages struct {
			ID, Text string
			To       struct{ UserID string }
		}
	}
}

const watchMessages = `subscription Mail($after: String) { messages(after: $after) { id text to { userId } } }`

// watchMail subscribes every visitor, each at the node that it does not use at first.
// The streams begin where the lists of conversations end, so that nothing is missed.
func (d *day) watchMail(ctx context.Context) (_ *mailWatcher, err error) {
	w := &mailWatcher{day: d, closed: make(chan struct{}), seen: map[string]map[string]int{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	for i, v := range d.visitors {
		node := d.nodes[(i+1)%len(d.nodes)]
		cursor, err := d.mailboxOf(ctx, node, v)
		if err != nil {
			return nil, fmt.Errorf("list the conversations of %s: %w", v.name, err)
		}
		who := mustJSON(map[string]string{"Authorization": "Bearer " + v.token})
		one, err := load.Subscribe(ctx, node.address, who, mustJSON(map[string]any{
			"query": watchMessages, "variables": map[string]string{"after": cursor},
		}))
		if err != nil {
			return nil, fmt.Errorf("watch the messages of %s: %w", v.name, err)
		}
		w.of, w.seen[v.name] = append(w.of, one), map[string]int{}
		w.wait.Go(func() { w.listen(v.name, one) })
	}
	return w, nil
}

// mailboxOf returns the cursor of a user's messages.
func (d *day) mailboxOf(ctx context.Context, node *process, v *visitor) (string, error) {
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

// listen records each message, and how long after it was sent it arrives.
func (m *mailWatcher) listen(user string, from *load.Watch) {
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
				err = fmt.Errorf("it receives %.200s", text)
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
		m.seen[user][one.ID]++
		m.count++
		m.mu.Unlock()
		if one.To.UserID == user {
			m.day.recorder.deliver(at.Sub(time.Unix(0, sent)))
		}
	}
}

const mailTime = 10 * time.Second // for the last message to arrive

// arrived waits until every visitor has received each of its messages in Postgres,
// once.
func (m *mailWatcher) arrived(ctx context.Context, of []*visitor) error {
	want := map[string]int{}
	rows, err := m.day.site.database.Query(ctx, `SELECT u, count(*) FROM
		(SELECT user_low AS u FROM message UNION ALL SELECT user_high FROM message) m GROUP BY u`)
	if err != nil {
		return fmt.Errorf("count messages: %w", err)
	}
	total, err := scanCounts(rows, want)
	if err != nil {
		return fmt.Errorf("count messages: %w", err)
	}
	err = until(ctx, mailTime, "all messages have arrived", func() (bool, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.count >= total, errors.Join(m.errs...)
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range of {
		if got := m.seen[v.name]; len(got) != want[v.name] {
			err = errors.Join(err, fmt.Errorf("%s has received %d messages of %d", v.name, len(got), want[v.name]))
		}
		for id, times := range m.seen[v.name] {
			if times > 1 {
				err = errors.Join(err, fmt.Errorf("%s has received the message %s %d times", v.name, id, times))
			}
		}
	}
	return err
}

// close ends all streams. It may be called once.
func (m *mailWatcher) close() error {
	close(m.closed)
	var err error
	for _, one := range m.of {
		err = errors.Join(err, one.Close())
	}
	m.wait.Wait()
	return err
}
