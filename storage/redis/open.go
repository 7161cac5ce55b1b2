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
	"ovation/storage/calls"
	"ovation/storage/mirror"
	"ovation/storage/redis/internal/answers"
	"ovation/storage/redis/internal/counts"
	"ovation/storage/redis/internal/database"
	"ovation/storage/redis/internal/dependency"
	"ovation/storage/redis/internal/epochs"
	"ovation/storage/redis/internal/keyspace"
	"ovation/storage/redis/internal/pending"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/windows"
)

// Database is the database behind the mirror.
type Database = mirror.Database

// Options configures a Store. URL and Database are required; the zero value of every
// other field selects its default.
type Options struct {
	// URL is redis://USER:PASSWORD@HOST:PORT/DATABASE, or rediss:// for TLS. For a
	// cluster it names one node, or several with ?addr=HOST:PORT&addr=….
	URL string
	// Database is the store behind the mirror. Store.Close also closes it.
	Database Database
	// Prefix begins every key; the default is "ovation". It must not contain braces.
	Prefix string

	// RedisTimeout bounds a call to Redis; the default is 250 ms.
	RedisTimeout time.Duration
	// DatabaseTimeout bounds a read of the database; the default is 2 s. While reads
	// fail, the timeout is at most 1 s.
	DatabaseTimeout time.Duration
	// MaxReads bounds the number of concurrent database reads by key; the default is 9.
	MaxReads int
	// ListTimeout bounds a list query; DatabaseTimeout applies as well. The default is
	// 1.5 s.
	ListTimeout time.Duration
	// MaxLists is the maximum number of concurrent list queries, which do not count
	// towards MaxReads; the default is 3. With the defaults of MaxReads and MaxLists,
	// reads leave some connections of a pool of 16 free for writes.
	MaxLists int
	// Window is the maximum number of states in a window (a user's states in one biz)
	// that is loaded as a whole; the default is 1,000. In Redis, a window holds at most a
	// quarter more subjects than this limit, not counting those with queued entries.
	Window int
	// TTL is the life of a key, with a jitter of a tenth; the default is 1 hour. The life
	// of a window restarts whenever the window is written or renewed. A window is
	// reloaded once half a TTL has passed since it was loaded.
	TTL time.Duration
	// QueuedTTL is the life of a window with queued entries; the default is 7 days. It
	// must exceed the longest time that a message may stay queued.
	QueuedTTL time.Duration
	// Guard is the time for which a window cannot be filled after a transaction has
	// invalidated entries in the window, or has marked entries that the window lacks. The
	// default is 10 s. Guard should be longer than such a transaction takes to commit
	// afterwards. Store.Publish handles a commit that takes longer.
	Guard time.Duration
	// Passive is for short-lived processes. A passive store begins no epoch, and closes
	// none that other processes use. Open returns ErrForeignMirror if other processes use
	// another mirror of the database.
	Passive bool
	// Now is the local clock, from which Store.Now derives the database's time; the
	// default is time.Now. Database must have been opened with the same clock.
	Now func() time.Time
	// Logger logs problems that do not make a call fail; the default is slog.Default().
	Logger *slog.Logger
}

const (
	failingTimeout  = time.Second     // of a database read while reads fail
	topologyRefresh = 5 * time.Second // interval at which the topology of a cluster is refreshed
	clientCacheSize = 32 << 20        // bytes of the client-side cache, per connection
)

func (o Options) withDefaults() (Options, error) {
	if o.Database == nil {
		return o, errors.New("option Database is required")
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
	o.TTL = cmp.Or(o.TTL, time.Hour)
	o.QueuedTTL = cmp.Or(o.QueuedTTL, 7*24*time.Hour)
	o.Guard = cmp.Or(o.Guard, 10*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}

// Store is a storage.Store in front of a database, and the mirror of the write path. It
// is safe for concurrent use.
//
// Persist, EmptyFolder, ClearReads, PublishVideo and DeleteVideo also update Redis. A worker does not
// call these methods: it writes to the database, and updates Redis with Mark and Publish.
type Store struct {
	*calls.Store // methods that only call the database

	opts     Options
	client   rueidis.Client
	redis    *dependency.Backend
	database *dependency.Backend
	reads    *dependency.Class // of the database, by key
	source   database.Source
	lists    *dependency.Class // of the database
	counts   *counts.Reader
	windows  *windows.Reader
	scripts  *scripts.Runner

	closed         atomic.Bool
	close          func() error
	stopBackground func() // stops the background goroutines and waits for them

	epochs   *epochs.Keeper
	pending  *pending.Writes
	answers  *answers.Reader
	listener atomic.Pointer[listener]
}

var _ storage.Store = (*Store)(nil)

// Open connects to Redis. Errors: storage.ErrUnavailable if Redis or the database cannot
// be reached, or if Redis rejects the connection or a command that the store needs;
// storage.ErrInvalid for an invalid URL or Prefix; ErrForeignMirror for a passive store.
// No error contains the password. The database stays open after an error.
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
	s := &Store{opts: o, epochs: epochs.NewKeeper(o.Now), counts: &counts.Reader{Cache: counts.NewCache(), TTL: o.TTL}}
	s.redis = dependency.NewBackend(dependency.Messages{
		Unavailable: "Redis is unavailable", Recovered: "Redis is back", PartlyRecovered: "Redis is back in part",
	}, o.RedisTimeout, o.RedisTimeout, o.Logger)
	s.database = dependency.NewBackend(dependency.Messages{
		Unavailable: "the database is unavailable", Recovered: "the database is back", PartlyRecovered: "the database is back in part",
	}, o.DatabaseTimeout, failingTimeout, o.Logger)
	s.reads = dependency.NewClass(s.database, o.MaxReads, 0)
	s.source = database.Source{DB: o.Database, Do: s.reads.Do}
	s.lists = dependency.NewClass(s.database, o.MaxLists, o.ListTimeout)
	s.Store = database.NewStore(o.Database, s.database, s.reads, s.lists)
	client.CacheSizeEachConn = clientCacheSize
	client.Dialer.Timeout = time.Second
	client.Dialer.KeepAlive = time.Second // interval of keep-alive probes
	client.ConnWriteTimeout = 2 * time.Second
	client.ClientName = "ovation"
	// The client does not retry, since the database answers instead of Redis. A retry
	// would also return a command to the client's pool while a lost connection is still
	// writing the command.
	client.DisableRetry = true
	client.ClusterOption.ShardsRefreshInterval = topologyRefresh
	client.OnInvalidations = func(keys []rueidis.RedisMessage) {
		if keys == nil { // the connection was lost, or all keys were flushed
			s.counts.Cache.InvalidateAll()
			s.epochs.Recheck()
			return
		}
		s.onInvalidation(keys)
	}
	name := fmt.Sprintf("prefix %q (form %s) in Redis at %s", o.Prefix, keyspace.Form, strings.Join(client.InitAddress, ", "))
	where := "open Redis at " + strings.Join(client.InitAddress, ", ")
	if s.client, err = connect(client); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", where, storage.ErrUnavailable, err)
	}
	s.scripts = scripts.NewRunner(s.client, s.redis.Call, s.redis.Err, o.Logger)
	s.counts.Redis, s.counts.Database = s.scripts, s.source
	s.windows = &windows.Reader{Redis: s.scripts, Database: s.source, Limit: o.Window, TTL: o.TTL, QueuedTTL: o.QueuedTTL, Guard: o.Guard}
	s.epochs.Options = epochs.Options{
		Database: o.Database, RedisBackend: s.redis, DatabaseBackend: s.database, Scripts: s.scripts, Name: name, Prefix: o.Prefix, Passive: o.Passive,
		RedisTimeout: o.RedisTimeout, SentinelTTL: o.QueuedTTL, Logger: o.Logger, OnTrusted: s.onTrusted, OnRewind: s.onRewind,
	}
	s.assemble()
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
	background.Go(func() { s.pending.Run(running) })
	s.stopBackground = func() {
		stop()
		background.Wait()
	}
	s.close = sync.OnceValue(func() error {
		s.closed.Store(true)
		s.stopBackground()
		s.windows.Close()
		s.client.Close()
		s.epochs.Wait()
		return s.Store.Close()
	})
	return s, nil
}

// connectTries is the number of attempts to connect to a server that does not respond
// within the client's dial timeout. On a busy machine, a TLS handshake may take longer
// than this timeout.
const connectTries = 5

func connect(o rueidis.ClientOption) (client rueidis.Client, err error) {
	for range connectTries {
		if client, err = rueidis.NewClient(o); !errors.Is(err, context.DeadlineExceeded) {
			break
		}
	}
	return client, err //nolint:wrapcheck // Open names the server
}

// assemble creates the parts that depend on other parts of the store.
func (s *Store) assemble() {
	looks := dependency.NewClass(s.database, 2, 0) // separate slots: callers of AwaitWorker wait for these lookups
	s.pending = pending.New(pending.Options{
		Epochs: s.epochs, Database: database.Source{DB: s.opts.Database, Do: looks.Do}, Apply: s.applyQueued,
	})
	s.answers = &answers.Reader{
		Epochs: s.epochs, Counts: s.counts, Windows: s.windows, Pending: s.pending, Scripts: s.scripts, Source: s.source, DatabaseBackend: s.database,
	}
}

// Close closes the connections and the database.
func (s *Store) Close() error { return s.close() }

var errClosed = fmt.Errorf("%w: the store is closed", storage.ErrUnavailable)
