package importer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"ovation/internal/testing/seed"
	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
)

var _ = seed.ForRapid()

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openStore(t *testing.T) storage.Store {
	t.Helper()
	store := sqlitetest.Open(t)
	return store
}

// testMapping is that of the files the tests write.
func testMapping() Mapping {
	m := DefaultMapping()
	m.Biz, m.BizColumn, m.TimeUnit = "video", "", "s"
	return m
}

const header = "user,subject,event,time\n"

// importText imports a CSV file of that text.
func importText(t *testing.T, to storage.Persister, o Options, text string) (Result, error) {
	t.Helper()
	return importFile(t, to, o, writeFile(t, "rows.csv", text))
}

func importFile(t *testing.T, to storage.Persister, o Options, path string) (Result, error) {
	t.Helper()
	src, err := Open(t.Context(), path, nil, "")
	if err != nil {
		return Result{}, err
	}
	defer func() { must(t, src.Close()) }()
	return Import(t.Context(), to, src, o)
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func must(t interface {
	Helper()
	Fatal(args ...any)
}, err error,
) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEveryActionArrives(t *testing.T) {
	store := openStore(t)
	rows := header +
		"ann,1,read,1500000000\n" +
		"ann,1,read,1500000060\n" +
		",1,read,1500000001\n" + // anonymous
		"ann,1,like,1500000002\n" +
		"bob,1,dislike,1500000003\n" +
		"cid,1,like,1500000003\n" +
		"cid,1,unlike,1500000004\n" +
		"ann,1,collect,1500000005\n" +
		"bob,1,collect,1500000005\n" +
		"bob,1,uncollect,1500000006\n" +
		"bob,1,stare,1500000007\n"
	got, err := importText(t, store, Options{Mapping: testMapping()}, rows)
	must(t, err)
	want := "[{read 3} {like 2} {dislike 1} {clear 1} {collect 2} {uncollect 1}]"
	if got.Rows != 11 || got.Bad != 0 || fmt.Sprint(got.Imported) != want {
		t.Fatalf("got %+v, want imported %s", got, want)
	}
	if want := (Skipped{"stare", "not mapped to an action", 1}); len(got.Skipped) != 1 || got.Skipped[0] != want {
		t.Fatalf("skipped %v, want %v", got.Skipped, want)
	}

	ann := storage.User{Tenant: "default", UserID: "ann"}
	subject := storage.Subject{Tenant: "default", Biz: "video", BizID: "1"}
	seen, err := store.Interactives(t.Context(), ann, []storage.Subject{subject}, storage.AllKinds)
	must(t, err)
	c := seen[0].Counts
	if c.ReadCount != 3 || c.LikeCount != 1 || c.DislikeCount != 1 || c.CollectCount != 1 {
		t.Errorf("counts are %+v", c)
	}
	if read := seen[0].Read; read == nil || read.Times != 2 || read.FirstAt().Unix() != 1500000000 || read.LastAt().Unix() != 1500000060 {
		t.Errorf("read is %+v", read)
	}
	if in := seen[0].Collected; in == nil || in.FolderID != storage.DefaultFolderID {
		t.Errorf("collected is %+v", in)
	}
}

func TestLaterRowWinsATie(t *testing.T) {
	store := openStore(t)
	rows := header +
		"ann,1,like,1500000000\n" +
		"ann,1,dislike,1500000000\n" +
		"ann,1,unlike,1500000000\n" +
		"ann,1,dislike,1500000000\n" +
		"bob,1,dislike,1500000000\n" +
		"bob,1,like,1499999999\n" // earlier, although further down
	_, err := importText(t, store, Options{Mapping: testMapping()}, rows)
	must(t, err)
	for user, want := range map[string]storage.Reaction{"ann": storage.Dislike, "bob": storage.Dislike} {
		if got := reactionOf(t, store, "default", user, "1"); got != want {
			t.Errorf("%s: got reaction %d, want %d", user, got, want)
		}
	}
}

func reactionOf(t *testing.T, store storage.Reader, tenant, user, id string) storage.Reaction {
	t.Helper()
	states, err := store.States(t.Context(), []storage.StateKey{{
		User:    storage.User{Tenant: tenant, UserID: user},
		Subject: storage.Subject{Tenant: tenant, Biz: "video", BizID: id},
	}}, storage.AllKinds)
	must(t, err)
	if states[0].Liked == nil {
		return storage.NoReaction
	}
	return states[0].Liked.Reaction
}

func TestGrownFileImportsOnlyItsNewRows(t *testing.T) {
	store := openStore(t)
	var rows strings.Builder
	rows.WriteString(header)
	total := int64(0)
	const block = 5000
	for _, size := range []int{0, 1, 700, block - 1, block, block + 1, 2*block + 30} {
		for total < int64(size) {
			fmt.Fprintf(&rows, "ann,%d,read,1500000000\n", total%7)
			total++
		}
		before := total
		result, err := importText(t, store, Options{Mapping: testMapping(), block: block}, rows.String())
		must(t, err)
		var imported int64
		for _, done := range result.Imported {
			imported += done.Rows
		}
		if result.Rows != total || imported+result.Already != total {
			t.Fatalf("of %d rows: %+v", before, result)
		}
		if got := readsOf(t, store, "default"); got != total {
			t.Fatalf("after %d rows there are %d reads", total, got)
		}
	}
}

// readsOf adds the reads of the subjects 0 to 9.
func readsOf(t *testing.T, store storage.Reader, tenant string) int64 {
	t.Helper()
	subjects := make([]storage.Subject, 10)
	for i := range subjects {
		subjects[i] = storage.Subject{Tenant: tenant, Biz: "video", BizID: strconv.Itoa(i)}
	}
	seen, err := store.Interactives(t.Context(), storage.User{Tenant: tenant}, subjects, 0)
	must(t, err)
	var sum int64
	for _, s := range seen {
		sum += s.ReadCount
	}
	return sum
}

func TestStrictStopsAtTheFirstBadRow(t *testing.T) {
	store := openStore(t)
	rows := header + "ann,1,read,1500000000\nann,1,read,soon\nann,1,read,1500000000\n"
	result, err := importText(t, store, Options{Mapping: testMapping(), Strict: true}, rows)
	var bad *RowError
	if !errors.As(err, &bad) || bad.Line != 3 {
		t.Fatalf("got error %v, want one of line 3", err)
	}
	if got := readsOf(t, store, "default"); got != 1 || result.Rows != 2 {
		t.Fatalf("%d reads of %d rows are imported, want the one before", got, result.Rows)
	}
}

func TestTenantsAreImportedApart(t *testing.T) {
	store := openStore(t)
	for _, tenant := range []string{"one", "two"} {
		_, err := importText(t, store, Options{Mapping: testMapping(), Tenant: tenant}, header+"ann,1,read,1500000000\n")
		must(t, err)
	}
	for _, tenant := range []string{"one", "two"} {
		if got := readsOf(t, store, tenant); got != 1 {
			t.Errorf("tenant %s has %d reads, want 1", tenant, got)
		}
	}
}

func TestCancelledImportSaysSo(t *testing.T) {
	store := openStore(t)
	src, err := Open(t.Context(), writeFile(t, "rows.csv", header+"ann,1,read,1500000000\n"), nil, "")
	must(t, err)
	defer src.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Import(ctx, store, src, Options{Mapping: testMapping()}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the context's error", err)
	}
}

// killed is a store whose process dies at one of its transactions: before it
// or, what is worse, between the commit and the answer.
type killed struct {
	storage.Persister
	lives int
	after bool
}

var errKilled = errors.New("killed")

func (k *killed) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	k.lives--
	if k.lives >= 0 {
		return k.Persister.Persist(ctx, messages, mark)
	}
	if k.lives == -1 && k.after {
		if _, err := k.Persister.Persist(ctx, messages, mark); err != nil {
			return storage.Outcome{}, err
		}
	}
	return storage.Outcome{}, errKilled
}

// TestImportsOnceWhateverHappens imports a file that grows, with groups of
// changing sizes and deaths in between, and compares with a map.
func TestImportsOnceWhateverHappens(t *testing.T) {
	store := openStore(t)
	tenants := 0
	rapid.Check(t, func(t *rapid.T) {
		tenants++
		tenant := fmt.Sprintf("t%d", tenants)
		lines := rapid.SliceOfN(lineGenerator(), 1, 60).Draw(t, "lines")
		block := rapid.IntRange(1, 6).Draw(t, "block")
		upTo := 0
		for range rapid.IntRange(0, 5).Draw(t, "tries") {
			k := &killed{
				Persister: store,
				lives:     rapid.IntRange(0, 6).Draw(t, "lives"),
				after:     rapid.Bool().Draw(t, "after"),
			}
			upTo = rapid.IntRange(upTo, len(lines)).Draw(t, "rows")
			block *= rapid.SampledFrom([]int{1, 1, 2, 4}).Draw(t, "times the block of before") // as of a newer release
			group := rapid.IntRange(1, block).Draw(t, "group")
			if err := importLines(t, k, tenant, lines[:upTo], block, group); err != nil && !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
		}
		must(t, importLines(t, store, tenant, lines, block, rapid.IntRange(1, block).Draw(t, "last group")))
		compareWithModel(t, store, tenant, lines)
	})
	differences := 0
	_, err := store.Verify(t.Context(), false, func(storage.Difference) error { differences++; return nil })
	must(t, err)
	if differences > 0 {
		t.Errorf("verify finds %d differences", differences)
	}
}

// An import that died within a block goes on there, with groups of another size and
// in a file that has grown, wherever it died.
func TestBlockThatWasBegunIsCompleted(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	lines := make([]line, 70)
	for i := range lines {
		lines[i] = line{strconv.Itoa(random.IntN(12)), strconv.Itoa(random.IntN(4)), "read", 1500000000 + int64(i)}
	}
	store, tenants := openStore(t), 0
	for _, first := range []int{35, 40, 70} {
		for lives := range 7 {
			for _, after := range []bool{false, true} {
				tenants++
				tenant := fmt.Sprintf("t%d", tenants)
				for i, upTo := range []int{first, first, 70} {
					k := &killed{Persister: store, lives: lives, after: after}
					if err := importLines(t, k, tenant, lines[:upTo], 40, 7+2*i); err != nil && !errors.Is(err, errKilled) {
						t.Fatal(err)
					}
				}
				must(t, importLines(t, store, tenant, lines, 40, 5))
				if got := readsOf(t, store, tenant); got != int64(len(lines)) {
					t.Errorf("of %d rows at first, died at transaction %d, after it %v: there are %d reads, want %d", first, lives, after, got, len(lines))
				}
			}
		}
	}
}

// asked is a store that counts how often it is asked what it has seen.
type asked struct {
	storage.Persister
	times int
}

func (a *asked) Seen(ctx context.Context, ids []string) ([]bool, error) {
	a.times++
	return a.Persister.Seen(ctx, ids)
}

// A file of four blocks, of which two and a half were imported, is asked for
// three times, and once for a part that was begun: nothing can be there behind what
// is missing.
func TestWhatLiesBehindAGapIsNotAskedFor(t *testing.T) {
	store := openStore(t)
	lines := make([]line, 40)
	for i := range lines {
		lines[i] = line{"ann", strconv.Itoa(i % 7), "read", 1500000000}
	}
	must(t, importLines(t, store, storage.DefaultTenant, lines[:25], 10, 10))
	again := &asked{Persister: store}
	must(t, importLines(t, again, storage.DefaultTenant, lines, 10, 10))
	if again.times != 4 {
		t.Errorf("the store was asked %d times, want 4", again.times)
	}
	if got := readsOf(t, store, storage.DefaultTenant); got != int64(len(lines)) {
		t.Errorf("there are %d reads, want %d", got, len(lines))
	}
}

type line struct {
	user, subject, event string
	at                   int64
}

func (l line) String() string {
	return fmt.Sprintf("%s,%s,%s,%d\n", l.user, l.subject, l.event, l.at)
}

func lineGenerator() *rapid.Generator[line] {
	return rapid.Custom(func(t *rapid.T) line {
		return line{
			user:    rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user"),
			subject: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "subject"),
			event:   rapid.SampledFrom([]string{"read", "like", "dislike", "clear", "collect", "uncollect", "stare"}).Draw(t, "event"),
			at:      rapid.Int64Range(1500000000, 1500000004).Draw(t, "at"),
		}
	})
}

func importLines(t rapid.TB, to storage.Persister, tenant string, lines []line, block, group int) error {
	t.Helper()
	var text strings.Builder
	text.WriteString(header)
	for _, l := range lines {
		text.WriteString(l.String())
	}
	src, err := Open(context.Background(), "-", strings.NewReader(text.String()), "csv")
	must(t, err)
	p, err := newParser(src, Options{Mapping: testMapping(), Tenant: tenant})
	must(t, err)
	p.size = block
	return pipe(context.Background(), p, &writer{to: to, group: group})
}

func compareWithModel(t *rapid.T, store storage.Reader, tenant string, lines []line) {
	t.Helper()
	type key struct{ user, subject string }
	type value struct {
		word string
		at   int64
	}
	reads, reaction, collection := map[key]int64{}, map[key]value{}, map[key]value{}
	for _, l := range lines {
		k := key{l.user, l.subject}
		state := reaction
		switch l.event {
		case "stare":
			continue
		case "read":
			reads[k]++
			continue
		case "collect", "uncollect":
			state = collection
		}
		if state[k].at <= l.at {
			state[k] = value{l.event, l.at}
		}
	}
	for _, user := range []string{"ann", "bob"} {
		for _, subject := range []string{"1", "2"} {
			k := key{user, subject}
			states, err := store.States(context.Background(), []storage.StateKey{{
				User:    storage.User{Tenant: tenant, UserID: user},
				Subject: storage.Subject{Tenant: tenant, Biz: "video", BizID: subject},
			}}, storage.AllKinds)
			must(t, err)
			s := states[0]
			var times int64
			if s.Read != nil {
				times = s.Read.Times
			}
			like := s.Liked != nil && s.Liked.Reaction == storage.Like
			dislike := s.Liked != nil && s.Liked.Reaction == storage.Dislike
			if times != reads[k] || like != (reaction[k].word == "like") || dislike != (reaction[k].word == "dislike") ||
				(s.Collected != nil) != (collection[k].word == "collect") {
				t.Fatalf("%v: got %+v, want %d reads, %v, %v", k, s, reads[k], reaction[k], collection[k])
			}
		}
	}
}

func TestSkippedNamesAreBounded(t *testing.T) {
	store := openStore(t)
	var rows strings.Builder
	rows.WriteString(header)
	for i := range 10 * maxSkipped {
		fmt.Fprintf(&rows, "ann,1,event-%d-%s,1500000000\n", i, strings.Repeat("x", 100))
	}
	result, err := importText(t, store, Options{Mapping: testMapping()}, rows.String())
	must(t, err)
	var sum int64
	for _, s := range result.Skipped {
		sum += s.Rows
		if len(s.Event) > 64 {
			t.Errorf("the name %q is not cut", s.Event)
		}
	}
	if len(result.Skipped) != maxSkipped+1 || sum != 10*maxSkipped {
		t.Errorf("%d names and %d rows are told of", len(result.Skipped), sum)
	}
}

func TestTiesAreForgottenInBoundedMemory(t *testing.T) {
	var seen ties
	a := storage.Action{Kind: storage.KindReaction, Version: time.Now().UnixMicro()}
	for i := range 3 * rememberedTies {
		a.Subject.BizID = strconv.Itoa(i)
		seen.resolve(&a)
	}
	if n := len(seen.young) + len(seen.old); n > 2*(rememberedTies+2) {
		t.Errorf("%d ties are remembered", n)
	}
}
