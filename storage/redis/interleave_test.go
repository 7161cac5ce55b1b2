package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
	"ovation/storage/redis/internal/counts"
	"ovation/storage/redis/internal/database"
	"ovation/storage/redis/internal/epochs"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/redis/internal/window"
	"ovation/storage/redis/internal/windows"
)

const (
	interleavedUsers = 3
	interleavedNodes = 2
	interleavedSteps = 4000 // of one run
	idleSteps        = 200  // number of steps without an action after which a window may be evicted
)

var errCrash = errors.New("the worker dies")

// userState holds the latest states of one user on the subject, and how often the user
// has read the subject.
type userState struct {
	reaction  storage.Reaction
	collected bool
	followed  bool
	reads     int64
}

// interleaving is one run: users act on one subject through nodes, a worker persists the
// users' actions, and every call to Redis or the database is a separate step. Steps are
// taken in random order. Nodes learn of changes late, keys are evicted, and the worker
// dies before or after a commit.
type interleaving struct {
	random                    *rand.Rand
	crash                     bool
	markAfterCommit           bool // workers mark after the commit
	direct                    bool // some actions are persisted without the queue
	skipDirectInvalidate      bool // direct writers do not invalidate entries in Redis
	bypassBarrierQueue        bool // barriers are passed without going through the queue
	skipRedeliveredInvalidate bool // redelivered messages are persisted without invalidating entries in Redis
	countsLast                bool // Apply reads counts after the states
	lossy                     bool // Redis loses everything from time to time: LIVE replies and the final state must be right

	rawClient rueidis.Client
	database  *sqlitetest.Database
	caches    *localCaches
	stores    [interleavedUsers][interleavedNodes]*Store
	worker    *Store
	edit      func(statement string) // changes the database, bypassing the stores
	base      *Store                 // polls for all stores
	writing   bool                   // a transaction is in progress
	barrier   int64                  // number of the barrier queued last
	subject   storage.Subject
	users     [interleavedUsers]storage.User

	now                int  // number of the current step
	stopWorker         bool // the worker ends after its current batch
	clock              int64
	queue              []storage.Message
	ids                int
	redelivered        int // number of messages at the front of the queue that are redelivered
	repliesWithSubject int // number of mutations for which Apply has returned the subject
	acked              [interleavedUsers]userState
	unackedReads       [interleavedUsers]int64 // reads that are persisted but were not acknowledged
	persistedIDs       map[string]bool         // messages that are persisted
	lastActive         [interleavedUsers]int
	rows               [interleavedUsers]userState
	statesByVersion    map[int64][interleavedUsers]userState // the states that counts of a version include
	replied            [interleavedNodes]int64               // the latest version of the counts that each node has shown
	violations         []string
}

func newInterleaving(base *Store, plain rueidis.Client, db *sqlitetest.Database, run string, random *rand.Rand) *interleaving {
	in := &interleaving{
		random: random, rawClient: plain, base: base, database: db, caches: newLocalCaches(interleavedNodes), clock: 1,
		subject:         storage.Subject{Tenant: run, Biz: "video", BizID: "1"},
		statesByVersion: map[int64][interleavedUsers]userState{0: {}}, persistedIDs: make(map[string]bool),
	}
	under := steppedDatabase{db, chance(random, 0.3)}
	opts := base.opts
	opts.Database = under
	most := 1 // other steps may come between any two windows
	if chance(random, 0.3) {
		most = base.scripts.MaxBatch
	}
	store := func(node int) *Store {
		s := &Store{opts: opts, redis: base.redis, database: base.database, reads: base.reads, lists: base.lists}
		s.Store = database.NewStore(under, base.database, base.reads, base.lists)
		s.source = database.Source{DB: under, Do: base.reads.Do}
		s.client = steppedClient{base.client, in.caches, node, &in.countsLast}
		s.scripts = &scripts.Runner{Client: s.client, MaxBatch: most, Ordered: true, Malformed: base.scripts.Malformed, Log: quiet, Do: s.redis.Call, Down: s.redis.Err}
		s.counts = &counts.Reader{Redis: s.scripts, Database: s.source, Cache: in.caches.l1[node], TTL: opts.TTL}
		s.windows = &windows.Reader{
			Redis: s.scripts, Database: s.source, Limit: opts.Window, TTL: opts.TTL, QueuedTTL: opts.QueuedTTL, Guard: opts.Guard,
		}
		s.epochs = &epochs.Keeper{Options: base.epochs.Options}
		s.epochs.Adopt(base.epochs.Current())
		s.assemble()
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
	in.violations = append(in.violations, fmt.Sprintf("step %d: ", in.now)+fmt.Sprintf(format, args...))
}

func (in *interleaving) key(u int) storage.StateKey {
	return storage.StateKey{User: in.users[u], Subject: in.subject}
}

func userStateOf(liked *storage.Liked, collected *storage.Collected, followed *storage.Followed) (w userState) {
	if liked != nil {
		w.reaction = liked.Reaction
	}
	w.collected, w.followed = collected != nil, followed != nil
	return w
}

// read does what a recorder does with a read.
func (in *interleaving) read(ctx context.Context, u int, s *Store) {
	times := 1 + in.random.Int64N(2)
	a := read(in.users[u], in.subject, times)
	step(ctx)
	if in.direct && chance(in.random, 0.2) {
		switch persisted, acked := in.persistDirectly(ctx, a, s); {
		case acked:
			in.acked[u].reads += times
		case persisted:
			in.unackedReads[u] += times
		}
		return
	}
	in.enqueue(ctx, a, s)
	in.acked[u].reads += times
}

// enqueue adds an action to the queue and applies it. It returns the subject if Apply
// returns the subject.
func (in *interleaving) enqueue(ctx context.Context, a storage.Action, s *Store) (seen storage.Interactive) {
	in.ids++
	in.queue = append(in.queue, storage.Message{ID: in.subject.Tenant + "-" + strconv.Itoa(in.ids), Actions: []storage.Action{a}})
	step(ctx)
	if err := s.Apply(ctx, []storage.Action{a}, storage.Queued, []*storage.Interactive{&seen}); err != nil && !errors.Is(err, errNoActiveEpoch) {
		in.reportf("apply: %v", err)
	}
	step(ctx)
	return seen
}

// mutate does what a recorder does with any action but a read.
func (in *interleaving) mutate(ctx context.Context, u int, s *Store) {
	a := storage.Action{User: in.users[u], Subject: in.subject, Kind: storage.KindReaction}
	want := in.acked[u]
	switch drawn := in.random.IntN(10); {
	case drawn < 6:
		a.Reaction = storage.Reaction(in.random.IntN(3))
		if a.Reaction == storage.NoReaction && chance(in.random, 0.7) {
			a.If = storage.Reaction(1 + in.random.IntN(2))
		}
		if a.If == storage.NoReaction || a.If == want.reaction {
			want.reaction = a.Reaction
		}
	case drawn < 8:
		a.Kind = storage.KindCollection
		if want.collected = chance(in.random, 0.5); want.collected {
			a.FolderID = storage.DefaultFolderID
		}
	default:
		a.Kind = storage.KindFollow
		want.followed = chance(in.random, 0.5)
		a.Following = want.followed
	}
	states, known, err := s.Get(ctx, []storage.StateKey{in.key(u)}, storage.KindsOf(a.Kind))
	if err != nil {
		in.reportf("get: %v", err)
		return
	}
	stored, is := states[0], userStateOf(states[0].Liked, states[0].Collected, states[0].Followed)
	changes := is.reaction != a.Reaction && (a.If == storage.NoReaction || a.If == is.reaction)
	version := stored.Reaction.Version()
	switch a.Kind {
	case storage.KindCollection:
		changes, version = is.collected != want.collected, stored.CollectionVersion
	case storage.KindFollow:
		changes, version = is.followed != want.followed, stored.FollowVersion
	case storage.KindReaction, storage.KindRead, storage.KindAuthor:
	}
	if known == "" || changes {
		in.clock += in.random.Int64N(3)
		if in.lossy { // in that case it is unknown what is queued, and only clocks determine which action is later
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
		before := *in.repliedBy(u, s)
		if seen := in.enqueue(ctx, a, s); seen.Freshness != "" {
			in.repliesWithSubject++
			in.checkReply(u, s, seen, want, before)
		}
	}
	in.acked[u] = want
}

// persistDirectly commits the action a as a direct writer does. The writer may die before
// its commit, or before it publishes the counts. persistDirectly reports whether the
// action is persisted and whether it may be acknowledged. If a worker has died,
// persistDirectly first waits until the worker's messages have been redelivered: the
// protocol is known not to cover direct writes before that.
func (in *interleaving) persistDirectly(ctx context.Context, a storage.Action, s *Store) (persisted, acked bool) {
	for in.writing || in.redelivered > 0 {
		step(ctx)
	}
	dies := func() bool { return in.crash && chance(in.random, 0.1) }
	in.ids++
	in.writing = true
	batch := []storage.Message{{ID: in.subject.Tenant + "-" + strconv.Itoa(in.ids), Actions: []storage.Action{a}}}
	outcome, err := in.database.Persist(ctx, batch,
		func(ctx context.Context, outcome storage.Outcome) error {
			if !in.skipDirectInvalidate {
				if err := s.invalidateFirst(nil)(ctx, outcome); err != nil {
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
	in.recordCommit(batch, outcome)
	step(ctx)
	if dies() {
		return true, false
	}
	if err := s.Publish(ctx, outcome); err != nil {
		in.reportf("publish: %v", err)
	}
	step(ctx)
	if err := s.Apply(ctx, []storage.Action{a}, storage.Persisted, nil); err != nil {
		in.reportf("apply: %v", err)
	}
	return true, true
}

// recordCommit records the states and reads that a transaction has persisted.
func (in *interleaving) recordCommit(batch []storage.Message, outcome storage.Outcome) {
	for _, c := range outcome.Applied {
		u, _ := strconv.Atoi(c.User.UserID)
		switch c.Kind {
		case storage.KindReaction:
			in.rows[u].reaction = c.Reaction
		case storage.KindCollection:
			in.rows[u].collected = c.FolderID != ""
		case storage.KindFollow:
			in.rows[u].followed = c.Following
		case storage.KindRead, storage.KindAuthor:
		}
	}
	for _, m := range batch {
		for _, a := range m.Actions {
			u, _ := strconv.Atoi(a.User.UserID)
			if a.Kind == storage.KindRead && !in.persistedIDs[m.ID] {
				in.rows[u].reads += a.Times
			}
		}
		in.persistedIDs[m.ID] = true
	}
	for _, c := range outcome.Counts {
		in.statesByVersion[c.Version] = in.rows
	}
}

// query checks what a viewer sees.
func (in *interleaving) query(ctx context.Context, u int, s *Store) {
	want, persisted, kinds := in.acked[u], in.rows[u].reads, window.KindSet
	if chance(in.random, 0.3) {
		kinds = storage.AllKinds
	}
	before := *in.repliedBy(u, s)
	got, err := s.Interactives(ctx, in.users[u], []storage.Subject{in.subject}, kinds)
	if err != nil || got[0].Freshness != storage.Live && !in.lossy {
		in.reportf("query: got %+v, %v, want %s", got, err, storage.Live)
	}
	if err != nil || got[0].Freshness != storage.Live {
		return
	}
	if !in.checkReply(u, s, got[0], want, before) {
		return
	}
	times := int64(0)
	if got[0].Read != nil {
		times = got[0].Read.Times
	}
	if kinds == storage.AllKinds && (times < persisted || times > in.rows[u].reads) {
		in.reportf("user %d sees %d reads, want %d to %d", u, times, persisted, in.rows[u].reads)
	}
}

// repliedBy returns a pointer to the latest version of the counts that a node has shown.
// The node is given by s, its store for the user u.
func (in *interleaving) repliedBy(u int, s *Store) *int64 {
	return &in.replied[slices.Index(in.stores[u][:], s)]
}

// checkReply compares a reply with the user's acknowledged states (want), and its version
// with the latest version that the node showed earlier (before). It returns false if the
// version of the reply was never committed.
func (in *interleaving) checkReply(u int, s *Store, got storage.Interactive, want userState, before int64) bool {
	if got.Version < before {
		in.reportf("user %d sees counts of version %d after version %d, want no older ones", u, got.Version, before)
	}
	replied := in.repliedBy(u, s)
	*replied = max(*replied, got.Version)
	is := userStateOf(got.Liked, got.Collected, got.Followed)
	is.reads = want.reads
	if is != want {
		in.reportf("user %d sees %+v, want %+v as acknowledged", u, is, want)
	}
	words, ok := in.statesByVersion[got.Version]
	if !ok {
		in.reportf("user %d sees counts of version %d, want a version that was committed", u, got.Version)
		return false
	}
	words[u].reaction, words[u].collected, words[u].followed = want.reaction, want.collected, want.followed
	counts := countStates(words)
	if counts != withoutVersion(got.Counts) {
		in.reportf("user %d sees the counts %+v of version %d, want %+v", u, got.Counts, got.Version, counts)
	}
	return true
}

func countStates(words [interleavedUsers]userState) (c storage.Counts) {
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
		if w.followed {
			c.FollowerCount++
		}
		c.ReadCount += w.reads
		if w.reads > 0 {
			c.ReaderCount++
		}
	}
	return c
}

func withoutVersion(c storage.Counts) storage.Counts {
	c.Version = 0
	return c
}
