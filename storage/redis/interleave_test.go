package redis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"ovation/storage"
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
	silently bool // and reads without telling which counts include them
	trusting bool // what is redelivered is persisted without making Redis forget
	lossy    bool // Redis loses everything now and then: only the end must be right

	plain    rueidis.Client
	database *sqlite.Store
	caches   *localCaches
	stores   [interleavedUsers][interleavedNodes]*Store
	worker   *Store
	edits    *sql.DB // another connection of the database
	base     *Store  // polls for all of them
	writing  bool    // a transaction is under way
	subject  storage.Subject
	users    [interleavedUsers]storage.User

	now     int  // step
	over    bool // the worker ends when it has nothing in hand
	clock   int64
	queue   []storage.Message
	ids     int
	again   int // messages of the queue that are redelivered
	acked   [interleavedUsers]word
	silent  [interleavedUsers]int64 // reads that are persisted and that nobody was told of
	readAt  int64                   // version of the last read
	touched [interleavedUsers]int
	rows    [interleavedUsers]word
	include map[int64][interleavedUsers]word // what counts of a version include
	found   []string
	unknown int // replies that say that they do not know
}

func newInterleaving(base *Store, plain rueidis.Client, db *sqlite.Store, run string, random *rand.Rand) *interleaving {
	in := &interleaving{
		random: random, plain: plain, base: base, database: db, caches: newLocalCaches(interleavedNodes), clock: 1,
		subject: storage.Subject{Tenant: run, Biz: "video", BizID: "1"},
		include: map[int64][interleavedUsers]word{0: {}},
	}
	behind := steppedDatabase{db, chance(random, 0.3)}
	opts := base.opts
	opts.Database = behind
	store := func(node int) *Store {
		s := &Store{Store: behind, opts: opts, redis: base.redis, database: base.database}
		s.client = steppedClient{base.client, in.caches, node}
		s.unshown = newUnshown()
		s.epoch.Store(base.epoch.Load())
		return s
	}
	for u := range in.users {
		in.users[u] = storage.User{Tenant: run, UserID: strconv.Itoa(u)}
		for node := range interleavedNodes {
			in.stores[u][node] = store(node)
		}
	}
	in.worker = store(0)
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
	in.readAt = max(in.readAt+1, storage.Micros(time.Now()))
	times := 1 + in.random.Int64N(2)
	a := storage.Action{
		User: in.users[u], Subject: in.subject, Kind: storage.KindRead, Times: times, First: in.readAt, Version: in.readAt,
	}
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
		want.reaction = a.Reaction
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
	changes := is.reaction != want.reaction
	version := before.ReactionVersion
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
	outcome, err := in.database.Persist(ctx, []storage.Message{{ID: in.subject.Tenant + "-" + strconv.Itoa(in.ids), Actions: []storage.Action{a}}},
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
	in.learn(outcome)
	step(ctx)
	if dies() {
		return true, false
	}
	if !in.silently {
		if err := s.tellReads(ctx, &outcome); err != nil {
			in.reportf("tell of reads: %v", err)
		}
	}
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
func (in *interleaving) learn(outcome storage.Outcome) {
	for _, c := range outcome.Applied {
		u, _ := strconv.Atoi(c.User.UserID)
		if c.Kind == storage.KindReaction {
			in.rows[u].reaction = c.Reaction
		} else {
			in.rows[u].collected = c.FolderID != ""
		}
	}
	for _, a := range outcome.Reads {
		u, _ := strconv.Atoi(a.User.UserID)
		in.rows[u].reads += a.Times
	}
	for _, c := range outcome.Counts {
		in.include[c.Version] = in.rows
	}
}

// query is what a viewer sees.
func (in *interleaving) query(ctx context.Context, u int, s *Store) {
	want, kinds := in.acked[u], windowStates
	if chance(in.random, 0.3) {
		kinds = storage.AllKinds
	}
	got, err := s.Interactives(ctx, in.users[u], []storage.Subject{in.subject}, kinds)
	unknown := err == nil && got[0].Freshness == storage.Stale // of a read that was marked, and others overtook
	if err != nil || got[0].Freshness != storage.Live && !in.lossy && (!unknown || !in.crash) {
		in.reportf("query: %v, %+v", err, got)
	}
	if err != nil || in.lossy {
		return
	}
	if unknown {
		in.unknown++
		return
	}
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
	words[u] = want
	counts := countWords(words)
	if more := got[0].ReadCount - counts.ReadCount; more >= 0 && more <= in.silent[u] {
		counts.ReadCount += more
	}
	if counts != withoutVersion(got[0].Counts) {
		in.reportf("user %d sees the counts %+v of version %d, want %+v", u, got[0].Counts, got[0].Version, counts)
	}
	times := int64(0)
	if got[0].Read != nil {
		times = got[0].Read.Times
	}
	if kinds == storage.AllKinds && (times < want.reads || times > want.reads+in.silent[u]) {
		in.reportf("user %d has read %d times, was acknowledged %d", u, times, want.reads)
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

// work is a worker, and every worker that takes its place.
func (in *interleaving) work(ctx context.Context) {
	for !in.over {
		step(ctx)
		if len(in.queue) > 0 {
			in.workOnce(ctx, in.queue[:min(len(in.queue), 1+in.random.IntN(4))])
		}
	}
}

func (in *interleaving) workOnce(ctx context.Context, batch []storage.Message) {
	step(ctx)
	if in.again > 0 && !in.trusting {
		var redelivered []storage.Action
		for _, m := range in.queue[:in.again] {
			redelivered = append(redelivered, m.Actions...)
		}
		if err := in.worker.Forget(ctx, redelivered); err != nil {
			in.reportf("forget: %v", err)
		}
	}
	in.again = 0
	dies := func() bool { return in.crash && chance(in.random, 0.03) }
	for in.writing {
		step(ctx)
	}
	in.writing = true
	outcome, err := in.database.Persist(ctx, batch, func(ctx context.Context, outcome storage.Outcome) error {
		if !in.naive {
			if err := in.worker.Mark(ctx, outcome); err != nil {
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
		if errors.Is(err, storage.ErrUnavailable) { // an epoch has just ended
			in.again = len(batch)
			return
		}
		if !errors.Is(err, errCrash) {
			in.reportf("persist: %v", err)
		}
		in.again = len(batch)
		return
	}
	in.learn(outcome)
	step(ctx)
	if dies() {
		in.again = len(batch)
		return
	}
	if in.naive {
		if err := in.worker.Mark(ctx, outcome); err != nil {
			in.reportf("mark: %v", err)
		}
	}
	if err := in.worker.Publish(ctx, outcome); err != nil {
		in.reportf("publish: %v", err)
	}
	step(ctx)
	if dies() {
		in.again = len(batch)
		return
	}
	in.queue = in.queue[len(batch):]
}

// evict drops the counts, or a window that nobody has touched for a while. What
// is shown is kept alive.
func (in *interleaving) evict() {
	ctx := context.Background()
	if chance(in.random, 0.5) {
		key := in.worker.countsKey(in.subject)
		in.plain.Do(ctx, in.plain.B().Del().Key(key).Build())
		in.caches.invalidate(key)
		return
	}
	u := in.random.IntN(interleavedUsers)
	if in.now-in.touched[u] <= idleSteps {
		return
	}
	key := in.worker.windowKey(storage.WindowKey{User: in.users[u], Biz: in.subject.Biz})
	fields, _ := in.plain.Do(ctx, in.plain.B().Hmget().Key(key).Field("~n", "~p", "~w").Build()).ToArray()
	shown, _ := fields[0].AsInt64()
	pending, _ := fields[1].AsInt64()
	if shown+pending == 0 && (fields[2].IsNil() || in.published()) {
		in.plain.Do(ctx, in.plain.B().Del().Key(key).Build())
	}
}

// published reports whether everybody has the latest counts. What reads they
// include is remembered for longer than it takes to publish them.
func (in *interleaving) published() bool {
	key := in.worker.countsKey(in.subject)
	for node := range interleavedNodes {
		if in.caches.stale[node][key] {
			return false
		}
	}
	return len(in.queue) == 0 && !in.writing
}

// lose empties Redis, and every node hears of it.
func (in *interleaving) lose() {
	in.plain.Do(context.Background(), in.plain.B().Flushall().Build())
	for node := range interleavedNodes {
		clear(in.caches.of[node])
		clear(in.caches.stale[node])
	}
	in.poll()
}

// poll has every store learn of the present epoch, and sure of it.
func (in *interleaving) poll() {
	if err := in.base.poll(context.Background()); err != nil {
		in.reportf("poll: %v", err)
	}

	now := in.base.epoch.Load()
	if now.number != in.worker.epoch.Load().number { // the grace passes
		if _, err := in.edits.ExecContext(context.Background(), `UPDATE mirror SET free_at = 0`); err != nil {
			in.reportf("poll: %v", err)
		}
	}
	for _, nodes := range in.stores {
		for _, s := range nodes {
			s.epoch.Store(now)
		}
	}
	in.worker.epoch.Store(now)
}

// run takes the steps, and returns what went wrong.
func (in *interleaving) run(evict bool) []string {
	worker := newActor(in.work)
	var busy [interleavedUsers]*actor
	for in.now = range interleavedSteps {
		if in.now%100 == 0 {
			in.poll()
		}
		switch x := in.random.Float64(); {
		case x < 0.25:
			worker.next()
		case x < 0.35:
			in.caches.hear(in.random.IntN(interleavedNodes))
		case x < 0.36 && evict:
			in.evict()
		case x < 0.362 && in.lossy:
			if !in.writing { // the next epoch would wait for it
				in.lose()
			}
		default:
			u := in.random.IntN(interleavedUsers)
			if busy[u] == nil {
				s := in.stores[u][in.random.IntN(interleavedNodes)]
				do := in.query
				switch x := in.random.Float64(); {
				case x < 0.35:
					do = in.mutate
				case x < 0.5:
					do = in.read
				}
				busy[u] = newActor(func(ctx context.Context) { do(ctx, u, s) })
			}
			in.touched[u] = in.now
			if _, more := busy[u].next(); !more {
				busy[u] = nil
			}
		}
	}
	for left := true; left; {
		left = false
		worker.next()
		for u, a := range busy {
			if a == nil {
				continue
			}
			if _, more := a.next(); !more {
				busy[u] = nil
			}
			left = true
		}
	}
	for len(in.queue) > 0 {
		worker.next()
	}
	in.over = true
	for more := true; more; {
		_, more = worker.next()
	}
	in.atRest()
	return in.found
}

// atRest compares database, Redis and what was acknowledged.
func (in *interleaving) atRest() {
	ctx := context.Background()
	in.poll()
	in.worker.opts.Doubt = 0
	for u, silent := range in.silent {
		in.acked[u].reads += silent
	}
	counts := countWords(in.acked)
	there, err := in.database.Interactives(ctx, storage.User{Tenant: in.subject.Tenant}, []storage.Subject{in.subject}, 0)
	if err != nil || withoutVersion(there[0].Counts) != counts {
		in.reportf("at rest, the database counts %+v (%v), want %+v", there, err, counts)
		return
	}
	var copied []counted
	differs := func() bool {
		copied, _, err = in.worker.readCounts(ctx, in.worker.epoch.Load(), []storage.Subject{in.subject}, false)
		return err != nil || copied[0].known && copied[0].Counts != there[0].Counts
	}
	// What a writer that died has not published ends with the guard.
	for over := time.Now().Add(in.worker.opts.Guard + settleTime); differs() && time.Now().Before(over); {
		runtime.Gosched()
	}
	if differs() {
		in.reportf("at rest, Redis counts %+v (%v), the database %+v", copied, err, there[0].Counts)
	}
	in.worker.opts.Guard = -time.Second // as if it had passed
	for u, want := range in.acked {
		in.readsAtRest(u, want, there[0].Version)
		want.reads = 0
		states, err := in.database.States(ctx, []storage.StateKey{in.key(u)}, windowStates)
		if err != nil || wordOf(states[0].Liked, states[0].Collected) != want {
			in.reportf("at rest, user %d is %+v in the database (%v), want %+v", u, states, err, want)
		}
		inDatabase := states[0]
		states, where, err := in.worker.Look(ctx, []storage.StateKey{in.key(u)}, windowStates)
		if err != nil || wordOf(states[0].Liked, states[0].Collected) != want || where != storage.Persisted {
			raw := in.plain.Do(ctx, in.plain.B().Hgetall().Key(in.worker.windowKey(storage.WindowKey{User: in.users[u], Biz: in.subject.Biz})).Build())
			window, _ := raw.AsStrMap()
			in.reportf("at rest, user %d is %s in Redis (%v): %v; in the database %+v, want %+v", u, where, err, window, inDatabase, want)
		}
	}
}

// readsAtRest compares what the database, Redis and the user know of reads.
func (in *interleaving) readsAtRest(u int, want word, version int64) {
	ctx, keys := context.Background(), []storage.StateKey{in.key(u)}
	reads, err := in.worker.words(ctx, in.worker.epoch.Load(), keys)
	if lack, known := reads.lacks(keys[0], version, false, nil); err != nil || len(lack) > 0 || !known {
		in.reportf("at rest, Redis says of user %d's reads %+v (%v)", u, reads, err)
	}
	states, err := in.database.States(ctx, keys, storage.KindsOf(storage.KindRead))
	times := int64(0)
	if err == nil && states[0].Read != nil {
		times = states[0].Read.Times
	}
	if err != nil || times != want.reads {
		in.reportf("at rest, user %d has read %d times in the database (%v), want %d", u, times, err, want.reads)
	}
}

// interleave makes runs until there are so many steps, or something is found.
// The seed makes the same choices again; Redis's clock is its own.
func interleave(t *testing.T, steps int, rules func(*interleaving)) (taken int, found []string) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if given := os.Getenv("OVATION_SEED"); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	server := startServer(t)
	db := openDatabase(t)
	plain := server.client()
	base := open(t, Options{
		URL: server.url(), Database: db, Prefix: "steps",
		RedisTimeout: time.Minute, DatabaseTimeout: time.Minute, Guard: 500 * time.Millisecond,
	})
	base.halt()
	edits, err := sql.Open("sqlite", databasePath(t, db))
	must(t, err)
	defer edits.Close()
	unknown := 0
	for run := uint64(0); taken < steps && len(found) == 0; run++ {
		random := rand.New(rand.NewPCG(seed, run))
		in := newInterleaving(base, plain, db, fmt.Sprintf("run%d", run), random)
		in.edits = edits
		in.crash, in.direct = run%2 == 1, run%3 == 2
		rules(in)
		found = in.run(run%4 >= 2)
		taken += interleavedSteps
		if unknown += in.unknown; unknown > 3+taken/100_000 {
			found = append(found, fmt.Sprintf("%d replies say that they do not know", unknown))
		}
		if len(found) > 0 {
			found = append(found, fmt.Sprintf("run %d; again with OVATION_SEED=%d", run, seed))
		}
	}
	t.Logf("%d steps, seed %d", taken, seed)
	return taken, found
}

// The protocol of own writes, in the shape of its model: every reply shows the
// viewer's own acknowledged action, and counts that include it once.
func TestInterleavings(t *testing.T) {
	_, found := interleave(t, stepsWanted(100_000), func(*interleaving) {})
	for _, f := range found {
		t.Error(f)
	}
}

// Redis loses everything now and then, also what is queued. Nothing that was
// acknowledged is lost for it, and in the end Redis holds what the database
// does.
func TestInterleavingsWithLosses(t *testing.T) {
	_, found := interleave(t, stepsWanted(40_000), func(in *interleaving) { in.lossy = true })
	for _, f := range found {
		t.Error(f)
	}
}

// stepsWanted is how many steps a test takes.
func stepsWanted(usual int) int {
	if given, err := strconv.Atoi(os.Getenv("OVATION_STEPS")); err == nil {
		return given
	}
	if testing.Short() {
		return usual / 5
	}
	return usual
}

// The test above would notice: marks that come after the commit are found out.
func TestMarksAfterTheCommitAreCaught(t *testing.T) {
	taken, found := interleave(t, 400_000, func(in *interleaving) { in.naive = true })
	if len(found) == 0 {
		t.Errorf("nothing was found in %d steps", taken)
	} else {
		t.Logf("after %d steps: %s", taken, found[0])
	}
}

// Nor does it pass unseen who persists directly and makes nobody forget.
func TestDirectWritersWhoForgetNothingAreCaught(t *testing.T) {
	taken, found := interleave(t, 400_000, func(in *interleaving) { in.direct, in.careless = true, true })
	if len(found) == 0 {
		t.Errorf("nothing was found in %d steps", taken)
	} else {
		t.Logf("after %d steps: %s", taken, found[0])
	}
}

// Nor who tells nobody which counts include what is read.
func TestDirectWritersWhoTellNothingAreCaught(t *testing.T) {
	taken, found := interleave(t, 400_000, func(in *interleaving) { in.direct, in.silently = true, true })
	if len(found) == 0 {
		t.Errorf("nothing was found in %d steps", taken)
	} else {
		t.Logf("after %d steps: %s", taken, found[0])
	}
}

// Nor a worker that believes the marks of the one that died.
func TestWorkersWhoForgetNothingAreCaught(t *testing.T) {
	taken, found := interleave(t, 2_000_000, func(in *interleaving) { in.crash, in.trusting = true, true })
	if len(found) == 0 {
		t.Errorf("nothing was found in %d steps", taken)
	} else {
		t.Logf("after %d steps: %s", taken, found[0])
	}
}
