package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ovation/cmd/ovation/internal/demo"
	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/storage/sqlite"
	"ovation/storage/storagetest"
)

// exportedLines returns the lines of a file of ovation export without the first and the
// last one, which contain the time.
func exportedLines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	must.Succeed(t, err)
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(all) < 3 || !strings.HasPrefix(all[0], `{"format":"ovation-export"`) || !strings.HasPrefix(all[len(all)-1], `{"type":"end"`) {
		t.Fatalf("%s has %d lines, want a header, lines and a trailer", file, len(all))
	}
	return all[1 : len(all)-1]
}

// wantSame checks that two files hold the same.
func wantSame(t *testing.T, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("got %d lines, want %d; line %d differs: want %s", len(got), len(want), i, want[i])
		}
	}
	t.Fatalf("got %d lines, want %d", len(got), len(want))
}

// demoData returns a data folder with the demo data.
func demoData(t *testing.T) string {
	t.Helper()
	data := t.TempDir()
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(data, databaseFile)})
	must.Succeed(t, err)
	must.Succeed(t, demo.Add(t.Context(), store, time.Now()))
	must.Succeed(t, store.Close())
	return data
}

// TestMovesBetweenTheWaysToRun moves the demo data and the real data from a data folder to
// Postgres, while a node serves from Redis, and from there to another data folder. It checks
// that all three hold the same.
func TestMovesBetweenTheWaysToRun(t *testing.T) {
	t.Parallel()
	needDeskdrop(t)
	files, data := t.TempDir(), demoData(t)
	file := func(name string) string { return filepath.Join(files, name+".ndjson") }
	runBinary(t, "import", "--map=deskdrop", "--data="+data, deskdrop).want(t, 0, "rows          72312 in")
	runBinary(t, "export", "--passwords", "--data="+data, "--out="+file("embedded")).want(t, 0, "exported ", "2167 × comment")
	want := exportedLines(t, file("embedded"))

	s := newSite(t)
	node := s.start(t, "serve")
	const article = `{interactive(biz: "article", bizId: "-4029704725707465084") {likeCount freshness}}`
	count := func() string {
		t.Helper()
		var got struct {
			Interactive struct {
				LikeCount int64
				Freshness string
			}
		}
		must.Succeed(t, node.graphQL("", article, &got))
		return fmt.Sprint(got.Interactive.LikeCount, " ", got.Interactive.Freshness)
	}
	if got := count(); got != "0 LIVE" {
		t.Errorf("before the import, the node shows %s, want 0 LIVE", got)
	}
	got := s.runBinary(t, "import", file("embedded"))
	got.want(t, 0, fmt.Sprintf("imported %d lines", len(want)))
	t.Log(got.stdout)
	await.That(t, "the node shows the imported likes", func() bool { return count() == "53 LIVE" })
	s.runBinary(t, "verify").want(t, 0, "0 differences;", "0 differences in Redis")
	s.runBinary(t, "import", "--map=deskdrop", deskdrop).want(t, 0, "already there 72312")
	s.runBinary(t, "export", "--passwords", "--out="+file("distributed")).want(t, 0)
	wantSame(t, exportedLines(t, file("distributed")), want)

	back := t.TempDir()
	runBinary(t, "import", "--data="+back, file("distributed")).want(t, 0, fmt.Sprintf("imported %d lines", len(want)))
	verified(t, back)
	runBinary(t, "export", "--passwords", "--data="+back, "--out="+file("back")).want(t, 0)
	wantSame(t, exportedLines(t, file("back")), want)
}

// populated returns a data folder with a little of everything, and a file of its export.
func populated(t *testing.T) (data, file string) {
	t.Helper()
	data = t.TempDir()
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(data, databaseFile)})
	must.Succeed(t, err)
	storagetest.Populate(t, store)
	must.Succeed(t, store.Close())
	file = filepath.Join(t.TempDir(), "all.ndjson")
	call(t, environment(), "export", "--data="+data, "--out="+file).want(t, 0, "exported ", "2 × account")
	return data, file
}

func TestExportsAreFilesOfTheirOwner(t *testing.T) {
	t.Parallel()
	data, file := populated(t)
	info, err := os.Stat(file)
	must.Succeed(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v, want 0600", info.Mode())
	}
	got := call(t, environment(), "export", "--data="+data)
	got.want(t, 0)
	if all := strings.Split(strings.TrimSpace(got.stdout), "\n"); !slices.Equal(all[1:len(all)-1], exportedLines(t, file)) {
		t.Error("standard output and the file differ")
	}
	call(t, environment(), "export", "--data="+data, "--user=nobody").want(t, 0, "exported 0 lines")
	call(t, environment(), "export", "--data="+data, "--user=alice", "--passwords").want(t, exitUsage, "exclude each other")
	call(t, environment(), "export", "--data="+t.TempDir()).want(t, exitFailed)
	call(t, environment(), "export", "--data="+data, "--out="+t.TempDir()).want(t, exitFailed, "is a folder")
	call(t, environment(), "export", "--data="+data, "--out="+filepath.Join(t.TempDir(), "none", "x")).want(t, exitFailed, "nothing was written to")
}

func TestExportsAreImported(t *testing.T) {
	t.Parallel()
	_, file := populated(t)
	want := exportedLines(t, file)
	to := t.TempDir()
	imported := fmt.Sprintf("imported %d lines", len(want))
	call(t, environment(), "import", "--dry-run", "--data="+to, file).want(t, 0, fmt.Sprintf("importable %d lines", len(want)), "dry run: nothing was imported")
	call(t, environment(), "import", "--biz=video", "--data="+to, file).want(t, exitUsage, "needs no mapping")
	call(t, environment(), "import", "--tenant=acme", "--data="+to, file).want(t, exitFailed, "choose --tenant default", "nothing was imported")
	text, err := os.ReadFile(file)
	must.Succeed(t, err)
	cut := filepath.Join(t.TempDir(), "cut.ndjson")
	must.Succeed(t, os.WriteFile(cut, text[:len(text)/2], 0o600))
	call(t, environment(), "import", "--data="+to, cut).want(t, exitFailed, "the file is truncated; nothing was imported")
	must.Succeed(t, os.WriteFile(cut, []byte(strings.Replace(string(text), `"times":1`, `"times":9`, 1)), 0o600))
	call(t, environment(), "import", "--data="+to, cut).want(t, exitFailed, "the file was changed or damaged; nothing was imported")
	if _, err := os.Stat(filepath.Join(to, databaseFile)); err == nil {
		if got := sums(t, to, "true"); got != [5]int64{} {
			t.Errorf("after files that are not imported there are %v reads and so on, want none", got)
		}
	}

	packed := file + ".gz"
	must.Succeed(t, exec.Command("gzip", "-k", file).Run())
	call(t, environment(), "import", "--data="+to, packed).want(t, 0, imported)
	stream, err := os.Open(packed)
	must.Succeed(t, err)
	defer stream.Close()
	callWith(t.Context(), environment(), stream, "import", "--data="+to, "-").want(t, 0, imported)
	verified(t, to)
	again := filepath.Join(t.TempDir(), "again.ndjson")
	call(t, environment(), "export", "--data="+to, "--out="+again).want(t, 0)
	wantSame(t, exportedLines(t, again), want)
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "ovation-import-*")); err != nil || len(left) > 0 {
		t.Errorf("the import leaves %v, %v, want no temporary file", left, err)
	}
}

func TestConflictsAreListed(t *testing.T) {
	t.Parallel()
	_, file := populated(t)
	other, _ := populated(t) // has accounts of the same names
	call(t, environment(), "import", "--data="+other, file).want(t, exitBadRows, "refused       ", `has the name "alice", which another account has here`, "everything else is imported")
	verified(t, other)
}

func TestExportsToClosedPipesEndQuietly(t *testing.T) {
	t.Parallel()
	data, _ := populated(t)
	command := exec.Command(binary, "export", "--data="+data)
	command.Env = []string{}
	var stderr strings.Builder
	command.Stderr = &stderr
	stdout, err := command.StdoutPipe()
	must.Succeed(t, err)
	must.Succeed(t, command.Start())
	must.Succeed(t, stdout.Close())
	if err := command.Wait(); err == nil || stderr.String() != "" {
		t.Errorf("the export into a closed pipe ends with %v and says %q, want an error status and nothing", err, stderr.String())
	}
}

func TestExportsWithoutRoomEnd(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full")
	}
	defer full.Close()
	data, _ := populated(t)
	command := exec.Command(binary, "export", "--data="+data)
	command.Env = []string{}
	var stderr strings.Builder
	command.Stdout, command.Stderr = full, &stderr
	_ = command.Run() // the exit code is checked instead
	if code := command.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(stderr.String(), "the disk is full; what was written is not complete, and cannot be imported") {
		t.Errorf("an export to a full disk ends with %d and says %q, want %d and the full disk", code, stderr.String(), exitFailed)
	}
	call(t, environment(), "export", "--data="+data, "--out=/dev/full").want(t, exitFailed, "the disk is full")
}
