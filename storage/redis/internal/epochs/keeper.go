package epochs

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ovation/storage/mirror"
	"ovation/storage/redis/internal/dependency"
	"ovation/storage/redis/internal/keyspace"
	"ovation/storage/redis/internal/scripts"
)

// Options holds the dependencies and settings of a Keeper.
type Options struct {
	Database        mirror.Database
	RedisBackend    *dependency.Backend
	DatabaseBackend *dependency.Backend
	Scripts         *scripts.Runner

	Name         string // of the mirror, for log messages
	Prefix       string
	Passive      bool
	RedisTimeout time.Duration
	SentinelTTL  time.Duration // life of the sentinel
	Logger       *slog.Logger

	// OnTrusted is called when Redis is trusted again.
	OnTrusted func()
	// OnRewind is called when the database has been rewound. The database may have lost
	// commits of the ended epoch, so counts of that epoch must no longer be returned.
	OnRewind func(ended keyspace.Epoch)
}

// Keeper tracks the current epoch by polling, and begins, closes and holds epochs for
// this process.
type Keeper struct {
	Options

	epoch      atomic.Pointer[Epoch]
	opened     time.Time      // when the store was opened
	revokedAt  atomic.Int64   // when the lease was last revoked, in nanoseconds since opened
	evicted    atomic.Bool    // Redis has evicted keys, and no barrier has been raised since
	evictions  evictions      // noticed by polls
	inspecting sync.WaitGroup // queries of servers, some of which may hang
	clock      clock
	claim      claim
	wake       chan struct{} // triggers an immediate poll
	markHealth markHealth
	steady     streak // time for which polls have succeeded
}

// NewKeeper returns a Keeper without an epoch. The parameter now is a function that
// returns the local time. Set the options of the Keeper before its first poll.
func NewKeeper(now func() time.Time) *Keeper {
	k := &Keeper{opened: time.Now(), wake: make(chan struct{}, 1)}
	k.clock.local = now
	k.epoch.Store(new(Epoch))
	return k
}

// Current returns the epoch as of the last poll.
func (k *Keeper) Current() *Epoch { return k.epoch.Load() }

// Adopt sets the epoch to one that another Keeper has read.
func (k *Keeper) Adopt(e *Epoch) { k.epoch.Store(e) }

// RecordMark records the result of a mark, and returns the error. If marks have failed
// for too long, the next poll closes the epoch.
func (k *Keeper) RecordMark(err error) error { return k.markHealth.record(err) }

// Wait waits until no query to a server is in progress.
func (k *Keeper) Wait() { k.inspecting.Wait() }
