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
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ovation/importer"
	"ovation/internal/testing/must"
	"ovation/storage"
)

// deskdrop is the path of a file with real data, next to the checkout; CONTRIBUTING.md
// states where the file comes from.
const deskdrop = "../../../shared/data/deskdrop-users_interactions.csv.zip"

// runBinary runs the program in a process of its own until it ends.
func runBinary(t *testing.T, args ...string) programResult {
	t.Helper()
	return runWith(t, []string{}, args...)
}

// runWith is like runBinary, but runs the program with the given environment.
func runWith(tb testing.TB, environ []string, args ...string) programResult {
	tb.Helper()
	command := exec.Command(binary, args...)
	command.Env = environ
	var stdout, stderr strings.Builder
	command.Stdout, command.Stderr = &stdout, &stderr
	_ = command.Run() // the exit code is checked instead
	return programResult{strings.Join(args, " "), command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// sums returns the total reads, likes, dislikes, collects and followers of all subjects
// that match the SQL condition in where.
func sums(tb testing.TB, data, where string) (sums [5]int64) {
	tb.Helper()
	db, err := sql.Open("sqlite", filepath.Join(data, databaseFile))
	must.Succeed(tb, err)
	defer db.Close()
	must.Succeed(tb, db.QueryRow(`SELECT coalesce(sum(read_count), 0), coalesce(sum(like_count), 0), coalesce(sum(dislike_count), 0),
		coalesce(sum(collect_count), 0), coalesce(sum(follower_count), 0) FROM interactive WHERE `+where).
		Scan(&sums[0], &sums[1], &sums[2], &sums[3], &sums[4]))
	return sums
}

// commentSums returns three numbers: how many comments there are, and the comment counts
// summed over all subjects and over all users.
func commentSums(tb testing.TB, data string) (sums [3]int64) {
	tb.Helper()
	db, err := sql.Open("sqlite", filepath.Join(data, databaseFile))
	must.Succeed(tb, err)
	defer db.Close()
	must.Succeed(tb, db.QueryRow(`SELECT (SELECT count(*) FROM comment), (SELECT coalesce(sum(comments), 0) FROM comment_count),
		(SELECT coalesce(sum(comments), 0) FROM user_comments)`).Scan(&sums[0], &sums[1], &sums[2]))
	return sums
}

// needDeskdrop skips the test if the real data is missing. In CI, the test fails instead.
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
	got.want(t, 0, "rows          72312 in", "61086 × read", "5745 × like", "2463 × collect", "1407 × follow",
		"1611 × comment", `without text  1611 × comment, which reads "(The text of this comment was not published.)"`)
	t.Log(got.stdout)
	want, wantOne := [5]int64{61086, 5670, 0, 2202, 1398}, [5]int64{355, 53, 0, 15, 6}
	for range 2 {
		if got := sums(t, data, "biz = 'article'"); got != want {
			t.Errorf("there are %v reads, likes, dislikes, collects and followers, want %v", got, want)
		}
		if got := sums(t, data, "biz_id = '-4029704725707465084'"); got != wantOne {
			t.Errorf("article -4029704725707465084 has %v reads, likes, dislikes, collects and followers, want %v", got, wantOne)
		}
		if got := commentSums(t, data); got != [3]int64{1611, 1611, 1611} {
			t.Errorf("there are %v comments, of subjects and of users, want 1611", got)
		}
		verified(t, data)
		runBinary(t, "import", "--map=deskdrop", "--data="+data, deskdrop).want(t, 0, "already there 72312")
	}
}

// stoppingReader reads from text. At the end of the text, Read calls the function stop
// and does not return until the channel over is closed.
type stoppingReader struct {
	text io.Reader
	stop context.CancelFunc
	over <-chan struct{}
}

func (s *stoppingReader) Read(p []byte) (int, error) {
	n, err := s.text.Read(p)
	if err != nil {
		s.stop()
		<-s.over
	}
	return n, err
}

// TestStoppedImportSaysHowToResume stops imports, some of them while they still wait for
// input, before or after the first row.
func TestStoppedImportSaysHowToResume(t *testing.T) {
	ended, waits := make(chan struct{}), make(chan struct{})
	close(ended)
	defer close(waits)
	for _, c := range []struct {
		text string
		over <-chan struct{}
	}{{csvOf(1), ended}, {csvOf(1), waits}, {"", waits}} {
		ctx, cancel := context.WithCancel(t.Context())
		stdin := &stoppingReader{strings.NewReader(c.text), cancel, c.over}
		callWith(ctx, environment(), stdin, "import", "--data="+emptyData(t), "--biz=video", "--time-unit=s", "-").
			want(t, 1, "the import was stopped", "resumes from there")
	}
}

func TestAdviceFitsTheFault(t *testing.T) {
	folder := t.TempDir()
	whole := gzipOf(t, csvOf(3))
	for name, c := range map[string]struct {
		text  string
		stdin bool
		want  []string
	}{
		"packed and cut": {whole[:len(whole)-9], false, []string{"cut off or damaged; nothing was imported"}},
		"cut on the way": {whole[:len(whole)-9], true, []string{"the last of them may be corrupt: if so, importing an intact copy counts its reads twice"}},
		"quote left open": {csvOf(3) + `ann,"1,read`, false, []string{
			"line 5: the quotes of the last row do not match",
			"the rows before it are imported. Correct the file there without changing anything above, then import it again",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(folder, "rows")
			must.Succeed(t, os.WriteFile(file, []byte(c.text), 0o600))
			stdin := strings.NewReader("")
			if c.stdin {
				file, stdin = "-", strings.NewReader(c.text)
			}
			got := callWith(t.Context(), environment(), stdin, "import", "--data="+emptyData(t), "--biz=video", "--time-unit=s", file)
			got.want(t, 1, c.want...)
			if strings.Contains(got.stdout+got.stderr, "the same command") {
				t.Errorf("the output advises to repeat a command that cannot work:\n%s%s", got.stdout, got.stderr)
			}
		})
	}
}

func TestOpeningADatabaseCanBeStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := dataFlag{t.TempDir()}.open(ctx, true, storage.EventOptions{})
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "move it away") {
		t.Errorf("got %v, want %v without advice to move the database away", err, context.Canceled)
	}
}

func gzipOf(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	must.Succeed(t, err)
	must.Succeed(t, w.Close())
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

func TestEventsOfAFlagChangeThoseOfAMapping(t *testing.T) {
	changed, err := (&importCommand{Map: "deskdrop", Events: map[string]string{"VIEW": "skip"}}).mapping()
	must.Succeed(t, err)
	if changed.Events["VIEW"] != "skip" || changed.Events["LIKE"] != "like" {
		t.Errorf("the mapping deskdrop with --events VIEW=skip has the events %v, want VIEW skipped and LIKE as it was", changed.Events)
	}
	// Without a mapping, the events of the flag are the only events.
	alone, err := (&importCommand{Biz: "video", Events: map[string]string{"view": "read"}}).mapping()
	must.Succeed(t, err)
	if !maps.Equal(alone.Events, map[string]string{"view": "read"}) {
		t.Errorf("without a mapping the events are %v, want those of the flag alone", alone.Events)
	}
}

func TestProgressPromisesNothingWhereTheSizeIsUnknown(t *testing.T) {
	at := importer.Progress{Rows: 7, Bytes: 5e6}
	for size, want := range map[int64]string{
		0:   "7 rows, 5.0 MB at 2.5 MB/s",
		2e7: " 25 % of 20.0 MB, 6s left: 7 rows, 5.0 MB at 2.5 MB/s",
		4e6: "125 % of 4.0 MB, 0s left: 7 rows, 5.0 MB at 2.5 MB/s", // the file has grown
	} {
		if line := progressLine(at, size, 2*time.Second); line != want {
			t.Errorf("after 2 s and 5 MB of a file of %d bytes: %q, want %q", size, line, want)
		}
	}
	if line := progressLine(importer.Progress{}, 1000, 0); line != "0 rows, 0.0 MB at 0.0 MB/s" {
		t.Errorf("at the beginning: %q, want no percentage", line)
	}
}

func TestImportBesideARunningServer(t *testing.T) {
	data := t.TempDir()
	s := serve(t, data)
	file := filepath.Join(t.TempDir(), "rows.csv")
	must.Succeed(t, os.WriteFile(file, []byte(strings.ReplaceAll(csvOf(1), "read", "like")), 0o600))
	call(t, environment(), "import", "--data="+data, "--biz=video", "--time-unit=s", file).want(t, 0, "1 × like")
	if got := s.likes(t, "0"); got != 1 {
		t.Errorf("the server shows %d likes, want 1", got)
	}
	verified(t, data)
}

func TestOneImportAtATime(t *testing.T) {
	data := t.TempDir()
	unlock, err := dataFlag{data}.lock(importLock, "imports into")
	must.Succeed(t, err)
	defer unlock()
	call(t, environment(), "import", "--data="+data, "--biz=video", "/dev/null").want(t, 1, "another process already imports into the data folder")
}

func TestBadRowsAreReportedAndTheRestIsImported(t *testing.T) {
	data, file := emptyData(t), filepath.Join(t.TempDir(), "rows.csv")
	text := csvOf(3) + strings.Repeat("ann,1,read,soon\n", 25) + "bob,1,read,1500000000\n"
	must.Succeed(t, os.WriteFile(file, []byte(text), 0o600))
	args := []string{"import", "--data=" + data, "--biz=video", "--time-unit=s", file}
	call(t, environment(), args...).want(t, exitBadRows, "4 × read", "bad           25",
		`line 5: column "time": time "soon" is not a number`, "line 24: ", "and 5 more", "correct them in a separate file")
	call(t, environment("OVATION_IMPORT_STRICT", "true"), args...).want(t, exitBadRows, "stopped at the first bad row, line 5: ")
}

func TestVerifyFindsAndRepairs(t *testing.T) {
	data := t.TempDir()
	call(t, environment(), "verify", "--data="+data).want(t, 1, "there is no database in the data folder "+data)
	s := serve(t, data)
	s.like(t, "alice", "1")
	s.stop()
	verified(t, data)

	db, err := sql.Open("sqlite", filepath.Join(data, databaseFile))
	must.Succeed(t, err)
	_, err = db.Exec(`UPDATE interactive SET like_count = 7; UPDATE user_totals SET likes = 8`)
	must.Succeed(t, err)
	must.Succeed(t, db.Close())
	wrong := []string{`tenant default, video "1": likeCount is stored as 7, counted 1`, `tenant default, totals of user "alice": likes is stored as 8, counted 1`}
	call(t, environment(), "verify", "--data="+data).want(t, 1, append(wrong, "2 differences; ", "--repair")...)
	call(t, environment(), "verify", "--data="+data, "--repair").want(t, 0, append(wrong, "2 differences, all repaired")...)
	verified(t, data)
}
