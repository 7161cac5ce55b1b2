package queuetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"

	"ovation/worker"
)

// number returns the id of message i of a partition.
func number(partition, i int) string { return fmt.Sprintf("%d/%03d", partition, i) }

// partitionOf returns the partition that a numbered message was published to.
func partitionOf(t *trial, d worker.Delivery) int {
	t.Helper()
	before, _, _ := strings.Cut(d.Message().ID, "/")
	partition, err := strconv.Atoi(before)
	if err != nil {
		t.Fatalf("got message %q, want an id that begins with its partition: %v", d.Message().ID, err)
	}
	return partition
}

// publishInOrder publishes n messages to each partition, in the order of their numbers.
// It returns a channel that is closed when all messages are published.
func publishInOrder(t *trial, n int) <-chan struct{} {
	t.Helper()
	var all sync.WaitGroup
	for p := range t.q.Partitions() {
		all.Go(func() {
			for i := range n {
				if _, err := t.q.Publish(t.Context(), p, message(number(p, i))); err != nil {
					t.Errorf("publish message %d of partition %d: %v", i, p, err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	t.Cleanup(func() { <-done })
	return done
}

func partitionKeepsItsOrder(t *trial) {
	const each = 100
	published := publishInOrder(t, each)
	if t.ConfirmsEarly {
		await(t, "every message is published", published) // the queue holds them all
	}
	deliveries := consume(t)
	next := map[int]int{}
	for range each * t.q.Partitions() {
		d := receive(t, deliveries)
		p := partitionOf(t, d)
		if want := number(p, next[p]); d.Message().ID != want {
			t.Fatalf("got %s where %s is next", d.Message().ID, want)
		}
		next[p]++
		ack(t, d)
	}
	await(t, "every message is published", published)
}

func partitionHasOneConsumerAtATime(t *trial) {
	const each = 30
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first, err := t.q.Consume(ctx)
	if err != nil {
		t.Fatal(err)
	}
	published := publishInOrder(t, each)
	d := receive(t, first)
	second := consume(t) // starts while the first is consuming
	owner := map[int]int{partitionOf(t, d): 1}
	ack(t, d)
	for range each*t.q.Partitions() - 1 {
		d, from := receiveFrom(t, first, second)
		p := partitionOf(t, d)
		if before, known := owner[p]; known && before != from {
			t.Fatalf("partition %d: got a message on consumer %d, want all on consumer %d while both consume", p, from, before)
		}
		owner[p] = from
		ack(t, d)
	}
	await(t, "every message is published", published)

	cancel() // now the other consumer must take over
	isClosed(t, first)
	published = publishInOrder(t, 1)
	for range t.q.Partitions() {
		ack(t, receive(t, second))
	}
	await(t, "every message is published", published)
}

func requeuedMessageIsRedelivered(t *trial) {
	published := publish(t, 0, message("again"))
	deliveries := consume(t)
	for range 3 {
		if err := receive(t, deliveries).Requeue(); err != nil {
			t.Fatalf("Requeue: %v", err)
		}
	}
	d := receive(t, deliveries)
	if d.Message().ID != "again" || !d.Redelivered() {
		t.Errorf("got message %q, redelivered %t, want \"again\", redelivered", d.Message().ID, d.Redelivered())
	}
	ack(t, d)
	published.succeeds(t)
	noMoreDeliveries(t, deliveries)
}

func messagesOfALostConsumerAreRedelivered(t *trial) {
	n := min(5, t.MaxUnsettled)
	published := make([]*publishing, 0, n)
	for i := range n {
		published = append(published, publish(t, 0, message(strconv.Itoa(i))))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first, err := t.q.Consume(ctx)
	if err != nil {
		t.Fatal(err)
	}
	held := make([]worker.Delivery, 0, n)
	for range n {
		held = append(held, receive(t, first))
	}
	ack(t, held[0])
	cancel()
	isClosed(t, first)

	second := consume(t)
	for _, d := range held[1:] {
		if err := d.Ack(); !errors.Is(err, worker.ErrSettled) {
			t.Errorf("Ack of a closed consumer returned %v, want ErrSettled", err)
		}
	}
	back := map[string]bool{}
	for range n - 1 {
		d := receive(t, second)
		if !d.Redelivered() {
			t.Errorf("message %s is redelivered, but Redelivered() = false", d.Message().ID)
		}
		back[d.Message().ID] = true
		ack(t, d)
	}
	for _, d := range held[1:] {
		if !back[d.Message().ID] {
			t.Errorf("message %s was not redelivered", d.Message().ID)
		}
	}
	for _, p := range published {
		p.succeeds(t)
	}
	noMoreDeliveries(t, second)
}

func deliveryIsSettledOnce(t *trial) {
	settle := map[string]func(worker.Delivery) error{
		"ack":     worker.Delivery.Ack,
		"requeue": worker.Delivery.Requeue,
		"reject":  func(d worker.Delivery) error { return d.Reject(errors.New("never mind")) },
	}
	deliveries := consume(t)
	for name, how := range settle {
		published := publish(t, 0, message(name))
		d := receive(t, deliveries)
		if err := how(d); err != nil {
			t.Fatalf("%s: got %v, want no error", name, err)
		}
		for other, again := range settle {
			if err := again(d); !errors.Is(err, worker.ErrSettled) {
				t.Errorf("%s after %s returned %v, want ErrSettled", other, name, err)
			}
		}
		if name == "requeue" {
			ack(t, receive(t, deliveries))
		}
		if _, err := published.result(t); name != "reject" && err != nil {
			t.Errorf("publishing the message that is settled by %s: got %v, want no error", name, err)
		}
	}
	noMoreDeliveries(t, deliveries)
}

// redeliveryPrecedesLaterMessages has a consumer requeue one message and stop with the
// others unsettled, while the queue holds new messages, which were never delivered. The
// new messages must come last.
func redeliveryPrecedesLaterMessages(t *trial) {
	const more = 3
	published := make([]*publishing, 0, t.MaxUnsettled+more)
	for i := range t.MaxUnsettled + more {
		p := publish(t, 0, message(strconv.Itoa(i)))
		if t.ConfirmsEarly {
			p.succeeds(t)
		}
		published = append(published, p)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first, err := t.q.Consume(ctx)
	if err != nil {
		t.Fatal(err)
	}
	held := make([]worker.Delivery, 0, t.MaxUnsettled)
	for range t.MaxUnsettled {
		held = append(held, receive(t, first))
	}
	given := held[len(held)/2]
	if err := given.Requeue(); err != nil {
		t.Fatal(err)
	}
	if d := receive(t, first); d.Message().ID != given.Message().ID || !d.Redelivered() {
		t.Errorf("after message %s was requeued: got message %s, redelivered %t, want %s, redelivered", given.Message().ID, d.Message().ID, d.Redelivered(), given.Message().ID)
	}
	cancel()
	isClosed(t, first)
	second := consume(t)
	for i := range published {
		d := receive(t, second)
		if again := i < t.MaxUnsettled; d.Redelivered() != again {
			t.Errorf("redelivery %d, message %s: got redelivered %t, want %t: %d were unsettled", i, d.Message().ID, d.Redelivered(), again, t.MaxUnsettled)
		}
		ack(t, d)
	}
	for _, p := range published {
		p.succeeds(t)
	}
}

func consumerHoldsABoundedNumber(t *trial) {
	const more = 5
	published := make([]*publishing, 0, t.MaxUnsettled+more)
	for i := range t.MaxUnsettled + more {
		published = append(published, publish(t, 0, message(strconv.Itoa(i))))
	}
	if t.ConfirmsEarly {
		for _, p := range published {
			p.succeeds(t)
		}
	}
	deliveries := consume(t)
	var held []worker.Delivery
	for range t.MaxUnsettled {
		held = append(held, receive(t, deliveries))
	}
	for range more {
		select {
		case d := <-deliveries:
			t.Fatalf("got message %s while %d are unsettled, want at most %d", d.Message().ID, t.MaxUnsettled, t.MaxUnsettled)
		default:
		}
		ack(t, held[0])
		held = append(held[1:], receive(t, deliveries))
	}
	for _, d := range held {
		ack(t, d)
	}
	for _, p := range published {
		p.succeeds(t)
	}
}

// nothingIsLostWhileConsumersDie lets consumers acknowledge and requeue messages at
// random. Each consumer ends at a random message without settling it, and is replaced
// until every message is acknowledged.
func nothingIsLostWhileConsumersDie(t *trial) {
	const publishers, each = 8, 40
	acked := &seen{ids: map[string]bool{}, want: publishers * each, all: make(chan struct{})}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var users sync.WaitGroup
	for seed := range uint64(3) {
		users.Go(func() {
			random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // the same run each time
			for ctx.Err() == nil {
				consumeWithoutSettling(ctx, t, random, acked)
			}
		})
	}
	for p := range publishers {
		users.Go(func() {
			for i := range each {
				if _, err := t.q.Publish(ctx, p%t.q.Partitions(), message(number(p, i))); err != nil && ctx.Err() == nil {
					t.Errorf("Publish: %v", err)
				}
			}
		})
	}
	defer users.Wait()
	defer stop()
	await(t, "every message is acknowledged", acked.all)
}

// consumeWithoutSettling acknowledges and requeues messages at random. It ends at a
// random message without settling it.
func consumeWithoutSettling(ctx context.Context, t *trial, random *rand.Rand, acked *seen) {
	ctx, die := context.WithCancel(ctx)
	deliveries, err := t.q.Consume(ctx)
	if err != nil {
		t.Errorf("Consume: %v", err)
	}
	for d := range deliveries {
		switch random.IntN(8) {
		case 0: // redelivered when this consumer has ended
			die()
		case 1:
			_ = d.Requeue()
		default:
			if d.Ack() == nil {
				acked.add(d.Message().ID)
			}
		}
	}
	die()
}

// seen collects ids. When it has collected the wanted number of ids, it closes its
// channel, named all.
type seen struct {
	mu   sync.Mutex
	ids  map[string]bool
	want int
	all  chan struct{}
}

func (s *seen) add(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ids[id] {
		s.ids[id] = true
		if len(s.ids) == s.want {
			close(s.all)
		}
	}
}
