package redis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"ovation/storage"
	"ovation/storage/redis/internal/behind"
	"ovation/storage/redis/internal/counts"
	"ovation/storage/redis/internal/epochs"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/window"
	"ovation/storage/redis/internal/windows"
	"ovation/storage/sqlite"
)

const (
	interleavedUsers = 3
	interleavedNodes = 2
	interleavedSteps = 4000 // of one run
	idleSteps        = 200  // after which a window may be evicted
)

var errCrash = errors.New("the worker dies")

// word is the latest of one user on the subject, and how often that one has
// read it.
type word struct {
	reaction  storage.Reaction
	collected bool
	reads     int64
}

// interleaving is one run: users act through nodes on one subject, a worker
// persists, and every call of Redis or of the database is a step of its own.
// Steps are taken in random order; nodes hear late of what has changed; keys
// are evicted; the worker dies before and after its commit.
type interleaving struct {
	random   *rand.Rand
	crash    bool
	naive    bool // marks after the commit
	direct   bool // some actions are persisted without the queue
	careless bool // and without making Redis forget
	hasty    bool // barriers are passed without going through the queue
	trusting bool // what is redelivered is persisted without making Redis forget
	lossy    bool // Redis loses everything now and then: what is LIVE must be right, and the end

	plain    rueidis.Client
	database *sqlite.Store
	caches   *localCaches
	stores   [interleavedUsers][interleavedNodes]*Store
	worker   *Store
	edits    *sql.DB // another connection of the database
	base     *Store  // polls for all of them
	writing  bool    // a transaction is under way
	barrier  int64   // that was queued last
	subject  storage.Subject
	users    [interleavedUsers]storage.User

	now     int  // step
	over    bool // the worker ends when it has nothing in hand
	clock   int64
	queue   []storage.Message
	ids     int
	again   int // messages of the queue that are redelivered
	acked   [interleavedUsers]word
	silent  [interleavedUsers]int64 // reads that are persisted and were not acknowledged
	learnt  map[string]bool         // messages that are persisted
	touched [interleavedUsers]int
	rows    [interleavedUsers]word
	include map[int64][interleavedUsers]word // what counts of a version include
	replied [interleavedNodes]int64          // the latest version of the counts that each node has shown
	found   []string
}

func newInterleaving(base *Store, plain rueidis.Client, db *sqlite.Store, run string, random *rand.Rand) *interleaving {
	in := &interleaving{
		random: random, plain: plain, base: base, database: db, caches: newLocalCaches(interleavedNodes), clock: 1,
		subject: storage.Subject{Tenant: run, Biz: "video", BizID: "1"},
		include: map[int64][interleavedUsers]word{0: {}}, learnt: make(map[string]bool),
	}
	under := steppedDatabase{db, chance(random, 0.3)}
	opts := base.opts
	opts.Database = under
	most := 1 // others may come between any two windows
	if chance(random, 0.3) {
		most = base.scripts.Most
	}
	store := func(node int) *Store {
		s := &Store{Store: under, opts: opts, redis: base.redis, database: base.database, reads: base.reads, lists: base.lists}
		s.source = behind.Source{DB: under, Do: base.reads.Do}
		s.client = steppedClient{base.client, in.caches, node}
		s.scripts = &scripts.Runner{Client: s.client, Most: most, Malformed: base.scripts.Malformed, Log: quiet, Do: s.redis.Call, Down: s.redis.Err}
		s.unshown = newUnshown()
		s.counts = &counts.Reader{Redis: s.scripts, Database: s.source, Cache: in.caches.near[node], Life: opts.Life}
		s.windows = &windows.Reader{
			Redis: s.scripts, Database: s.source, Limit: opts.Window, Life: opts.Life, ShownLife: opts.ShownLife, Guard: opts.Guard,
		}
		s.epochs = &epochs.Keeper{Options: base.epochs.Options}
		s.epochs.Adopt(base.epochs.Current())
		return s
	}
	for u := range in.users {
		in.users[u] = storage.User{Tenant: run, UserID: strconv.Itoa(u)}
		for node := range interleavedNodes {
			in.stores[u][node] = store(node)
		}
	}
	in.worker = store(0)
	in.worker.counts.Cache = counts.NewCache() // it is a process of its own
	return in
}

func (in *interleaving) reportf(format string, args ...any) {
	in.found = append(in.found, fmt.Sprintf("step %d: ", in.now)+fmt.Sprintf(format, args...))
}

func (in *interleaving) key(u int) storage.StateKey {
	return storage.StateKey{User: in.users[u], Subject: in.subject}
}

func wordOf(liked *storage.Liked, collected *storage.Collected) (w word) {
	if liked != nil {
		w.reaction = liked.Reaction
	}
	w.collected = collected != nil
	return w
}

// read is what a recorder does with a read.
func (in *interleaving) read(ctx context.Context, u int, s *Store) {
	times := 1 + in.random.Int64N(2)
	a := read(in.users[u], in.subject, times)
	step(ctx)
	if in.direct && chance(in.random, 0.2) {
		switch persisted, acked := in.persistDirectly(ctx, a, s); {
		case acked:
			in.acked[u].reads += times
		case persisted:
			in.silent[u] += times
		}
		return
	}
	in.enqueue(ctx, a, s)
	in.acked[u].reads += times
}

// enqueue has the queue confirm an action, and shows it.
func (in *interleaving) enqueue(ctx context.Context, a storage.Action, s *Store) {
	in.ids++
	in.queue = append(in.queue, storage.Message{ID: in.subject.Tenant + "-" + strconv.Itoa(in.ids), Actions: []storage.Action{a}})
	step(ctx)
	if err := s.Show(ctx, []storage.Action{a}, storage.Queued); err != nil {
		in.reportf("show: %v", err)
	}
	step(ctx)
}

// mutate is what a recorder does with the other actions.
func (in *interleaving) mutate(ctx context.Context, u int, s *Store) {
	a := storage.Action{User: in.users[u], Subject: in.subject, Kind: storage.KindReaction}
	want := in.acked[u]
	if chance(in.random, 0.7) {
		a.Reaction = storage.Reaction(in.random.IntN(3))
		if a.Reaction == storage.NoReaction && chance(in.random, 0.7) {
			a.If = storage.Reaction(1 + in.random.IntN(2))
		}
		if a.If == storage.NoReaction || a.If == want.reaction {
			want.reaction = a.Reaction
		}
	} else {
		a.Kind = storage.KindCollection
		if want.collected = chance(in.random, 0.5); want.collected {
			a.FolderID = storage.DefaultFolderID
		}
	}
	states, known, err := s.Look(ctx, []storage.StateKey{in.key(u)}, storage.KindsOf(a.Kind))
	if err != nil {
		in.reportf("look: %v", err)
		return
	}
	before, is := states[0], wordOf(states[0].Liked, states[0].Collected)
	changes := is.reaction != a.Reaction && (a.If == storage.NoReaction || a.If == is.reaction)
	version := before.Reaction.Version()
	if a.Kind == storage.KindCollection {
		changes, version = is.collected != want.collected, before.CollectionVersion
	}
	if known == "" || changes {
		in.clock += in.random.Int64N(3)
		if in.lossy { // what is queued is not known then: clocks alone tell what is later
			in.clock++
		}
		a.Version = max(in.clock, version+1)
		step(ctx)
		if in.direct && chance(in.random, 0.2) {
			if persisted, _ := in.persistDirectly(ctx, a, s); persisted {
				in.acked[u] = want
			}
			return
		}
		in.enqueue(ctx, a, s)
	}
	in.acked[u] = want
}

// persistDirectly is what a recorder does without the queue. It dies before the
// commit, before it has told of it, or never. It reports whether the action is
// persisted, and whether it got so far that it may be acknowledged. What a dead worker has marked is taken back first: that is a known
// limit.
func (in *interleaving) persistDirectly(ctx context.Context, a storage.Action, s *Store) (persisted, acked bool) {
	for in.writing || in.again > 0 {
		step(ctx)
	}
	dies := func() bool { return in.crash && chance(in.random, 0.1) }
	in.ids++
	in.writing = true
	batch := []storage.Message{{ID: in.subject.Tenant + "-" + strconv.Itoa(in.ids), Actions: []storage.Action{a}}}
	outcome, err := in.database.Persist(ctx, batch,
		func(ctx context.Context, outcome storage.Outcome) error {
			if !in.careless {
				if err := s.forgetFirst(nil)(ctx, outcome); err != nil {
					return err
				}
			}
			step(ctx)
			if dies() {
				return errCrash
			}
			return nil
		})
	in.writing = false
	if err != nil {
		if !errors.Is(err, errCrash) {
			in.reportf("persist directly: %v", err)
		}
		return false, false
	}
	in.learn(batch, outcome)
	step(ctx)
	if dies() {
		return true, false
	}
	if err := s.Publish(ctx, outcome); err != nil {
		in.reportf("publish: %v", err)
	}
	step(ctx)
	if err := s.Show(ctx, []storage.Action{a}, storage.Persisted); err != nil {
		in.reportf("show: %v", err)
	}
	return true, true
}

// learn notes what a transaction did.
func (in *interleaving) learn(batch []storage.Message, outcome storage.Outcome) {
	for _, c := range outcome.Applied {
		u, _ := strconv.Atoi(c.User.UserID)
		if c.Kind == storage.KindReaction {
			in.rows[u].reaction = c.Reaction
		} else {
			in.rows[u].collected = c.FolderID != ""
		}
	}
	for _, m := range batch {
		for _, a := range m.Actions {
			u, _ := strconv.Atoi(a.User.UserID)
			if a.Kind == storage.KindRead && !in.learnt[m.ID] {
				in.rows[u].reads += a.Times
			}
		}
		in.learnt[m.ID] = true
	}
	for _, c := range outcome.Counts {
		in.include[c.Version] = in.rows
	}
}

// query is what a viewer sees.
func (in *interleaving) query(ctx context.Context, u int, s *Store) {
	want, persisted, kinds := in.acked[u], in.rows[u].reads, window.KindSet
	if chance(in.random, 0.3) {
		kinds = storage.AllKinds
	}
	replied := &in.replied[slices.Index(in.stores[u][:], s)]
	before := *replied
	got, err := s.Interactives(ctx, in.users[u], []storage.Subject{in.subject}, kinds)
	if err != nil || got[0].Freshness != storage.Live && !in.lossy {
		in.reportf("query: %v, %+v", err, got)
	}
	if err != nil || got[0].Freshness != storage.Live {
		return
	}
	if got[0].Version < before {
		in.reportf("user %d sees counts of version %d after those of version %d", u, got[0].Version, before)
	}
	*replied = max(*replied, got[0].Version)
	is := wordOf(got[0].Liked, got[0].Collected)
	is.reads = want.reads
	if is != want {
		in.reportf("user %d sees %+v, was acknowledged %+v", u, is, want)
	}
	words, ok := in.include[got[0].Version]
	if !ok {
		in.reportf("counts have version %d, which never was", got[0].Version)
		return
	}
	words[u].reaction, words[u].collected = want.reaction, want.collected
	counts := countWords(words)
	if counts != withoutVersion(got[0].Counts) {
		in.reportf("user %d sees the counts %+v of version %d, want %+v", u, got[0].Counts, got[0].Version, counts)
	}
	times := int64(0)
	if got[0].Read != nil {
		times = got[0].Read.Times
	}
	if kinds == storage.AllKinds && (times < persisted || times > in.rows[u].reads) {
		in.reportf("user %d has read %d times, of which %d were persisted before", u, times, persisted)
	}
}

func countWords(words [interleavedUsers]word) (c storage.Counts) {
	for _, w := range words {
		switch w.reaction {
		case storage.Like:
			c.LikeCount++
		case storage.Dislike:
			c.DislikeCount++
		case storage.NoReaction:
		}
		if w.collected {
			c.CollectCount++
		}
		c.ReadCount += w.reads
	}
	return c
}

func withoutVersion(c storage.Counts) storage.Counts {
	c.Version = 0
	return c
}
