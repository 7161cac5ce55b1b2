package queuetest

import (
	"reflect"
	"time"

	"ovation/storage"
)

// barriersAndJobsArriveWhole checks that messages without actions arrive unchanged.
func barriersAndJobsArriveWhole(t *trial) {
	deliveries := consume(t)
	for _, want := range []storage.Message{
		{ID: "barrier", Barrier: storage.Barrier{Number: 1 << 40, Partition: 1, Partitions: 3}},
		{ID: "job", Cover: storage.VideoKey{Tenant: "acme", Number: 42}},
	} {
		published := publish(t, 0, want)
		d := receive(t, deliveries)
		got := d.Message()
		got.Published = 0 // deliveryNamesTheTimeOfPublishing checks it
		if !reflect.DeepEqual(got, want) {
			t.Errorf("published %+v, received %+v", want, got)
		}
		ack(t, d)
		published.succeeds(t)
	}
}

// deliveryNamesTheTimeOfPublishing checks that Published is set by a queue that holds
// messages after Publish has returned. A store relies on this field to reject messages
// that are older than the ids in its inbox. Other queues may leave it 0.
func deliveryNamesTheTimeOfPublishing(t *trial) {
	from := storage.Micros(time.Now())
	published := publish(t, 0, message("dated"))
	d := receive(t, consume(t))
	at, to := d.Message().Published, storage.Micros(time.Now())
	if !t.ConfirmsEarly && at == 0 {
		at = from
	}
	if at < from || at > to {
		t.Errorf("Published = %d, want the time of publishing, %d to %d", at, from, to)
	}
	ack(t, d)
	published.succeeds(t)
}
