package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"ovation/storage"
	"ovation/worker"
)

// like has a user like a subject: a message is confirmed, then shown. What is
// published counts as a change: nobody has looked before, and a worker may have
// persisted it before it is shown.
func (s *server) like(w http.ResponseWriter, r *http.Request) {
	buffer := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool holds nothing else
	defer func() { buffer.Reset(); buffers.Put(buffer) }()
	user, subjects, ok := s.begin(w, r, buffer)
	if !ok {
		return
	}
	at := storage.Micros(time.Now())
	if err := s.out.publish(&user, &subjects[0], at); err != nil {
		failed(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTime)
	defer cancel()
	const life, shown, most = "3600000", "604800000", "1000"
	err := s.redis.Do(ctx, s.redis.B().Evalsha().Sha1(s.show).Numkeys(1).Key(s.windowKey(&user, subjects[0].Biz)).
		Arg(life, shown, most, "q", "r"+subjects[0].BizID, strconv.FormatInt(at, 10), "1").Build()).Error()
	if err != nil {
		failed(w, fmt.Errorf("show: %w", err))
		return
	}
	answer(w, liked)
}

var liked = []byte(`{"data":{"like":{"changed":true,"durability":"QUEUED"}}}`)

const (
	partitions = 4
	window     = 256 // messages without their confirm
	patience   = 10 * time.Second
)

// outlet publishes messages over one connection.
type outlet struct {
	connection *amqp091.Connection
	channel    *amqp091.Channel
	queues     [partitions]string
	room       chan struct{}
	run        string // begins the ids of messages
	last       atomic.Uint64
}

func newOutlet(url, prefix string) (*outlet, error) {
	connection, err := amqp091.Dial(url)
	if err != nil {
		return nil, fmt.Errorf("connect to RabbitMQ: %w", err)
	}
	o := &outlet{connection: connection, room: make(chan struct{}, window), run: rand.Text()}
	for i := range o.queues {
		o.queues[i] = prefix + "." + strconv.Itoa(i)
	}
	if o.channel, err = connection.Channel(); err == nil {
		err = o.channel.Confirm(false)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open a channel: %w", err), connection.Close())
	}
	return o, nil
}

func (o *outlet) close() error { return o.connection.Close() }

// publish returns when the queue has made a like durable.
func (o *outlet) publish(user *storage.User, subject *storage.Subject, at int64) error {
	o.room <- struct{}{}
	defer func() { <-o.room }()
	id := o.run + strconv.FormatUint(o.last.Add(1), 36)
	confirm, err := o.channel.PublishWithDeferredConfirm("", o.queues[worker.PartitionOf(*subject, partitions)], false, false, amqp091.Publishing{
		MessageId: id, ContentType: "application/vnd.ovation.message", DeliveryMode: amqp091.Persistent, Body: encode(id, user, subject, at),
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

// encode writes a message that holds one like, in the form of package
// worker/amqp.
func encode(id string, user *storage.User, subject *storage.Subject, at int64) []byte {
	const form, flags = 1, 0
	to := make([]byte, 0, 128)
	to = append(to, form, flags)
	to = binary.AppendVarint(to, at)
	to = text(to, id)
	to = binary.AppendUvarint(to, 1)
	to = append(to, byte(storage.KindReaction), byte(storage.Like))
	to = text(to, user.Tenant) // the third text: the empty one is the first, the id the second
	to = text(to, user.UserID)
	to = append(to, 3) // the tenant again
	to = text(to, subject.Biz)
	to = text(to, subject.BizID)
	to = append(to, 1, 0, 0) // no folder, times and first are 0
	return binary.AppendVarint(to, at)
}

// text writes one that was not there before.
func text(to []byte, s string) []byte {
	to = append(to, 0)
	to = binary.AppendUvarint(to, uint64(len(s)))
	return append(to, s...)
}
