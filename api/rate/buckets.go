package rate

import (
	"sync"
	"time"
)

// burstTime is the time in which an empty bucket fills.
const burstTime = 10 * time.Second

// maxBytesDebt is the maximum debt, in time, that the bytes of files leave.
const maxBytesDebt = time.Second

// messageTime is the time in which a user's empty message bucket fills.
const messageTime = time.Minute

// actionTime is the time in which an empty bucket for actions fills. Its units are
// nanoseconds, so that each action can have a limit of its own.
const actionTime = time.Minute

// pace is the speed at which buckets fill. Times are in nanoseconds. A bucket is
// represented by the time at which it will be full again: a full bucket needs no memory,
// and no bucket has to be refilled periodically. (This is the generic cell rate
// algorithm.)
type pace struct {
	unit  int64 // until one unit is refilled
	burst int64 // until an empty bucket is full
}

// take takes units, given by the time in which they are refilled. If there are too few,
// it takes none and returns the time until there are enough. An operation that costs more
// than a full bucket has to wait until the bucket is full but for a tenth, which other
// parts of its request may have taken, and leaves a debt.
func (p pace) take(full, now, needs int64) (after int64, wait time.Duration) {
	full = max(full, now)
	if late := full + p.required(needs) - now - p.burst; late > 0 {
		return full, time.Duration(late)
	}
	return full + needs, 0
}

// required returns how much of needs must be there.
func (p pace) required(needs int64) int64 {
	if needs > p.burst {
		return p.burst - p.burst/10
	}
	return needs
}

// charge takes units that are already spent. If there are too few, it leaves a debt of at
// most the given time.
func (p pace) charge(full, now, spent int64, debt time.Duration) (after int64) {
	full = max(full, now)
	return min(full+spent, max(full, now+p.burst+int64(debt)))
}

// The dimensions of the table of slots. The table has 65,536 slots, which take 1.1 MB.
// Only a client whose bucket is not full needs a slot.
const (
	setCount = 1 << 13
	setSize  = 8
)

// buckets holds the buckets of many clients. A client is identified by a hash of its name
// or by a number. A nil *buckets imposes no limit. The memory does not depend on the
// number of clients. Each client belongs to one set of slots. If that set has no free
// slot, the fullest bucket in it is evicted and counts as full afterwards.
type buckets struct {
	pace

	sets [setCount]set
}

type set struct {
	mu    sync.Mutex
	slots [setSize]slot
}

type slot struct {
	client uint64
	fullAt int64 // when the bucket is full
}

// newBuckets returns buckets that gain the given number of units per period. An empty
// bucket is full again after the given burst duration. If units is 0, newBuckets returns
// nil, which imposes no limit.
func newBuckets(units int, period, burst time.Duration) *buckets {
	if units <= 0 {
		return nil
	}
	return &buckets{pace: pace{unit: max(int64(period)/int64(units), 1), burst: int64(burst)}}
}

// of locks the mutex of the set that a client belongs to. It returns the client's slot
// and the set.
func (b *buckets) of(client uint64) (*slot, *set) {
	s := &b.sets[client%setCount]
	s.mu.Lock()
	fullest := &s.slots[0]
	for i := range s.slots {
		one := &s.slots[i]
		if one.client == client {
			return one, s
		}
		if one.fullAt < fullest.fullAt {
			fullest = one
		}
	}
	*fullest = slot{client: client}
	return fullest, s
}

// take takes units from the bucket of a client. The share is the size and the speed of
// that bucket, as a multiple of those of the others.
func (b *buckets) take(client uint64, share int, now int64, units int) (wait time.Duration) {
	if b == nil {
		return 0
	}
	one, s := b.of(client)
	defer s.mu.Unlock()
	one.fullAt, wait = b.pace.take(one.fullAt, now, int64(units)*b.unit/int64(share))
	return wait
}

// charge takes units that are already spent from the bucket of a client. If there are too
// few, it leaves a debt, which takes at most as long to pay as the bucket takes to fill.
func (b *buckets) charge(client uint64, share int, now int64, units int) {
	if b != nil {
		b.chargeOwing(client, share, now, units, time.Duration(b.burst))
	}
}

// chargeOwing is like charge, with a maximum for the debt.
func (b *buckets) chargeOwing(client uint64, share int, now int64, units int, debt time.Duration) {
	if b == nil {
		return
	}
	one, s := b.of(client)
	defer s.mu.Unlock()
	one.fullAt = b.pace.charge(one.fullAt, now, int64(units)*b.unit/int64(share), debt)
}
