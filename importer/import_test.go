package importer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ovation/internal/testing/must"
	"ovation/internal/testing/seed"
	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
)

var _ = seed.ForRapid()

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openStore(t *testing.T) storage.Store {
	t.Helper()
	return sqlitetest.Open(t)
}

// testMapping is the mapping of the files that the tests write.
func testMapping() Mapping {
	m := DefaultMapping()
	m.Biz, m.BizColumn, m.TimeUnit, m.Placeholder = "video", "", "s", "(no text)"
	return m
}

const header = "user,subject,event,time\n"

// importText imports a CSV file that contains the given text.
func importText(t *testing.T, to Store, o Options, text string) (Result, error) {
	t.Helper()
	return importFile(t, to, o, writeFile(t, "rows.csv", text))
}

func importFile(t *testing.T, to Store, o Options, path string) (Result, error) {
	t.Helper()
	src, err := Open(t.Context(), path, nil, "")
	if err != nil {
		return Result{}, err
	}
	defer func() { must.Succeed(t, src.Close()) }()
	return Import(t.Context(), to, src, o)
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	return path
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
		"ann,1,follow,1500000008\n" +
		"bob,1,follow,1500000008\n" +
		"bob,1,unfollow,1500000009\n" +
		"bob,1,stare,1500000007\n"
	got, err := importText(t, store, Options{Mapping: testMapping()}, rows)
	must.Succeed(t, err)
	want := "[{read 3} {like 2} {dislike 1} {clear 1} {collect 2} {uncollect 1} {follow 2} {unfollow 1}]"
	if got.Rows != 14 || got.Bad != 0 || fmt.Sprint(got.Imported) != want {
		t.Fatalf("got %+v, want imported %s", got, want)
	}
	if want := (Skipped{"stare", "not mapped to an action", 1}); len(got.Skipped) != 1 || got.Skipped[0] != want {
		t.Fatalf("skipped %v, want %v", got.Skipped, want)
	}

	ann := storage.User{Tenant: "default", UserID: "ann"}
	subject := storage.Subject{Tenant: "default", Biz: "video", BizID: "1"}
	seen, err := store.Interactives(t.Context(), ann, []storage.Subject{subject}, storage.AllKinds)
	must.Succeed(t, err)
	c := seen[0].Counts
	if c.ReadCount != 3 || c.ReaderCount != 1 || c.LikeCount != 1 || c.DislikeCount != 1 || c.CollectCount != 1 || c.FollowerCount != 1 {
		t.Errorf("counts are %+v, want 3 reads, 1 reader, 1 like, 1 dislike, 1 collection and 1 follower", c)
	}
	if read := seen[0].Read; read == nil || read.Times != 2 || read.FirstAt().Unix() != 1500000000 || read.LastAt().Unix() != 1500000060 {
		t.Errorf("read is %+v, want 2 times, the first at 1500000000, the last at 1500000060", read)
	}
	if followed := seen[0].Followed; followed == nil || followed.At().Unix() != 1500000008 {
		t.Errorf("followed is %+v, want 1500000008", followed)
	}
	if in := seen[0].Collected; in == nil || in.FolderID != storage.DefaultFolderID {
		t.Errorf("collected is %+v, want it in the default folder", in)
	}
}

// TestSubjectsAreDeclared checks that a file of subjects declares the author of each
// subject, and that importing the file again changes nothing. Of several rows for one
// subject, the row with the latest time wins; of rows with equal times, the last one.
func TestSubjectsAreDeclared(t *testing.T) {
	store := openStore(t)
	csv := "biz,bizId,author,at\n" +
		"video,1,ann,2020-01-01T00:00:00Z\n" +
		"video,1,bob,2019-01-01T00:00:00Z\n" +
		"article,1,bob,2020-01-01T00:00:00Z\n" +
		"video,2,ann,2020-01-01T00:00:00Z\n" +
		"video,2,cid,2020-01-01T00:00:00Z\n" +
		"video,3,,2020-01-01T00:00:00Z\n" + // no author
		"Video,4,ann,2020-01-01T00:00:00Z\n" +
		"video,5,ann,yesterday\n" +
		"video,5,ann," + time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + "\n"
	for run, want := range []string{"[{author 6}] already 0 bad 3", "[] already 6 bad 3"} {
		got, err := importText(t, store, Options{Mapping: SubjectsMapping(), block: 4}, csv)
		must.Succeed(t, err)
		if summary := fmt.Sprint(got.Imported, " already ", got.Already, " bad ", got.Bad); summary != want {
			t.Errorf("run %d: got %s, want %s; bad rows: %v", run, summary, want, got.BadRows)
		}
	}
	ndjson := `{"biz": "video", "bizId": 3, "author": "ann", "at": "2021-01-01T00:00:00Z"}`
	got, err := importFile(t, store, Options{Mapping: SubjectsMapping()}, writeFile(t, "subjects.ndjson", ndjson))
	must.Succeed(t, err)
	if fmt.Sprint(got.Imported) != "[{author 1}]" {
		t.Errorf("imported %v, want [{author 1}]", got.Imported)
	}

	var subjects []storage.Subject
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		subjects = append(subjects, storage.Subject{Tenant: "default", Biz: "video", BizID: id})
	}
	found, err := store.Interactives(t.Context(), storage.User{Tenant: "default"}, subjects, 0)
	must.Succeed(t, err)
	var authors []string
	for _, i := range found {
		authors = append(authors, i.AuthorID)
	}
	if want := []string{"ann", "cid", "ann", "", ""}; fmt.Sprint(authors) != fmt.Sprint(want) {
		t.Errorf("authors are %q, want %q", authors, want)
	}
	totals, err := store.TotalsOf(t.Context(), []storage.User{{Tenant: "default", UserID: "ann"}, {Tenant: "default", UserID: "bob"}})
	must.Succeed(t, err)
	if totals[0].Works != 2 || totals[1].Works != 1 {
		t.Errorf("totals are %+v, want 2 works of ann, 1 of bob", totals)
	}
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
		result, err := importText(t, store, Options{Mapping: testMapping(), block: block}, rows.String())
		must.Succeed(t, err)
		var imported int64
		for _, done := range result.Imported {
			imported += done.Rows
		}
		if result.Rows != total || imported+result.Already != total {
			t.Fatalf("with %d rows in the file: got %+v, want each imported or already there", total, result)
		}
		if got := readsOf(t, store, "default"); got != total {
			t.Fatalf("there are %d reads, want %d", got, total)
		}
	}
}

// readsOf returns the total number of reads of the subjects 0 to 9.
func readsOf(t *testing.T, store storage.Reader, tenant string) int64 {
	t.Helper()
	subjects := make([]storage.Subject, 10)
	for i := range subjects {
		subjects[i] = storage.Subject{Tenant: tenant, Biz: "video", BizID: strconv.Itoa(i)}
	}
	seen, err := store.Interactives(t.Context(), storage.User{Tenant: tenant}, subjects, 0)
	must.Succeed(t, err)
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
		must.Succeed(t, err)
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
	must.Succeed(t, err)
	defer src.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Import(ctx, store, src, Options{Mapping: testMapping()}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got error %v, want %v", err, context.Canceled)
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
	must.Succeed(t, err)
	var sum int64
	for _, s := range result.Skipped {
		sum += s.Rows
		if len(s.Event) > 64 {
			t.Errorf("a skipped event has a name of %d bytes, want at most 64: %q", len(s.Event), s.Event)
		}
	}
	if len(result.Skipped) != maxSkipped+1 || sum != 10*maxSkipped {
		t.Errorf("got %d names with %d rows, want %d with %d", len(result.Skipped), sum, maxSkipped+1, 10*maxSkipped)
	}
}

func TestTiesAreForgottenInBoundedMemory(t *testing.T) {
	var seen tieBreaker
	a := storage.Action{Kind: storage.KindReaction, Version: time.Now().UnixMicro()}
	for i := range 3 * rememberedTies {
		a.Subject.BizID = strconv.Itoa(i)
		seen.versionOf(&a)
	}
	if n := len(seen.recent) + len(seen.older); n > 2*(rememberedTies+2) {
		t.Errorf("%d ties are kept in memory, want at most %d", n, 2*(rememberedTies+2))
	}
}
