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

// likeScript records and counts a like. It returns 1, or 0 if the user already likes the
// subject.
var likeScript = rueidis.NewLuaScript(`
local was = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if was:find('l', 1, true) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], 'l' .. was)
redis.call('HINCRBY', KEYS[2], 'l', 1)
return 1`)

var (
	likedReply     = []byte(`{"changed":true}`)
	unchangedReply = []byte(`{"changed":false}`)
)

// like handles POST /like.
func (s *server) like(ctx context.Context, w http.ResponseWriter, a request) {
	user, ids := a.user, a.ids
	changed, err := likeScript.Exec(ctx, s.redis, []string{s.statesKey(user), s.countsKey(ids[0])}, ids[:1]).AsBool()
	if err == nil && changed {
		err = s.publisher.publish(user + " " + ids[0])
	}
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case changed:
		writeReply(w, likedReply)
	default:
		writeReply(w, unchangedReply)
	}
}

const (
	maxUnconfirmed = 256 // maximum number of unconfirmed messages
	confirmTimeout = 10 * time.Second
)

// confirmPublisher publishes messages and waits for their confirms.
type confirmPublisher struct {
	channel *amqp091.Channel
	queue   string
	slots   chan struct{}
}

func newConfirmPublisher(channel *amqp091.Channel, queue string) (*confirmPublisher, error) {
	if err := channel.Confirm(false); err != nil {
		return nil, fmt.Errorf("enable publisher confirms: %w", err)
	}
	return &confirmPublisher{channel, queue, make(chan struct{}, maxUnconfirmed)}, nil
}

// publish publishes a message and returns once the queue has confirmed it.
func (o *confirmPublisher) publish(text string) error {
	o.slots <- struct{}{}
	defer func() { <-o.slots }()
	confirm, err := o.channel.PublishWithDeferredConfirm("", o.queue, false, false, amqp091.Publishing{
		DeliveryMode: amqp091.Persistent, Body: []byte(text),
	})
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	late := time.NewTimer(confirmTimeout)
	defer late.Stop()
	select {
	case <-confirm.Done():
	case <-late.C:
		return errors.New("publish: no confirm within the timeout")
	}
	if !confirm.Acked() {
		return errors.New("publish: the queue rejected the message")
	}
	return nil
}
