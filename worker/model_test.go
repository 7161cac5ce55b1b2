package worker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"ovation/internal/testing/seed"
	"ovation/storage"
	"ovation/storage/sqlite"
	"ovation/worker"
	"ovation/worker/local"
)

var _ = seed.ForRapid()

// plan holds the random choices of one run.
type plan struct {
	tenant                 string // used by no other run
	users, steps, subjects int
	maxBatch, maxInFlight  int
	prefetch, maxActions   int
	seed                   uint64
}

// last is the last acknowledged action of one user on one subject.
type last struct {
	reaction storage.Reaction
	folder   string
	follows  bool
	reads    int64
}

// Several users act at the same time, on subjects that they share, while the store fails
// now and then and workers come and go. In the end the store holds the last acknowledged
// action of each user on each subject, and every count is exact.
func TestEveryUserEndsWithTheLastAcknowledgedAction(t *testing.T) {
	store := openStore(t)
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		p := plan{
			tenant:      "run-" + strconv.Itoa(runs),
			users:       rapid.IntRange(1, 8).Draw(t, "users"),
			steps:       rapid.IntRange(1, 8).Draw(t, "steps"),
			subjects:    rapid.IntRange(1, 3).Draw(t, "subjects"),
			maxBatch:    rapid.IntRange(1, 5).Draw(t, "actions a message"),
			maxInFlight: rapid.IntRange(1, 3).Draw(t, "messages in flight"),
			prefetch:    rapid.IntRange(1, 4).Draw(t, "prefetch"),
			maxActions:  rapid.IntRange(1, 6).Draw(t, "actions a transaction"),
			seed:        rapid.Uint64().Draw(t, "seed"),
		}
		p.check(t, store, p.act(t, store))
	})
}

// act runs the plan and returns the last acknowledged actions.
func (p plan) act(t *rapid.T, store *sqlite.Store) map[storage.StateKey]*last {
	queue := local.NewQueue(local.Options{Partitions: 2, Prefetch: p.prefetch})
	defer queue.Close()
	mirror := local.Mirror{Reader: store}
	stopWorkers := p.workers(t, queue, store, mirror)
	defer stopWorkers()
	r := worker.NewRecorder(queue, mirror, worker.RecorderOptions{MaxBatch: p.maxBatch, MaxInFlight: p.maxInFlight})
	defer r.Close(context.Background())

	var mu sync.Mutex
	told := map[storage.StateKey]*last{}
	var users sync.WaitGroup
	for u := range p.users {
		users.Go(func() {
			random := rand.New(rand.NewPCG(p.seed, uint64(u)))
			for range p.steps {
				key := storage.StateKey{
					User:    storage.User{Tenant: p.tenant, UserID: strconv.Itoa(u)},
					Subject: storage.Subject{Tenant: p.tenant, Biz: "video", BizID: strconv.Itoa(random.IntN(p.subjects))},
				}
				mu.Lock()
				if told[key] == nil {
					told[key] = &last{}
				}
				mine := told[key]
				mu.Unlock()
				if err := mine.step(r, key, random); err != nil {
					t.Errorf("actions on %+v: got %v, want no error", key, err)
				}
			}
		})
	}
	users.Wait()
	return told
}

// step records one random action, and updates l once the action is acknowledged.
func (l *last) step(r *worker.Recorder, key storage.StateKey, random *rand.Rand) error {
	a := storage.Action{User: key.User, Subject: key.Subject, Kind: storage.Kind(1 + random.IntN(4))}
	want := *l
	changed := true
	switch a.Kind {
	case storage.KindReaction:
		if a.Reaction = storage.Reaction(random.IntN(3)); random.IntN(3) == 0 {
			a.Reaction, a.If = storage.NoReaction, storage.Reaction(1+random.IntN(2))
		}
		if want.reaction = a.Reaction; a.If != storage.NoReaction && a.If != l.reaction {
			want.reaction = l.reaction
		}
		changed = want.reaction != l.reaction
	case storage.KindCollection:
		if random.IntN(2) == 0 {
			a.FolderID = storage.DefaultFolderID
		}
		want.folder, changed = a.FolderID, a.FolderID != l.folder
	case storage.KindFollow:
		a.Following = random.IntN(2) == 0
		want.follows, changed = a.Following, a.Following != l.follows
	case storage.KindRead:
		want.reads++
	case storage.KindAuthor: // a state without a user
	}
	got, err := r.Record(context.Background(), a, nil)
	if err != nil {
		return err
	}
	if got.Changed != changed || got.Durability != storage.Persisted {
		return fmt.Errorf("%+v was answered %+v", a, got)
	}
	*l = want
	return nil
}

// workers keeps two workers running and replaces each of them repeatedly. Now and then,
// their store fails before or after a commit. The returned function ends the workers.
func (p plan) workers(t *rapid.T, queue *local.Queue, store *sqlite.Store, mirror worker.Mirror) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range uint64(2) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(p.seed, 1000+i))
			for ctx.Err() == nil {
				shift, end := context.WithCancel(ctx)
				left := 1 + random.IntN(5)
				unlucky := &hooks{
					Persister: store,
					before: func(context.Context, []storage.Message) error {
						if left--; left == 0 {
							end()
						}
						return sometimes(random)
					},
					after: func() error { return sometimes(random) },
				}
				w := worker.New(queue, unlucky, mirror, worker.Options{
					MaxActions: p.maxActions, MinBackoff: 1, MaxBackoff: 1, Logger: quiet,
				})
				if err := w.Run(shift); err != nil {
					t.Errorf("Run: %v", err)
				}
				end()
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

func sometimes(random *rand.Rand) error {
	if random.IntN(4) == 0 {
		return storage.ErrUnavailable
	}
	return nil
}

// check compares the store with the results that the users received.
func (p plan) check(t *rapid.T, store *sqlite.Store, told map[storage.StateKey]*last) {
	want := map[storage.Subject]storage.Counts{}
	for key, l := range told {
		s := statesOf(t, store, key.User, key.Subject)
		var got last
		if s.Liked != nil {
			got.reaction = s.Liked.Reaction
		}
		if s.Collected != nil {
			got.folder = s.Collected.FolderID
		}
		got.follows = s.Followed != nil
		if s.Read != nil {
			got.reads = s.Read.Times
		}
		if got != *l {
			t.Errorf("%+v: got %+v in the store, want %+v, as acknowledged", key, got, *l)
		}
		c := want[key.Subject]
		c.ReadCount += l.reads
		if l.reads > 0 {
			c.ReaderCount++
		}
		switch l.reaction {
		case storage.Like:
			c.LikeCount++
		case storage.Dislike:
			c.DislikeCount++
		case storage.NoReaction:
		}
		if l.folder != "" {
			c.CollectCount++
		}
		if l.follows {
			c.FollowerCount++
		}
		want[key.Subject] = c
	}
	for subject, counts := range want {
		got := countsOf(t, store, subject)
		got.Version = 0
		if got != counts {
			t.Errorf("the counts of %s are %+v, want %+v", subject.BizID, got, counts)
		}
	}
	verify(t, store)
}
