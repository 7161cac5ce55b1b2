package epochs

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ovation/storage/mirror"
	"ovation/storage/redis/internal/dependency"
	"ovation/storage/redis/internal/scripts"
)

// Options are what a Keeper needs.
type Options struct {
	Database mirror.Database
	Redis    *dependency.Part
	Behind   *dependency.Part // the database
	Scripts  *scripts.Runner

	Name         string // of the mirror, for messages
	Prefix       string
	Passive      bool
	RedisTimeout time.Duration
	ShownLife    time.Duration // of the sentinel
	Logger       *slog.Logger

	// Back is called when Redis is believed again, Rewound when the database has
	// gone back: it may have lost what it had committed.
	Back, Rewound func()
}

// Keeper knows the present epoch, as of its last poll, and begins, closes and holds
// epochs for this process.
type Keeper struct {
	Options

	epoch     atomic.Pointer[Epoch]
	opened    time.Time      // when the store was opened
	suspected atomic.Int64   // when Redis may have lost data, in nanoseconds since it was opened
	evicted   atomic.Bool    // Redis has evicted keys, and the barrier was not raised for it yet
	evictions evictions      // of the polls
	asking    sync.WaitGroup // those who ask servers, some of which may hang
	clock     clock
	claim     claim
	wake      chan struct{} // has the epoch polled at once
	marks     marks
	steady    streak // of a Redis that answers polls
}

// NewKeeper returns a Keeper that knows of no epoch yet. Its options are set before
// the first poll.
func NewKeeper(now func() time.Time) *Keeper {
	k := &Keeper{opened: time.Now(), wake: make(chan struct{}, 1)}
	k.clock.local = now
	k.epoch.Store(new(Epoch))
	return k
}

// Current returns the epoch as of the last poll.
func (k *Keeper) Current() *Epoch { return k.epoch.Load() }

// Adopt takes an epoch as another Keeper knows it.
func (k *Keeper) Adopt(e *Epoch) { k.epoch.Store(e) }

// Note notes how marking ended, and returns the error: where it fails for long, the
// epoch is closed.
func (k *Keeper) Note(err error) error { return k.marks.note(err) }

// Wait waits until no server is asked.
func (k *Keeper) Wait() { k.asking.Wait() }
