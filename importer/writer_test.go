package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ovation/internal/testing/must"
	"ovation/storage"
)

// overlapped is a store whose first transaction writes its rows and then waits until the
// second transaction has begun. A test can make either transaction fail.
type overlapped struct {
	Store

	fault      error // returned by the first transaction
	late       error // returned by the second transaction when it is marked
	unready    error // returned by the first attempt at the second transaction
	begun      chan struct{}
	calls      atomic.Int64
	committed  atomic.Int64
	overlapped bool
}

func (o *overlapped) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	n := o.calls.Add(1)
	if n == 2 {
		close(o.begun)
		if o.unready != nil {
			return storage.Outcome{}, o.unready
		}
		// A database would wait here for the locks of the first transaction.
		if err := mark(ctx, storage.Outcome{}); err != nil {
			return storage.Outcome{}, err
		}
	}
	out, err := o.Store.Persist(ctx, messages, func(ctx context.Context, outcome storage.Outcome) error {
		if err := mark(ctx, outcome); err != nil || n > 2 {
			return err
		}
		if n == 2 {
			return o.late
		}
		select {
		case <-o.begun:
			o.overlapped = true
		case <-time.After(2 * time.Minute):
		}
		return o.fault
	})
	if err == nil {
		o.committed.Add(1)
	}
	return out, err
}

// TestAGroupIsCommittedAfterTheOneBefore checks that a group begins while the group
// before it is marked and committed. The later group must be committed after the earlier
// group or not at all.
func TestAGroupIsCommittedAfterTheOneBefore(t *testing.T) {
	lines := make([]line, 6)
	for i := range lines {
		lines[i] = line{"ann", "1", "read", 1500000000 + int64(i)}
	}
	errFull := errors.New("the disk is full")
	for _, c := range []struct {
		name      string
		fault     error
		unready   error
		late      error
		committed int64
		reads     int64
	}{
		{"all goes well", nil, nil, nil, 3, 6},
		{"the first one fails", errFull, nil, nil, 0, 0},
		{"the first one is unavailable", storage.ErrUnavailable, nil, nil, 0, 0},
		{"the second one has waited for too long", nil, storage.ErrUnavailable, nil, 3, 6},
		{"the second one fails", nil, errFull, nil, 1, 2},
		{"the second one fails when the third one has begun", nil, nil, storage.ErrUnavailable, 1, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &overlapped{Store: openStore(t), fault: c.fault, unready: c.unready, late: c.late, begun: make(chan struct{})}
			err := importLines(t, o, storage.DefaultTenant, lines, 2, 2)
			if want := cmp.Or(c.fault, c.late, c.unready); c.committed < 3 && !errors.Is(err, want) || c.committed == 3 && err != nil {
				t.Errorf("importLines = %v, want %v (nil if all 3 groups are committed, here %d)", err, want, c.committed)
			}
			if !o.overlapped {
				t.Error("the second group did not begin while the first one was under way")
			}
			if got := readsOf(t, o.Store.(storage.Store), storage.DefaultTenant); o.committed.Load() != c.committed || got != c.reads {
				t.Errorf("%d groups and %d reads are there, want %d and %d", o.committed.Load(), got, c.committed, c.reads)
			}
			must.Succeed(t, importLines(t, o.Store, storage.DefaultTenant, lines, 2, 2))
			if got := readsOf(t, o.Store.(storage.Store), storage.DefaultTenant); got != 6 {
				t.Errorf("%d reads are stored, want 6", got)
			}
		})
	}
}

// ordered is a store that checks the order in which states are written.
type ordered struct {
	Store

	t    *testing.T
	last storage.Action
	rows int
}

func (o *ordered) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	for _, m := range messages {
		for _, a := range m.Actions {
			if o.rows > 0 && cmp.Or(strings.Compare(o.last.User.UserID, a.User.UserID), strings.Compare(o.last.Subject.BizID, a.Subject.BizID)) >= 0 {
				o.t.Errorf("%s, %s is written after %s, %s, want the order of the keys", a.User.UserID, a.Subject.BizID, o.last.User.UserID, o.last.Subject.BizID)
			}
			o.last = a
			o.rows++
		}
	}
	return o.Store.Persist(ctx, messages, mark)
}

// TestABlockIsWrittenInTheOrderOfItsKeys checks that the random keys of a file are
// written in order, so that a page of a table or index is written once per block and not
// once per group.
func TestABlockIsWrittenInTheOrderOfItsKeys(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	lines := make([]line, 500)
	for i := range lines {
		lines[i] = line{fmt.Sprintf("user-%03d", random.IntN(100)), strconv.Itoa(random.IntN(10)), "read", 1500000000 + int64(i)}
	}
	store := openStore(t)
	o := &ordered{Store: store, t: t}
	must.Succeed(t, importLines(t, o, storage.DefaultTenant, lines, len(lines), 20))
	if o.rows < 300 {
		t.Errorf("%d states were written, want at least 300", o.rows)
	}
	if got := readsOf(t, store, storage.DefaultTenant); got != int64(len(lines)) {
		t.Errorf("there are %d reads, want %d", got, len(lines))
	}
}

// TestProgressDoesNotWaitForMoreRows checks that the progress of written rows is reported
// while the import waits for more of the file.
func TestProgressDoesNotWaitForMoreRows(t *testing.T) {
	told := make(chan Progress, 10)
	later, end := io.Pipe()
	const block = 1000
	rows := strings.NewReader(header + strings.Repeat("ann,1,read,1500000000\n", block))
	src, err := Open(t.Context(), "-", io.MultiReader(rows, later), "csv")
	must.Succeed(t, err)
	store := openStore(t)
	result := make(chan error, 1)
	go func() {
		_, err := Import(t.Context(), store, src, Options{Mapping: testMapping(), block: block, Progress: func(p Progress) { told <- p }})
		result <- err
	}()
	select {
	case p := <-told:
		if p.Rows != block {
			t.Errorf("progress reports %d rows, want %d", p.Rows, block)
		}
	case <-time.After(time.Minute):
		t.Error("no progress was reported within a minute, want it before more rows come")
	}
	must.Succeed(t, end.Close())
	must.Succeed(t, <-result)
	must.Succeed(t, src.Close())
}
