package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// deskdrop is real data, found beside the project; CONTRIBUTING.md tells where
// it comes from.
const deskdrop = "../../../shared/data/deskdrop-users_interactions.csv.zip"

// runBinary runs the program in a process of its own until it ends.
func runBinary(t *testing.T, args ...string) ended {
	t.Helper()
	return runWith(t, []string{}, args...)
}

// runWith is runBinary with variables.
func runWith(tb testing.TB, environ []string, args ...string) ended {
	tb.Helper()
	command := exec.Command(binary, args...)
	command.Env = environ
	var stdout, stderr strings.Builder
	command.Stdout, command.Stderr = &stdout, &stderr
	_ = command.Run() // the code tells
	return ended{command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// sums adds the counts of all subjects that match.
func sums(tb testing.TB, data, where string) (sums [4]int64) {
	tb.Helper()
	db, err := sql.Open("sqlite", filepath.Join(data, databaseFile))
	must(tb, err)
	defer db.Close()
	must(tb, db.QueryRow(`SELECT coalesce(sum(read_count), 0), coalesce(sum(like_count), 0), coalesce(sum(dislike_count), 0),
		coalesce(sum(collect_count), 0) FROM interactive WHERE `+where).Scan(&sums[0], &sums[1], &sums[2], &sums[3]))
	return sums
}

// needDeskdrop skips a test that has no real data, outside of CI.
func needDeskdrop(tb testing.TB) {
	tb.Helper()
	if _, err := os.Stat(deskdrop); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	missing := fmt.Sprintf("%s, seen from the checkout, is missing: it is the file users_interactions.csv.zip "+
		"of CI&T Deskdrop, in the public repository gh-dl/sr_acl", strings.TrimPrefix(deskdrop, "../../"))
	if os.Getenv("CI") != "" {
		tb.Fatal(missing)
	}
	tb.Skip(missing)
}

func TestDeskdropIsImported(t *testing.T) {
	t.Parallel()
	needDeskdrop(t)
	data := t.TempDir()
	got := runBinary(t, "import", "--map=deskdrop", "--data="+data, deskdrop)
	got.wants(t, 0, "rows          72312 in", "61086 × read", "5745 × like", "2463 × collect",
		`1611 × "COMMENT CREATED": mapped to skip`, `1407 × "FOLLOW": mapped to skip`)
	t.Log(got.stdout)
	want, wantOne := [4]int64{61086, 5670, 0, 2202}, [4]int64{355, 53, 0, 15}
	for range 2 {
		if got := sums(t, data, "biz = 'article'"); got != want {
			t.Errorf("there are %v reads, likes, dislikes and collects, want %v", got, want)
		}
		if got := sums(t, data, "biz_id = '-4029704725707465084'"); got != wantOne {
			t.Errorf("the one has %v reads, likes, dislikes and collects, want %v", got, wantOne)
		}
		verified(t, data)
		runBinary(t, "import", "--map=deskdrop", "--data="+data, deskdrop).wants(t, 0, "already there 69294")
	}
}

// A click log has a row for each click, tabs and no column that says what was done.
func TestClickLogIsImported(t *testing.T) {
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "clicks.tsv")
	must(t, os.WriteFile(file, []byte("user\titem\tat\nann\t7\t1500000000\nann\t7\t1500000001\nbob\t8\t1500000002\n"), 0o600))
	click := func(flags ...string) ended {
		return call(t, environment(), append([]string{"import", "--data=" + data, "--biz=video", "--subject=item", "--time=at", "--time-unit=s", file}, flags...)...)
	}
	click().wants(t, exitFailed, `the header, split at each tab, has no column "event"; it has "user", "item", "at"`)
	click("--all=read", "--delimiter=,").wants(t, exitFailed, `split at each comma, has no column "user"`)
	click("--all=read").wants(t, 0, "imported      3 × read")
	click("--all=read", "--delimiter=tab").wants(t, 0, "already there 3")
	if got, want := sums(t, data, "biz = 'video'"), [4]int64{3}; got != want {
		t.Errorf("there are %v reads, likes, dislikes and collects, want %v", got, want)
	}
	verified(t, data)
}

// stopping cancels a context when it is read to its end.
type stopping struct {
	text io.Reader
	stop context.CancelFunc
}

func (s *stopping) Read(p []byte) (int, error) {
	n, err := s.text.Read(p)
	if err != nil {
		s.stop()
	}
	return n, err
}

func TestStoppedImportSaysHowToGoOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stdin := &stopping{strings.NewReader(csvOf(1)), cancel}
	var stdout, stderr bytes.Buffer
	code := run(ctx, []string{"import", "--data=" + t.TempDir(), "--biz=video", "--time-unit=s", "-"}, environment(), stdin, &stdout, &stderr)
	ended{code, stdout.String(), stderr.String()}.wants(t, 1, "the import was stopped", "goes on from there")
}

// endless waits for more at its end, and tells so.
type endless struct {
	text  io.Reader
	tell  func()
	never chan struct{}
}

func (e *endless) Read(p []byte) (int, error) {
	n, err := e.text.Read(p)
	if err != nil {
		e.tell()
		<-e.never
	}
	return n, err
}

func TestImportThatWaitsForInputCanBeStopped(t *testing.T) {
	never := make(chan struct{})
	defer close(never)
	for _, sent := range []string{"", csvOf(1)} {
		ctx, cancel := context.WithCancel(t.Context())
		stdin := &endless{strings.NewReader(sent), cancel, never}
		var out bytes.Buffer
		code := run(ctx, []string{"import", "--data=" + t.TempDir(), "--biz=video", "--time-unit=s", "-"}, environment(), stdin, &out, &out)
		ended{code, out.String(), ""}.wants(t, 1, "the import was stopped", "goes on from there")
	}
}

func TestAdviceFitsTheFault(t *testing.T) {
	folder := t.TempDir()
	whole := gzipOf(t, csvOf(3))
	for name, c := range map[string]struct {
		text  string
		stdin bool
		want  string
	}{
		"packed and cut":     {whole[:len(whole)-9], false, "cut off or damaged; nothing was imported"},
		"cut on the way":     {whole[:len(whole)-9], true, "the last of them may be wrong: if so, a good copy of the file counts its reads again"},
		"quote left open":    {csvOf(3) + `ann,"1,read`, false, "line 5: the quotes of the last row do not match"},
		"quote left open, 2": {csvOf(3) + `ann,"1,read`, false, "the rows before are imported. Repair that place and nothing above it, then import the file again"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(folder, "rows")
			must(t, os.WriteFile(file, []byte(c.text), 0o600))
			stdin := strings.NewReader("")
			if c.stdin {
				file, stdin = "-", strings.NewReader(c.text)
			}
			var out bytes.Buffer
			code := run(t.Context(), []string{"import", "--data=" + t.TempDir(), "--biz=video", "--time-unit=s", file}, environment(), stdin, &out, &out)
			ended{code, out.String(), ""}.wants(t, 1, c.want)
			if strings.Contains(out.String(), "the same command") {
				t.Errorf("it advises to repeat what cannot work:\n%s", &out)
			}
		})
	}
}

func TestRepairedFileGoesOnWhereItBroke(t *testing.T) {
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "rows.csv")
	args := []string{"import", "--data=" + data, "--biz=video", "--time-unit=s", file}
	must(t, os.WriteFile(file, []byte(csvOf(3)+`ann,"1,read,1500000000`), 0o600))
	call(t, environment(), args...).wants(t, 1, "3 × read")
	must(t, os.WriteFile(file, []byte(csvOf(3)+`ann,"1",read,1500000000`), 0o600))
	call(t, environment(), args...).wants(t, 0, "1 × read", "already there 3")
}

func TestOpeningADatabaseCanBeStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := dataFlag{t.TempDir()}.open(ctx, true)
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "move it away") {
		t.Errorf("got %v", err)
	}
}

func gzipOf(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	must(t, err)
	must(t, w.Close())
	return b.String()
}

func csvOf(rows int) string {
	var b strings.Builder
	b.WriteString("user,subject,event,time\n")
	for i := range rows {
		fmt.Fprintf(&b, "user-%d,%d,read,%d\n", i%50, i%1000, 1500000000+i)
	}
	return b.String()
}

// TestKilledImportGoesOn kills it when so much of a file has gone into it that
// some must be in the database: a block of a million rows is sorted before it is
// written.
func TestKilledImportGoesOn(t *testing.T) {
	t.Parallel()
	const rows = 1_040_000
	data, text := t.TempDir(), csvOf(rows)
	args := []string{"import", "--data=" + data, "--biz=video", "--time-unit=s"}
	command := exec.Command(binary, append(args, "-")...)
	command.Env = []string{}
	stdin, err := command.StdinPipe()
	must(t, err)
	must(t, command.Start())
	_, err = io.WriteString(stdin, text[:len(text)/100*98])
	must(t, err)
	waitFor(t, func() bool { return sums(t, data, "true")[0] > 0 })
	must(t, command.Process.Kill())
	_ = command.Wait() // it says that it was killed

	before := sums(t, data, "true")[0]
	if before == 0 || before >= rows {
		t.Fatalf("%d of %d rows were imported before", before, rows)
	}
	file := filepath.Join(t.TempDir(), "rows.csv")
	must(t, os.WriteFile(file, []byte(text), 0o600))
	runBinary(t, append(args, file)...).wants(t, 0, fmt.Sprintf("already there %d", before))
	if got := sums(t, data, "true")[0]; got != rows {
		t.Errorf("there are %d reads, want %d", got, rows)
	}
	verified(t, data)
}

func TestEventsOfAFlagChangeThoseOfAMapping(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.csv")
	must(t, os.WriteFile(file, []byte("personId,contentId,eventType,timestamp\na,1,VIEW,1500000000\na,1,LIKE,1500000000\n"), 0o600))
	call(t, environment(), "import", "--data="+t.TempDir(), "--map=deskdrop", "--events=VIEW=skip", file).
		wants(t, 0, "1 × like", `1 × "VIEW": mapped to skip`)
	// Without a mapping they are all there are.
	must(t, os.WriteFile(file, []byte(strings.ReplaceAll(csvOf(1), "read", "view")+"ann,1,like,1500000000\n"), 0o600))
	call(t, environment(), "import", "--data="+t.TempDir(), "--biz=video", "--time-unit=s", "--events=view=read", file).
		wants(t, 0, "1 × read", `1 × "like": not mapped to an action`)
}

func TestProgressPromisesNothingWhereTheSizeIsUnknown(t *testing.T) {
	for size, want := range map[int64]bool{0: false, 1000: true} {
		bar := newBar(io.Discard, size).SetWidth(100).SetCurrent(500).Set("suffix", "7 rows")
		if text := bar.String(); strings.Contains(text, "%") != want || strings.Contains(text, "?%") || !strings.Contains(text, "500 B") || !strings.Contains(text, "7 rows") {
			t.Errorf("of %d bytes it shows %q", size, text)
		}
	}
}

func TestImportBesideARunningServer(t *testing.T) {
	data := t.TempDir()
	s := serve(t, data)
	file := filepath.Join(t.TempDir(), "rows.csv")
	must(t, os.WriteFile(file, []byte(strings.ReplaceAll(csvOf(1), "read", "like")), 0o600))
	call(t, environment(), "import", "--data="+data, "--biz=video", "--time-unit=s", file).wants(t, 0, "1 × like")
	if got := s.likes(t, "0"); got != 1 {
		t.Errorf("the server shows %d likes, want 1", got)
	}
	verified(t, data)
}

func TestOneImportAtATime(t *testing.T) {
	data := t.TempDir()
	unlock, err := dataFlag{data}.lock(importLock, "imports into")
	must(t, err)
	defer unlock()
	call(t, environment(), "import", "--data="+data, "--biz=video", "/dev/null").wants(t, 1, "another process imports into the data folder")
}

func TestBadRowsAreToldAndTheRestIsImported(t *testing.T) {
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "rows.csv")
	text := csvOf(3) + strings.Repeat("ann,1,read,soon\n", 25) + "bob,1,read,1500000000\n"
	must(t, os.WriteFile(file, []byte(text), 0o600))
	args := []string{"import", "--data=" + data, "--biz=video", "--time-unit=s", file}
	call(t, environment(), args...).wants(t, exitBadRows, "4 × read", "bad           25",
		`line 5: time "soon" is not a number`, "line 24: ", "and 5 more", "a file of their own")
	if got := sums(t, data, "true")[0]; got != 4 {
		t.Errorf("there are %d reads, want 4", got)
	}
	call(t, environment("OVATION_IMPORT_STRICT", "true"), args...).wants(t, exitBadRows, "stopped at the first bad row, line 5: ")
}

func TestUnreadableFiles(t *testing.T) {
	folder := t.TempDir()
	cut := filepath.Join(folder, "cut.csv")
	must(t, os.WriteFile(cut, []byte(csvOf(3)+`ann,"1,read`), 0o600))
	for file, want := range map[string]string{
		filepath.Join(folder, "missing.csv"): "no such file",
		folder:                               "is a folder",
		cut:                                  "line 5: the quotes of the last row do not match",
		os.DevNull:                           "the file is empty",
	} {
		call(t, environment(), "import", "--data="+t.TempDir(), "--biz=video", "--time-unit=s", file).wants(t, 1, want)
	}
}

func TestVerifyFindsAndRepairs(t *testing.T) {
	data := t.TempDir()
	call(t, environment(), "verify", "--data="+data).wants(t, 1, "there is no database in the data folder "+data)
	s := serve(t, data)
	s.like(t, "alice", "1")
	s.stop()
	verified(t, data)

	db, err := sql.Open("sqlite", filepath.Join(data, databaseFile))
	must(t, err)
	_, err = db.Exec(`UPDATE interactive SET like_count = 7`)
	must(t, err)
	must(t, db.Close())
	wrong := `tenant default, video "1": likeCount is stored as 7, counted 1`
	call(t, environment(), "verify", "--data="+data).wants(t, 1, wrong, "1 differences; ", "--repair")
	call(t, environment(), "verify", "--data="+data, "--repair").wants(t, 0, wrong, "1 differences, all repaired")
	verified(t, data)
}
