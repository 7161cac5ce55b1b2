package amqp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/worker"
)

func ids(letters []DeadLetter) []string {
	var ids []string
	for _, l := range letters {
		ids = append(ids, l.ID)
	}
	return ids
}

func list(t *testing.T, d *DeadLetters, limit int) []DeadLetter {
	t.Helper()
	letters, err := d.List(t.Context(), limit)
	must.Succeed(t, err)
	return letters
}

// rejectAll publishes messages with the given ids, and consumes and rejects each of them.
func rejectAll(t *testing.T, q *Queue, ids ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	deliveries := consumeUntil(ctx, t, q)
	for _, id := range ids {
		publish(t, q, worker.PartitionOf(message(id).Actions[0].Subject, q.Partitions()), id)
		must.Succeed(t, receive(t, deliveries).Reject(errors.New("no "+id)))
	}
	cancel()
	for range deliveries {
	}
}

// A replayed job for a cover is marked, because the cover is dead-lettered in the
// database, too.
func TestReplayedCoverJobIsForced(t *testing.T) {
	opts := options(t)
	q := open(t, opts)
	job := storage.Message{ID: "job", Cover: storage.VideoKey{Tenant: storage.DefaultTenant, Number: 1}}
	_, err := q.Publish(t.Context(), 0, job)
	must.Succeed(t, err)
	deliveries := consume(t, q)
	first := receive(t, deliveries)
	if first.Message().Forced {
		t.Error("the first delivery is forced, want it not forced")
	}
	must.Succeed(t, first.Reject(errors.New("no picture")))
	n, err := openDead(t, opts).Replay(t.Context(), false, func(DeadLetter) bool { return true })
	if n != (Replayed{Queued: 1}) || err != nil {
		t.Errorf("Replay: got %+v, %v, want 1 queued", n, err)
	}
	again := receive(t, deliveries)
	if m := again.Message(); !m.Forced || m.Cover != job.Cover {
		t.Errorf("the replayed job is %+v, want it forced", m)
	}
	must.Succeed(t, again.Ack())
}

func TestDeadLettersAreListedShownReplayedAndDropped(t *testing.T) {
	opts := options(t)
	q := open(t, opts)
	rejectAll(t, q, "a", "b", "c", "d")
	dead := openDead(t, opts)
	for range 2 { // listing changes nothing
		if got := ids(list(t, dead, 10)); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
			t.Fatalf("List(10): got %v, want [a b c d]", got)
		}
	}
	if got := ids(list(t, dead, 2)); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("List(2): got %v, want the oldest, [a b]", got)
	}
	l, err := dead.Show(t.Context(), "c")
	if err != nil || l.Reason != "no c" || !strings.HasPrefix(l.Queue, opts.Prefix) || time.Since(l.At) > time.Minute ||
		l.Unreadable != nil || l.Message.Actions[0] != message("c").Actions[0] {
		t.Errorf("Show(c): got %+v, %v, want the message with the reason \"no c\"", l, err)
	}
	if _, err := dead.Show(t.Context(), "x"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("Show of an unknown id returned %v, want ErrNotFound", err)
	}

	replayed, err := dead.Replay(t.Context(), false, func(l DeadLetter) bool { return l.ID == "b" || l.ID == "c" })
	if err != nil || replayed != (Replayed{Queued: 2}) {
		t.Errorf("Replay of b and c: got %+v, %v, want 2 queued", replayed, err)
	}
	deliveries := consume(t, q)
	for range 2 {
		d := receive(t, deliveries)
		m := d.Message()
		if m.ID != "b" && m.ID != "c" || d.(*delivery).subscription.partition != worker.PartitionOf(m.Actions[0].Subject, q.Partitions()) {
			t.Errorf("got message %s from partition %d, want b or c from the partition of its subject", m.ID, d.(*delivery).subscription.partition)
		}
		if err := d.Ack(); err != nil {
			t.Error(err)
		}
	}
	if n, err := dead.Drop(t.Context(), func(l DeadLetter) bool { return l.ID == "a" }); n != 1 || err != nil {
		t.Errorf("Drop of a: got %d, %v, want 1", n, err)
	}
	if got := ids(list(t, dead, 10)); !slices.Equal(got, []string{"d"}) {
		t.Errorf("got the remaining dead letters %v, want [d]", got)
	}
}

func TestUnreadableMessageIsDeadLetteredWithItsReason(t *testing.T) {
	opts := options(t)
	q := open(t, opts)
	for _, m := range []amqp091.Publishing{
		{MessageId: "future", Body: []byte("\x09whatever the future brings")},
		{Body: []byte("\x01")},
		{MessageId: "empty"},
		{MessageId: "\x1b[31m evil", ContentType: "text/plain", Body: []byte("hello, of another program")},
	} {
		must.Succeed(t, q.send(t.Context(), q.opts.queue(0), m))
	}
	publish(t, q, 0, "next")
	deliveries := consume(t, q)
	d := receive(t, deliveries)
	if d.Message().ID != "next" {
		t.Errorf("got message %q, want next", d.Message().ID)
	}
	if err := d.Ack(); err != nil {
		t.Error(err)
	}

	dead := openDead(t, opts)
	letters := list(t, dead, 10)
	if len(letters) != 4 {
		t.Fatalf("got the dead letters %v, want 4", ids(letters))
	}
	for i, want := range []struct{ id, reason string }{{"future", "version 9"}, {"body-", "damaged"}, {"empty", "empty"}, {"body-", "version 104"}} {
		l := letters[i]
		if !strings.HasPrefix(l.ID, want.id) || !strings.Contains(l.Reason, want.reason) || l.Unreadable == nil {
			t.Errorf("dead letter %d: got %+v, want an unreadable %s… because of %q", i, l, want.id, want.reason)
		}
	}
	if string(letters[0].Body) != "\x09whatever the future brings" {
		t.Errorf("got the body %q, want it unchanged", letters[0].Body)
	}
	replayed, err := dead.Replay(t.Context(), true, func(DeadLetter) bool { return true })
	if replayed != (Replayed{Unreadable: 4}) || err != nil {
		t.Errorf("Replay of unreadable messages: got %+v, %v, want 4 unreadable", replayed, err)
	}
	if n, err := dead.Drop(t.Context(), func(l DeadLetter) bool { return l.Unreadable != nil }); n != 4 || err != nil {
		t.Errorf("Drop of unreadable messages: got %d, %v, want 4", n, err)
	}
}

func TestOldReadsAreReplayedWhenForcedOnly(t *testing.T) {
	opts := options(t)
	q := open(t, opts)
	read := message("read")
	read.Actions[0].Kind, read.Actions[0].Times = storage.KindRead, 1
	forever := read
	forever.ID, forever.Forever = "forever", true
	young := read
	young.ID = "young"
	long := time.Now().Add(-storage.MaxMessageAge)
	for _, m := range []struct {
		message storage.Message
		at      time.Time
	}{{read, long}, {forever, long}, {message("like"), long}, {young, long.Add(time.Hour)}} {
		sealed, err := newPublishing(m.message, m.at)
		must.Succeed(t, err)
		must.Succeed(t, q.send(t.Context(), q.opts.dead(), sealed))
	}
	dead := openDead(t, opts)
	all := func(DeadLetter) bool { return true }
	if n, err := dead.Replay(t.Context(), false, all); n != (Replayed{Queued: 3, Expired: 1}) || err != nil {
		t.Errorf("Replay: got %+v, %v, want 3 queued, 1 expired", n, err)
	}
	if got := ids(list(t, dead, 10)); !slices.Equal(got, []string{"read"}) {
		t.Errorf("got the remaining dead letters %v, want [read]", got)
	}
	if n, err := dead.Replay(t.Context(), true, all); n != (Replayed{Queued: 1}) || err != nil {
		t.Errorf("Replay by force: got %+v, %v, want 1 queued", n, err)
	}
	deliveries := consume(t, q)
	for range 4 { // replaying does not change the age of a message
		d := receive(t, deliveries).(*delivery)
		if forced := d.message.ID == "read"; (d.message.Published == 0) != forced {
			t.Errorf("message %s: got an age that matters: %t, want %t", d.message.ID, d.message.Published != 0, !forced)
		}
		if _, at, err := decode(d.raw.Body); err != nil || time.Since(at) < storage.MaxMessageAge-2*time.Hour {
			t.Errorf("message %s: got published at %v, %v, want its original time", d.message.ID, at, err)
		}
	}
}

func TestMessageDeliveredTooOftenIsDeadLettered(t *testing.T) {
	opts := options(t)
	opts.DeliveryLimit = 2
	q := open(t, opts)
	publish(t, q, 0, "deadly")
	deliveries := consume(t, q)
	for range 3 {
		must.Succeed(t, receive(t, deliveries).Requeue())
	}
	dead := openDead(t, opts)
	await.That(t, "the message is dead-lettered", func() bool { return len(list(t, dead, 1)) == 1 })
	l := list(t, dead, 1)[0]
	if l.ID != "deadly" || !strings.Contains(l.Reason, "delivered too often") || l.Queue != opts.Prefix+".0" || l.At.IsZero() {
		t.Errorf("got the dead letter %+v, want deadly, delivered too often, of %s.0", l, opts.Prefix)
	}
}

func TestRejectWithoutRoomForACopyLosesNothing(t *testing.T) {
	t.Parallel()
	opts := options(t)
	opts.Window = 1
	q := open(t, opts)
	publish(t, q, 0, "bad")
	d := receive(t, consume(t, q))
	q.window <- struct{}{} // no message can be published
	err := d.Reject(errors.New("for the log only"))
	<-q.window
	must.Succeed(t, err)
	dead := openDead(t, opts)
	await.That(t, "the broker dead-letters the message", func() bool { return len(list(t, dead, 1)) == 1 })
	if l := list(t, dead, 1)[0]; l.ID != "bad" || !strings.Contains(l.Reason, "the worker's log") {
		t.Errorf("got the dead letter %+v, want bad, with a reason that names the worker's log", l)
	}
}

func TestDeadLettersHonourTheContext(t *testing.T) {
	t.Parallel()
	p, opts := through(t, options(t))
	rejectAll(t, open(t, opts), "a")
	dead := openDead(t, opts)
	p.stall()
	defer p.resume()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := dead.List(ctx, 1); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("List over a stalled connection: got %v, want %v", err, storage.ErrUnavailable)
	}
}

func TestManyDeadLetters(t *testing.T) {
	opts := options(t)
	q := open(t, opts)
	var want []string
	for i := range 300 {
		want = append(want, fmt.Sprint(i))
		sealed, err := newPublishing(message(want[i]), time.Now())
		must.Succeed(t, err)
		must.Succeed(t, q.send(t.Context(), q.opts.dead(), sealed))
	}
	dead := openDead(t, opts)
	if got := ids(list(t, dead, 1000)); !slices.Equal(got, want) {
		t.Errorf("List(1000): got %d entries, %v, want the %d in order of rejection", len(got), got, len(want))
	}
	if n, err := dead.Drop(t.Context(), func(DeadLetter) bool { return true }); n != 300 || err != nil {
		t.Errorf("Drop of all: got %d, %v, want 300", n, err)
	}
}
