//go:build long

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
)

// TestLongDeskdropIsImportedIntoPostgres starts an import of the real data into Postgres
// and kills it, twice. It then runs the import to its end, and checks that each row has
// been imported once.
func TestLongDeskdropIsImportedIntoPostgres(t *testing.T) {
	t.Parallel()
	needDeskdrop(t)
	s := newSite(t)
	for _, after := range []int64{0, 30_000} {
		command := exec.Command(binary, "import", "--map=deskdrop", deskdrop)
		command.Env = s.environ()
		must.Succeed(t, command.Start())
		await.That(t, fmt.Sprintf("more than %d reads are imported", after), func() bool { return s.totals(t)[0] > after })
		must.Succeed(t, command.Process.Kill())
		_ = command.Wait() // it was killed
	}
	importIt := func() programResult { return s.run(t, "import", "--map=deskdrop", deskdrop) }
	importIt().want(t, 0, "rows          72312 in")
	for range 2 {
		if got, want := s.totals(t), [3]int64{61086, 5670, 2202}; got != want {
			t.Errorf("there are %v reads, likes and collects, want %v", got, want)
		}
		s.run(t, "verify").want(t, 0, "0 differences")
		if got := s.comments(t); got != 1611 {
			t.Errorf("there are %d comments, want 1611", got)
		}
		importIt().want(t, 0, "already there 72312")
	}
}

// comments returns the number of comments in the database.
func (s *site) comments(tb testing.TB) (n int64) {
	tb.Helper()
	ctx := context.Background()
	c, err := pgx.Connect(ctx, s.variables["OVATION_POSTGRES_URL"])
	must.Succeed(tb, err)
	defer c.Close(ctx)
	must.Succeed(tb, c.QueryRow(ctx, `SELECT count(*) FROM comment`).Scan(&n))
	return n
}

// TestLongKilledImportResumes kills an import once some of its rows are in the database,
// and checks that the next import adds the remaining rows. The file has more than a
// million rows, because the importer sorts a block of a million rows before it writes any
// row.
func TestLongKilledImportResumes(t *testing.T) {
	t.Parallel()
	const rows = 1_040_000
	data, text := t.TempDir(), csvOf(rows)
	args := []string{"import", "--data=" + data, "--biz=video", "--time-unit=s"}
	command := exec.Command(binary, append(args, "-")...)
	command.Env = []string{}
	stdin, err := command.StdinPipe()
	must.Succeed(t, err)
	must.Succeed(t, command.Start())
	_, err = io.WriteString(stdin, text[:len(text)/100*98])
	must.Succeed(t, err)
	await.That(t, "some rows are imported", func() bool { return sums(t, data, "true")[0] > 0 })
	must.Succeed(t, command.Process.Kill())
	_ = command.Wait() // it was killed

	before := sums(t, data, "true")[0]
	if before == 0 || before >= rows {
		t.Fatalf("%d of %d rows were imported before the kill, want some but not all", before, rows)
	}
	file := filepath.Join(t.TempDir(), "rows.csv")
	must.Succeed(t, os.WriteFile(file, []byte(text), 0o600))
	runBinary(t, append(args, file)...).want(t, 0, fmt.Sprintf("already there %d", before))
	if got := sums(t, data, "true")[0]; got != rows {
		t.Errorf("there are %d reads, want %d", got, rows)
	}
	verified(t, data)
}
