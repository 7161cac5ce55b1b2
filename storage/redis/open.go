package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"ovation/storage"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/behind"
	"ovation/storage/redis/internal/counts"
	"ovation/storage/redis/internal/dependency"
	"ovation/storage/redis/internal/epochs"
	"ovation/storage/redis/internal/keyspace"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/windows"
)

// Database is what lies behind.
type Database = mirror.Database

// Options say where Redis is and what lies behind it. URL and Database are
// needed; the zero value of everything else is a good choice.
type Options struct {
	// URL is redis://USER:PASSWORD@HOST:PORT/DATABASE, or rediss:// for TLS. Of
	// a cluster it names one node, or more with ?addr=HOST:PORT&addr=….
	URL string
	// Database is the store behind. It is closed with this one.
	Database Database
	// Prefix begins every key: "ovation" if empty. Braces are not allowed.
	Prefix string

	// RedisTimeout bounds a call of Redis; 250 ms if 0.
	RedisTimeout time.Duration
	// DatabaseTimeout bounds a read of the database; 2 s if 0. While reads fail
	// it is 1 s at most.
	DatabaseTimeout time.Duration
	// MaxReads is how many reads by key ask the database at the same time; 9 if 0.
	MaxReads int
	// ListTimeout bounds a call that lists; 1.5 s if 0. DatabaseTimeout bounds it as
	// well.
	ListTimeout time.Duration
	// MaxLists is how many calls list at the same time, besides reads by key; 3 if
	// 0. Both together leave some of a pool of 16 connections for writes.
	MaxLists int
	// Window is how many states a window holds; 1,000 if 0.
	Window int
	// Life is how long a key lives, windows since they were last used by a
	// write, spread by a tenth; 1 hour if 0. A window is loaded again after
	// half of it.
	Life time.Duration
	// ShownLife is how long a window lives that holds what is not committed; 7
	// days if 0. It must be longer than any message may stay queued.
	ShownLife time.Duration
	// Guard is how long nobody fills a window after a transaction has marked
	// what is absent from it, or has made Redis forget it; 10 s if 0. It must
	// be longer than the commit of a transaction may take.
	Guard time.Duration
	// Passive is for a process that ends soon. It neither begins nor closes epochs
	// that others use, and does not take the mirror's place: Open returns
	// ErrStranger where the mirror of the database is another one.
	Passive bool
	// Now is the local clock, from which Store.Now follows the database's;
	// time.Now if nil. It must be the clock of the database's store.
	Now func() time.Time
	// Logger takes what goes wrong without failing a caller; slog.Default() if
	// nil.
	Logger *slog.Logger
}

const (
	hastyTimeout = time.Second     // of the database while reads fail
	refreshTime  = 5 * time.Second // between two looks at what belongs to a cluster
	localCache   = 32 << 20        // bytes of the client's cache, for each connection

)

func (o Options) withDefaults() (Options, error) {
	if o.Database == nil {
		return o, errors.New("no database is given")
	}
	o.Prefix = cmp.Or(o.Prefix, "ovation")
	if strings.ContainsAny(o.Prefix, "{}") {
		return o, &storage.InvalidError{Field: "prefix", Reason: "must not hold braces"}
	}
	o.RedisTimeout = cmp.Or(o.RedisTimeout, 250*time.Millisecond)
	o.DatabaseTimeout = cmp.Or(o.DatabaseTimeout, 2*time.Second)
	o.MaxReads = cmp.Or(o.MaxReads, 9)
	o.ListTimeout = cmp.Or(o.ListTimeout, 1500*time.Millisecond)
	o.MaxLists = cmp.Or(o.MaxLists, 3)
	o.Window = cmp.Or(o.Window, 1000)
	o.Life = cmp.Or(o.Life, time.Hour)
	o.ShownLife = cmp.Or(o.ShownLife, 7*24*time.Hour)
	o.Guard = cmp.Or(o.Guard, 10*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}

// Store is a storage.Store over another one, and the mirror of the write path.
// It is safe for concurrent use.
//
// Its Persist and EmptyFolder mark and publish what they change. A worker does
// that itself, by Mark and Publish: give it the database behind.
type Store struct {
	storage.Store // the database behind, for what is passed on

	opts     Options
	client   rueidis.Client
	redis    *dependency.Part
	database *dependency.Part
	reads    *dependency.Class // of the database, by key
	source   behind.Source
	lists    *dependency.Class // of the database
	counts   *counts.Reader
	windows  *windows.Reader
	scripts  *scripts.Runner

	closed atomic.Bool
	close  func() error
	halt   func() // ends what runs in the background

	epochs   *epochs.Keeper
	opened   time.Time
	unshown  *unshown
	untold   atomic.Int64 // until when no worker is waited for, in nanoseconds since it was opened
	listener atomic.Pointer[listener]
}

var _ storage.Store = (*Store)(nil)

// Open connects to Redis. Errors: storage.ErrUnavailable where it cannot be
// reached or refuses; storage.ErrInvalid for an option that cannot be used;
// ErrStranger.
// None holds the password. The database stays open after an error.
func Open(ctx context.Context, options Options) (*Store, error) {
	o, err := options.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("open Redis: %w", err)
	}
	client, err := rueidis.ParseURL(o.URL)
	if err != nil {
		return nil, fmt.Errorf("open Redis: %w", &storage.InvalidError{
			Field: "url", Reason: "must be like redis://user:password@host:6379/0 (rediss:// for TLS)",
		})
	}
	s := &Store{Store: o.Database, opts: o, opened: time.Now(), epochs: epochs.NewKeeper(o.Now), unshown: newUnshown(), counts: &counts.Reader{Cache: counts.NewCache(), Life: o.Life}}
	s.redis = dependency.NewPart("Redis", o.RedisTimeout, o.RedisTimeout, o.Logger)
	s.database = dependency.NewPart("the database", o.DatabaseTimeout, hastyTimeout, o.Logger)
	s.reads = dependency.NewClass(s.database, o.MaxReads, 0)
	s.source = behind.Source{DB: o.Database, Do: s.reads.Do}
	s.lists = dependency.NewClass(s.database, o.MaxLists, o.ListTimeout)
	client.CacheSizeEachConn = localCache
	client.Dialer.Timeout = time.Second
	client.Dialer.KeepAlive = time.Second // how often an idle connection is tried
	client.ConnWriteTimeout = 2 * time.Second
	client.ClientName = "ovation"
	// The database answers what Redis did not. The client's own retries hand a
	// command to its pool while a lost connection is still writing it.
	client.DisableRetry = true
	client.ClusterOption.ShardsRefreshInterval = refreshTime
	client.OnInvalidations = func(keys []rueidis.RedisMessage) {
		if keys == nil { // the connection is lost, or all keys are
			s.counts.Cache.ForgetAll()
			s.epochs.Suspect()
			return
		}
		s.invalidated(keys)
	}
	name := fmt.Sprintf("prefix %q (form %s) in Redis at %s", o.Prefix, keyspace.Form, strings.Join(client.InitAddress, ", "))
	where := "open Redis at " + strings.Join(client.InitAddress, ", ")
	if s.client, err = rueidis.NewClient(client); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", where, storage.ErrUnavailable, err)
	}
	s.scripts = scripts.NewRunner(s.client, s.redis.Call, s.redis.Err, o.Logger)
	s.counts.Redis, s.counts.Database = s.scripts, s.source
	s.windows = &windows.Reader{Redis: s.scripts, Database: s.source, Limit: o.Window, Life: o.Life, ShownLife: o.ShownLife, Guard: o.Guard}
	s.epochs.Options = epochs.Options{
		Database: o.Database, Redis: s.redis, Behind: s.database, Scripts: s.scripts, Name: name, Prefix: o.Prefix, Passive: o.Passive,
		RedisTimeout: o.RedisTimeout, ShownLife: o.ShownLife, Logger: o.Logger, Back: s.back, Rewound: s.counts.Cache.Reset,
	}
	err = s.epochs.FirstPoll(ctx)
	if err == nil && o.Passive {
		err = s.epochs.Attach(ctx)
	}
	if err != nil {
		s.client.Close()
		s.epochs.Wait()
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() { s.epochs.Watch(running) })
	background.Go(func() { s.reshow(running) })
	s.halt = func() {
		stop()
		background.Wait()
	}
	s.close = sync.OnceValue(func() error {
		s.closed.Store(true)
		s.halt()
		s.windows.Close()
		s.client.Close()
		s.epochs.Wait()
		return s.Store.Close()
	})
	return s, nil
}

// Close closes the connections and the database behind.
func (s *Store) Close() error { return s.close() }

var errClosed = fmt.Errorf("%w: the store is closed", storage.ErrUnavailable)
