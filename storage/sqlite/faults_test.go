package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/sqlstore"
	"ovation/storage/storagetest"
)

// withPragma runs a pragma on the connection for writes.
func withPragma(t *testing.T, s *Store, pragma string) {
	t.Helper()
	c := <-s.writer
	defer func() { s.writer <- c }()
	if _, err := c.ExecContext(t.Context(), "PRAGMA "+pragma); err != nil {
		t.Fatal(err)
	}
}

// endless is a query that ends only when it is interrupted.
const endless = `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c`

func TestFailedCallsLeaveNothing(t *testing.T) {
	message := storagetest.NewTraffic().Message("message", 1000)
	persist := func(t *testing.T, s *Store) error {
		t.Helper()
		_, err := s.Persist(t.Context(), []storage.Message{message}, nil)
		return err
	}
	for name, c := range map[string]struct {
		fail func(t *testing.T, s *Store) error // returns a failing call's error
		mend func(t *testing.T, s *Store)
		want error
	}{
		"the disk is full": {
			fail: func(t *testing.T, s *Store) error {
				t.Helper()
				withPragma(t, s, "max_page_count = 1")
				return persist(t, s)
			},
			mend: func(t *testing.T, s *Store) {
				t.Helper()
				withPragma(t, s, "max_page_count = 1000000")
			},
			want: storage.ErrUnavailable,
		},
		"another process writes": {
			fail: func(t *testing.T, s *Store) (err error) {
				t.Helper()
				withPragma(t, s, "busy_timeout = 0")
				other := openAt(t, s.path)
				_ = other.write(t.Context(), "hold the lock", func(tx) error {
					err = persist(t, s)
					return nil
				})
				return err
			},
			want: storage.ErrUnavailable,
		},
		"the context ends while a statement writes": {
			fail: func(t *testing.T, s *Store) error {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				return s.write(ctx, "write without end", func(x tx) error {
					if _, err := x.receive([]storage.Message{message}, 1); err != nil {
						return err
					}
					_, err := x.exec(`INSERT INTO secret (name, value) ` + strings.Replace(endless, "SELECT count(*)", "SELECT n, x'00'", 1))
					return err
				})
			},
			want: context.DeadlineExceeded,
		},
		"the context ends while a statement reads": {
			fail: func(t *testing.T, s *Store) error {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				return s.read(ctx, "read without end", func(x tx) error {
					return x.query(endless, nil, func(func(...any) error) error { return nil })
				})
			},
			want: context.DeadlineExceeded,
		},
		"the context ends while others write": {
			fail: func(t *testing.T, s *Store) (err error) {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				_ = s.write(t.Context(), "hold the lock", func(tx) error {
					_, err = s.Prune(ctx, 0)
					return nil
				})
				return err
			},
			want: context.DeadlineExceeded,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			if err := c.fail(t, s); !errors.Is(err, c.want) {
				t.Fatalf("the failing call: got %v, want %v", err, c.want)
			}
			if c.mend != nil {
				c.mend(t, s)
			}
			seen, err := s.Seen(t.Context(), []string{"message"})
			if err != nil || seen[0] {
				t.Errorf("after the failure: Seen = %v, %v, want [false]", seen, err)
			}
			if err := persist(t, s); err != nil {
				t.Errorf("the next call: %v", err)
			}
			storagetest.CheckCounts(t, s)
		})
	}
}

func TestCountsAndStatesAreOfOneMoment(t *testing.T) {
	storagetest.CountsAndStatesAreOfOneMoment(t, open(t))
}

const killed = "OVATION_TEST_PERSIST_INTO"

// persistUntilKilled runs in a process that the test kills. It persists messages, and
// prints the id of each message once Persist has returned.
func persistUntilKilled(path string) error {
	s, err := Open(context.Background(), Options{Path: path})
	if err != nil {
		return err
	}
	g := storagetest.NewTraffic()
	for n := 0; ; n++ {
		id := fmt.Sprint("message-", n)
		if _, err := s.Persist(context.Background(), []storage.Message{g.Message(id, 50)}, nil); err != nil {
			return err
		}
		fmt.Println(id)
	}
}

func TestKilledProcessLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	process := exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), killed+"="+path)
	out, err := process.StdoutPipe()
	must.Succeed(t, err)
	must.Succeed(t, process.Start())
	var promised []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if promised = append(promised, lines.Text()); len(promised) == 40 {
			must.Succeed(t, process.Process.Kill())
		}
	}
	_ = process.Wait() // it was killed
	if len(promised) < 40 {
		t.Fatalf("the process acknowledged %q, want 40 messages", promised)
	}

	s := openAt(t, path)
	seen, err := s.Seen(t.Context(), promised)
	must.Succeed(t, err)
	for i, yes := range seen {
		if !yes {
			t.Errorf("%s was acknowledged and is lost, want it stored", promised[i])
		}
	}
	storagetest.CheckCounts(t, s)
}

// FuzzTextsReachSQLiteUnchanged checks that a string of arbitrary bytes reaches SQLite
// unchanged. A changed string could be the key of another row.
func FuzzTextsReachSQLiteUnchanged(f *testing.F) {
	for _, text := range []string{"", "a", `"\/`, "\x00", "\x1f\x7f", "\xff\xfe", "é👩‍👩", "\u2028", `\u0041`, "[1]"} {
		f.Add(text)
	}
	s := open(f)
	f.Fuzz(func(t *testing.T, text string) {
		var rows tuples
		rows.add([]string{text, "next"}, 7)
		var got, next string
		var number int
		err := s.read(t.Context(), "echo", func(x tx) error {
			return x.query(`SELECT value ->> 0, value ->> 1, value ->> 2 FROM jsonb_each(?)`, []any{rows.json()},
				func(scan func(...any) error) error { return scan(&got, &next, &number) })
		})
		if err != nil || got != text || next != "next" || number != 7 {
			t.Errorf("got %q, %q, %d, %v, want %q, %q, 7", got, next, number, err, text, "next")
		}
	})
}

// TestRepairFixesMoreThanItHoldsInMemory checks a repair of more wrong rows than Verify
// holds in memory. Verify must repair them in several batches.
func TestRepairFixesMoreThanItHoldsInMemory(t *testing.T) {
	s := open(t)
	m := storage.Message{ID: "1"}
	for n := range 2*sqlstore.RepairBatch + 10 {
		subject := storage.Subject{Tenant: "default", Biz: "video", BizID: fmt.Sprint(n)}
		m.Actions = append(m.Actions, storage.Action{
			User: storage.User{Tenant: "default"}, Subject: subject, Kind: storage.KindRead, Times: 3, First: 1, Version: 1,
		})
	}
	if _, err := s.Persist(t.Context(), []storage.Message{m}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.ExecContext(t.Context(), `DELETE FROM interactive`); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{len(m.Actions), 0} {
		got := 0
		n, err := s.Verify(t.Context(), true, func(storage.Difference) error {
			got++
			return nil
		})
		if got != want || n != int64(storage.CountsPerSubject*len(m.Actions)) || err != nil {
			t.Errorf("Verify reported %d differences in %d counts, %v, want %d in %d", got, n, err, want, storage.CountsPerSubject*len(m.Actions))
		}
	}
}
