package worker_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
	"ovation/storage/sqlite"
	"ovation/worker"
	"ovation/worker/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quiet discards the log lines of failures that a test causes on purpose.
var quiet = slog.New(slog.DiscardHandler)

// openStore opens a new store that is closed when the test ends.
func openStore(tb testing.TB) *sqlite.Store {
	tb.Helper()
	return sqlitetest.Open(tb)
}

// newQueue makes a queue that is closed when the test ends.
func newQueue(tb testing.TB) *local.Queue {
	tb.Helper()
	q := local.NewQueue(local.Options{})
	tb.Cleanup(func() { _ = q.Close() })
	return q
}

// newRecorder makes a recorder that is closed when the test ends.
func newRecorder(tb testing.TB, p worker.Publisher, m worker.Mirror, opts worker.RecorderOptions) *worker.Recorder {
	tb.Helper()
	opts.Logger = cmp.Or(opts.Logger, quiet)
	r := worker.NewRecorder(p, m, opts)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := r.Close(ctx); err != nil {
			tb.Errorf("close the recorder: %v", err)
		}
	})
	return r
}

// startWorker runs a worker until the test ends or the returned function is called. That
// function returns what Run returned.
func startWorker(tb testing.TB, c worker.Consumer, p storage.Persister, m worker.Mirror, opts worker.Options) (stop func() error) {
	tb.Helper()
	opts.Logger = cmp.Or(opts.Logger, quiet)
	w := worker.New(c, p, m, opts)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- w.Run(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); return <-ran })
	tb.Cleanup(func() { _ = stop() })
	return stop
}

// startLocal starts a worker between a new queue and a new store.
func startLocal(tb testing.TB) (store *sqlite.Store, queue *local.Queue, mirror local.Mirror) {
	tb.Helper()
	store, queue = openStore(tb), newQueue(tb)
	mirror = local.Mirror{Reader: store}
	startWorker(tb, queue, store, mirror, worker.Options{})
	return store, queue, mirror
}

// publish publishes a message and returns a channel that receives the result. It must be
// called in a synctest bubble.
func publish(q *local.Queue, partition int, m storage.Message) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := q.Publish(context.Background(), partition, m)
		done <- err
	}()
	synctest.Wait() // the message is queued
	return done
}

// tap is a publisher that records the messages that pass through it, and may delay them.
type tap struct {
	worker.Publisher

	partitions int           // the publisher's number if 0
	gate       chan struct{} // if not nil, messages wait until it is closed
	takes      time.Duration // duration of passing; set only in a synctest bubble, where time is fake

	mu       sync.Mutex
	messages []storage.Message
	put      []int // the partition of each message
	now      int   // messages that are passing
	most     int   // maximum of now
}

func (p *tap) Partitions() int { return max(p.partitions, p.Publisher.Partitions()) }

func (p *tap) Publish(ctx context.Context, partition int, m storage.Message) (storage.Durability, error) {
	p.mu.Lock()
	p.messages = append(p.messages, m)
	p.put = append(p.put, partition)
	p.now++
	p.most = max(p.most, p.now)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.now--
		p.mu.Unlock()
	}()
	if p.takes > 0 {
		select {
		case <-time.After(p.takes):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	if p.gate != nil {
		select {
		case <-p.gate:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	return p.Publisher.Publish(ctx, min(partition, p.Publisher.Partitions()-1), m)
}

func (p *tap) seen() []storage.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]storage.Message(nil), p.messages...)
}

// hooks is a store that calls functions before and after it persists.
type hooks struct {
	storage.Persister

	before func(ctx context.Context, messages []storage.Message) error
	after  func() error
	prune  func(age time.Duration)
}

func (h *hooks) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	if h.before != nil {
		if err := h.before(ctx, messages); err != nil {
			return storage.Outcome{}, err
		}
	}
	outcome, err := h.Persister.Persist(ctx, messages, mark)
	if err == nil && h.after != nil {
		err = h.after()
	}
	return outcome, err
}

func (h *hooks) Prune(ctx context.Context, age time.Duration) (int64, error) {
	if h.prune != nil {
		h.prune(age)
	}
	return h.Persister.Prune(ctx, age)
}

// spy wraps the local mirror, so that every call can be observed and made to fail.
type spy struct {
	local.Mirror

	get        func() (storage.Durability, error) // replaces the durability and the error
	apply      func([]storage.Action) error
	invalidate func([]storage.Action) error
	revert     func([]storage.Action) error
	mark       func(storage.Outcome) error
	publish    func(storage.Outcome) error
}

func (s *spy) Get(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, storage.Durability, error) {
	states, known, err := s.Mirror.Get(ctx, keys, kinds)
	if s.get != nil {
		known, err = s.get()
	}
	return states, known, err
}

func (s *spy) Apply(_ context.Context, actions []storage.Action, _ storage.Durability, _ []*storage.Interactive) error {
	return call(s.apply, actions)
}

func (s *spy) Invalidate(_ context.Context, actions []storage.Action) error {
	return call(s.invalidate, actions)
}

func (s *spy) Revert(_ context.Context, actions []storage.Action) error {
	return call(s.revert, actions)
}

func (s *spy) Mark(_ context.Context, outcome storage.Outcome) error { return call(s.mark, outcome) }

func (s *spy) Publish(_ context.Context, outcome storage.Outcome) error {
	return call(s.publish, outcome)
}

func call[T any](f func(T) error, with T) error {
	if f == nil {
		return nil
	}
	return f(with)
}

var (
	alice     = storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}
	movie     = video("movie")
	errBroken = errors.New("broken")
)

func video(id string) storage.Subject {
	return storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: id}
}

func user(i int) storage.User {
	return storage.User{Tenant: storage.DefaultTenant, UserID: "user-" + strconv.Itoa(i)}
}

func react(u storage.User, s storage.Subject, r storage.Reaction) storage.Action {
	return storage.Action{User: u, Subject: s, Kind: storage.KindReaction, Reaction: r}
}

func unreact(u storage.User, s storage.Subject, r storage.Reaction) storage.Action {
	return storage.Action{User: u, Subject: s, Kind: storage.KindReaction, If: r}
}

func follow(u storage.User, s storage.Subject) storage.Action {
	return storage.Action{User: u, Subject: s, Kind: storage.KindFollow, Following: true}
}

func unfollow(u storage.User, s storage.Subject) storage.Action {
	return storage.Action{User: u, Subject: s, Kind: storage.KindFollow}
}

func collect(u storage.User, s storage.Subject, folder string) storage.Action {
	return storage.Action{User: u, Subject: s, Kind: storage.KindCollection, FolderID: folder}
}

// record records the action, and fails the test if Record returns an error.
func record(tb testing.TB, r *worker.Recorder, a storage.Action) worker.Recorded {
	tb.Helper()
	recorded, err := r.Record(tb.Context(), a, nil)
	if err != nil {
		tb.Fatalf("record %+v: %v", a, err)
	}
	return recorded
}

// countsOf returns the subject's counts in the store.
func countsOf(t rapid.TB, store storage.Reader, s storage.Subject) storage.Counts {
	t.Helper()
	found, err := store.Interactives(context.Background(), storage.User{Tenant: s.Tenant}, []storage.Subject{s}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return found[0].Counts
}

// statesOf returns the user's states on the subject in the store.
func statesOf(t rapid.TB, store storage.Reader, u storage.User, s storage.Subject) storage.States {
	t.Helper()
	found, err := store.States(context.Background(), []storage.StateKey{{User: u, Subject: s}}, storage.AllKinds)
	if err != nil {
		t.Fatal(err)
	}
	return found[0]
}

// message returns message i, with one like by user i, on a subject of its own.
func message(i int) storage.Message {
	a := react(user(i), video(strconv.Itoa(i)), storage.Like)
	a.Version = int64(i + 1)
	return storage.Message{ID: "message-" + strconv.Itoa(i), Actions: []storage.Action{a}}
}

func wantLikes(t *testing.T, store storage.Reader, subject storage.Subject, want int) {
	t.Helper()
	if got := countsOf(t, store, subject).LikeCount; got != int64(want) {
		t.Errorf("got %d likes of %s, want %d", got, subject.BizID, want)
	}
}
