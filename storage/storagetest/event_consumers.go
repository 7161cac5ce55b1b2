package storagetest

import (
	"fmt"
	"time"

	"ovation/storage"
)

func oneHolderLeasesAConsumer(w *world) {
	ctx, log := w.Context(), w.log()
	lease, err := log.LeaseEvents(ctx, "relay", "one", time.Hour)
	w.must(err)
	w.equal("the lease", lease, storage.EventLease{Consumer: "relay", Holder: "one"})
	_, err = log.LeaseEvents(ctx, "relay", "two", time.Hour)
	w.wantError("a lease that is held", err, storage.ErrLeaseLost)
	other, err := log.LeaseEvents(ctx, "other", "two", time.Hour)
	w.must(err)
	w.must(log.SaveEvents(ctx, lease, 5))
	w.must(log.SaveEvents(ctx, other, 7))
	lease, err = log.LeaseEvents(ctx, "relay", "one", time.Millisecond) // the lease expires
	w.must(err)
	w.equal("the saved position", lease.Position, int64(5))
	var taken storage.EventLease
	w.must(Repeat(storage.ErrLeaseLost, time.Minute, func() (err error) {
		taken, err = log.LeaseEvents(ctx, "relay", "two", time.Hour)
		return err
	}))
	w.equal("the position of the next holder", taken.Position, int64(5))
	w.wantError("saving without the lease", log.SaveEvents(ctx, lease, 6), storage.ErrLeaseLost)
	w.must(log.ReleaseEvents(ctx, lease)) // of the first holder: does nothing
	w.must(log.SaveEvents(ctx, taken, 8))
	w.must(log.ReleaseEvents(ctx, taken))
	lease, err = log.LeaseEvents(ctx, "relay", "one", time.Hour)
	w.must(err)
	w.equal("the position after a release", lease.Position, int64(8))
	for _, invalid := range []struct {
		consumer, holder string
		until            time.Duration
	}{{"", "one", 1}, {"relay", "", 1}, {"relay", "one", 0}} {
		_, err := log.LeaseEvents(ctx, invalid.consumer, invalid.holder, invalid.until)
		w.wantError("an invalid lease", err, storage.ErrInvalid)
	}
}

func deadEventsAreKept(w *world) {
	ctx, log := w.Context(), w.log()
	w.persist(like(user("alice"), video("1"), 1), like(user("bob"), video("1"), 2), React(user("bob"), video("2"), storage.Dislike, 3))
	all := w.events(log, storage.EventsQuery{})
	of := func(consumer string, i int, at int64) storage.DeadEvent {
		return storage.DeadEvent{Consumer: consumer, Event: all[i], Reason: `refused: "é"`, At: at}
	}
	one, err := log.LeaseEvents(ctx, "one", "holder", time.Hour)
	w.must(err)
	two, err := log.LeaseEvents(ctx, "two", "holder", time.Hour)
	w.must(err)
	w.must(log.SaveEvents(ctx, one, 3, of("one", 2, 7), of("one", 0, 7)))
	w.must(log.SaveEvents(ctx, two, 1, of("two", 0, 6)))
	lost := one
	lost.Holder = "another"
	w.wantError("saving without the lease", log.SaveEvents(ctx, lost, 3, of("one", 1, 7)), storage.ErrLeaseLost)
	dead := func(consumer string, limit int) []storage.DeadEvent {
		w.Helper()
		dead, err := log.DeadEvents(ctx, consumer, limit)
		w.must(err)
		return dead
	}
	w.equal("the dead events", dead("", 10), []storage.DeadEvent{of("two", 0, 6), of("one", 0, 7), of("one", 2, 7)})
	w.equal("the oldest", dead("", 1), []storage.DeadEvent{of("two", 0, 6)})
	w.equal("those of one", dead("one", 10), []storage.DeadEvent{of("one", 0, 7), of("one", 2, 7)})
	for _, c := range []struct {
		consumer       string
		position, want int64
	}{{"one", 3, 1}, {"one", 3, 0}, {"one", 2, 0}, {"other", 1, 0}, {"", 1, 2}} {
		got, err := log.DropDeadEvent(ctx, c.consumer, c.position)
		w.must(err)
		w.equal(fmt.Sprintf("dropped %+v", c), got, c.want)
	}
	w.equal("those that are left", len(dead("", 10)), 0)

	many := make([]storage.DeadEvent, storage.MaxDeadEvents)
	for i := range many {
		many[i] = of("one", 0, 7)
		many[i].Event.Position = int64(1 + i)
	}
	w.must(log.SaveEvents(ctx, one, 3, many...))
	more := of("one", 0, 7)
	more.Event.Position = 1_000_000
	w.wantError("one more", log.SaveEvents(ctx, one, 4, more), storage.ErrDeadEventsFull)
	again, err := log.LeaseEvents(ctx, "one", "holder", time.Hour)
	w.must(err)
	w.equal("the position", again.Position, int64(3))
	w.must(log.SaveEvents(ctx, two, 3, of("two", 1, 7)))
	_, err = log.PruneEvents(ctx, time.Hour)
	w.must(err)
	w.equal("dead events of events that are kept", len(dead("", 2*storage.MaxDeadEvents)), storage.MaxDeadEvents+1)
	_, err = log.PruneEvents(ctx, -time.Hour)
	w.must(err)
	w.equal("dead events of pruned events", len(dead("", 2*storage.MaxDeadEvents)), storage.MaxDeadEvents-3)
}
