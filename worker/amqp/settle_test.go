package amqp

import (
	"errors"
	"testing"

	"github.com/rabbitmq/amqp091-go"
	"pgregory.net/rapid"

	"ovation/worker"
)

// brokerChannel is the broker's side of a channel. Like the broker, it refuses
// settlements of deliveries that are not outstanding.
type brokerChannel struct {
	outstanding map[uint64]bool
	acked       map[uint64]bool
	calls       int
}

func (b *brokerChannel) Ack(tag uint64, multiple bool) error {
	b.calls++
	if !b.outstanding[tag] {
		return errors.New("unknown delivery tag")
	}
	for other := range b.outstanding {
		if other == tag || multiple && other < tag {
			delete(b.outstanding, other)
			b.acked[other] = true
		}
	}
	return nil
}

func (b *brokerChannel) Nack(tag uint64, _, _ bool) error {
	b.calls++
	if !b.outstanding[tag] {
		return errors.New("unknown delivery tag")
	}
	delete(b.outstanding, tag)
	return nil
}

func (b *brokerChannel) Reject(tag uint64, requeue bool) error { return b.Nack(tag, false, requeue) }

func newTestSubscription() *subscription {
	return &subscription{consumer: &consumer{queue: &Queue{opts: Options{Metrics: noMetrics}}, done: make(chan struct{})}}
}

func (b *brokerChannel) deliver(s *subscription, tag uint64) *delivery {
	b.outstanding[tag] = true
	s.accept()
	return &delivery{subscription: s, raw: amqp091.Delivery{Acknowledger: b, DeliveryTag: tag}}
}

// Whether deliveries are settled alone or together, and in whichever order, the broker
// receives settlements for exactly these deliveries.
func TestOnlySettledDeliveriesAreAcknowledged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &brokerChannel{outstanding: map[uint64]bool{}, acked: map[uint64]bool{}}
		s := newTestSubscription()
		var held []*delivery
		acked := map[uint64]bool{}
		last := uint64(0)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			for range rapid.IntRange(0, 5).Draw(t, "new") {
				last++
				held = append(held, b.deliver(s, last))
			}
			if len(held) == 0 {
				continue
			}
			held = rapid.Permutation(held).Draw(t, "order")
			n := rapid.IntRange(1, len(held)).Draw(t, "settled")
			some := held[:n]
			held = held[n:]
			var err error
			if how := rapid.SampledFrom([]string{"together", "ack", "requeue"}).Draw(t, "how"); how == "together" {
				all := make([]worker.Delivery, n)
				for i, d := range some {
					all[i] = d
				}
				err = some[0].AckAll(all)
				for _, d := range some {
					acked[d.raw.DeliveryTag] = true
					if again := d.Ack(); !errors.Is(again, worker.ErrSettled) {
						t.Fatalf("Ack of an acknowledged delivery: got %v, want %v", again, worker.ErrSettled)
					}
				}
			} else {
				for _, d := range some {
					if how == "requeue" {
						err = errors.Join(err, d.Requeue())
						continue
					}
					err = errors.Join(err, d.Ack())
					acked[d.raw.DeliveryTag] = true
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(b.outstanding) != len(held) || s.outstanding != len(held) {
				t.Fatalf("got %d deliveries outstanding at the broker, %d in the partition, want the %d held", len(b.outstanding), s.outstanding, len(held))
			}
			for tag := range b.acked {
				if !acked[tag] {
					t.Fatalf("delivery %d was acknowledged but never settled", tag)
				}
			}
			for tag := range acked {
				if !b.acked[tag] {
					t.Fatalf("delivery %d was settled but not acknowledged", tag)
				}
			}
		}
	})
}

func TestConsecutiveDeliveriesAreAcknowledgedTogether(t *testing.T) {
	b := &brokerChannel{outstanding: map[uint64]bool{}, acked: map[uint64]bool{}}
	s := newTestSubscription()
	var all []worker.Delivery
	for tag := range uint64(100) {
		all = append(all, b.deliver(s, tag+1))
	}
	if err := all[0].(*delivery).AckAll(all[:60]); err != nil || b.calls != 1 || len(b.acked) != 60 {
		t.Errorf("the first 60 of 100: got %d acknowledgements of %d deliveries, %v, want 1 of 60", b.calls, len(b.acked), err)
	}
	if err := all[99].(*delivery).AckAll(all[90:]); err != nil || b.calls != 11 || len(b.acked) != 70 {
		t.Errorf("the last 10, out of order: got %d acknowledgements of %d deliveries, %v, want 11 of 70", b.calls, len(b.acked), err)
	}
	if err := all[60].(*delivery).AckAll(all[60:90]); err != nil || b.calls != 12 || len(b.acked) != 100 {
		t.Errorf("the rest: got %d acknowledgements of %d deliveries, %v, want 12 of 100", b.calls, len(b.acked), err)
	}
}
