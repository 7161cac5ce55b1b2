package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/rabbitmq/amqp091-go"
	"github.com/redis/rueidis"
)

// liking records and counts a like. It returns 1, or 0 if the subject was liked
// already.
var liking = rueidis.NewLuaScript(`
local was = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if was:find('l', 1, true) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], 'l' .. was)
redis.call('HINCRBY', KEYS[2], 'l', 1)
return 1`)

var (
	liked     = []byte(`{"changed":true}`)
	unchanged = []byte(`{"changed":false}`)
)

// like answers a request of a user to like a subject.
func (s *server) like(ctx context.Context, w http.ResponseWriter, a asked) {
	user, ids := a.user, a.ids
	changed, err := liking.Exec(ctx, s.redis, []string{s.statesKey(user), s.countsKey(ids[0])}, ids[:1]).AsBool()
	if err == nil && changed {
		err = s.out.publish(user + " " + ids[0])
	}
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case changed:
		answer(w, liked)
	default:
		answer(w, unchanged)
	}
}

const (
	unconfirmed = 256 // maximum number of unconfirmed messages
	patience    = 10 * time.Second
)

// outlet publishes messages.
type outlet struct {
	channel *amqp091.Channel
	queue   string
	room    chan struct{}
}

func newOutlet(channel *amqp091.Channel, queue string) (*outlet, error) {
	if err := channel.Confirm(false); err != nil {
		return nil, fmt.Errorf("have messages confirmed: %w", err)
	}
	return &outlet{channel, queue, make(chan struct{}, unconfirmed)}, nil
}

// publish returns when the queue has made a message durable.
func (o *outlet) publish(text string) error {
	o.room <- struct{}{}
	defer func() { <-o.room }()
	confirm, err := o.channel.PublishWithDeferredConfirm("", o.queue, false, false, amqp091.Publishing{
		DeliveryMode: amqp091.Persistent, Body: []byte(text),
	})
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-confirm.Done():
	case <-late.C:
		return errors.New("publish: no confirm came")
	}
	if !confirm.Acked() {
		return errors.New("publish: the queue has refused")
	}
	return nil
}
