package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
	"ovation/storage"
	"ovation/storage/storagetest"
)

// startPair starts a primary with all tables, and a standby that the primary's commits
// wait for. The result at is the URL of the primary.
func startPair(tb testing.TB) (primary, standby *ownServer, at string) {
	tb.Helper()
	primary = startServer(tb)
	at = primary.url(tb, "127.0.0.1")
	postgrestest.Migrate(tb, at)
	return primary, startStandby(tb, primary), at
}

// startStandby starts a standby of a server and makes the server's commits wait for it.
func startStandby(tb testing.TB, primary *ownServer) *ownServer {
	tb.Helper()
	s := newServer(tb, primary.password)
	run(tb, exec.Command(filepath.Join(programsOf(tb), "pg_basebackup"), "-D", filepath.Join(s.folder, "data"),
		"-d", primary.url(tb, "127.0.0.1"), "-R", "-X", "stream", "-c", "fast", "--no-sync"))
	tb.Cleanup(s.stop)
	s.start(tb)
	postgrestest.Exec(tb, primary.url(tb, "127.0.0.1"), `ALTER SYSTEM SET synchronous_standby_names = '*'`, `SELECT pg_reload_conf()`)
	await.That(tb, "the standby is synchronous", func() bool {
		return ask[bool](tb, primary.url(tb, "127.0.0.1"), `SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'`)
	})
	return s
}

// waitingCommits counts the commits that wait for the standby.
const waitingCommits = `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`

// TestRepeatedPersistWaitsForTheStandby checks that a repeated call waits until the
// commit of the first call has reached the standby, even though the first call stopped
// waiting before that.
func TestRepeatedPersistWaitsForTheStandby(t *testing.T) {
	t.Parallel()
	_, standby, at := startPair(t)
	s := openAt(t, Options{URL: at, Logger: slog.New(slog.DiscardHandler)})
	folder, err := s.CreateFolder(t.Context(), storage.Folder{Owner: alice, Name: "Films", Created: 1})
	must.Succeed(t, err)
	version := int64(0)
	persist := func(action storage.Action) func(context.Context) error {
		version++
		action.User, action.Subject, action.Version = alice, movie, version
		message := storage.Message{ID: rand.Text(), Actions: []storage.Action{action}}
		return func(ctx context.Context) error {
			_, err := s.Persist(ctx, []storage.Message{message, message}, nil)
			return err
		}
	}
	for ended, end := range map[string]string{
		"cancelled":  `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`,
		"terminated": `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`,
	} {
		for what, write := range map[string]func(context.Context) error{
			"a reaction":   persist(storage.Action{Kind: storage.KindReaction, Reaction: storage.Like}),
			"a read":       persist(storage.Action{Kind: storage.KindRead, Times: 1, First: 1}),
			"a collection": persist(storage.Action{Kind: storage.KindCollection, FolderID: storage.DefaultFolderID}),
			"a folder": func(ctx context.Context) error {
				name := "Films " + ended
				_, err := s.UpdateFolder(ctx, folder.Key(), storage.FolderChange{Name: &name}, storage.Time(2))
				return err
			},
		} {
			t.Run(fmt.Sprint(what, " is ", ended), func(t *testing.T) {
				standby.stop()
				waiting := func() int64 { return ask[int64](t, at, waitingCommits) }
				done := make(chan error, 1)
				go func() { done <- write(t.Context()) }()
				await.That(t, "the commit waits for the standby", func() bool { return waiting() == 1 })
				postgrestest.Exec(t, at, end)
				if err := <-done; !errors.Is(err, storage.ErrUnavailable) {
					t.Errorf("a call whose commit was cut short: got %v, want %v", err, storage.ErrUnavailable)
				}
				await.That(t, "no commit waits for the standby", func() bool { return waiting() == 0 })
				go func() { done <- write(t.Context()) }()
				await.That(t, "the second commit waits, or has ended", func() bool { return waiting() == 1 || len(done) == 1 })
				if len(done) == 1 {
					t.Errorf("the repeated call returned %v, want it to wait for the standby", <-done)
					done <- nil
				}
				standby.start(t)
				if err := <-done; err != nil {
					t.Errorf("the repeated call, with the standby: %v", err)
				}
			})
		}
	}
	storagetest.CheckCounts(t, s)
}

// TestHangingCommitIsReported checks that a commit that waits for the standby is reported
// while it waits, and that reads continue.
func TestHangingCommitIsReported(t *testing.T) {
	t.Parallel()
	_, standby, at := startPair(t)
	log := make(logLines, 1000)
	s := openAt(t, Options{URL: at, MaxConns: 4, Logger: slog.New(slog.NewTextHandler(log, nil))})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s.Collectors()...)
	must.Succeed(t, s.Stalled())
	standby.stop()
	done := make(chan error, 1)
	go func() {
		_, err := s.Persist(t.Context(), []storage.Message{storagetest.NewTraffic().Message("1", 10)}, nil)
		done <- err
	}()
	await.That(t, "the commit is reported", func() bool { return s.Stalled() != nil })
	if err := s.Stalled(); !errors.Is(err, storage.ErrUnavailable) || !strings.Contains(err.Error(), "standby") {
		t.Errorf("Stalled() = %v, want %v that names the standby", err, storage.ErrUnavailable)
	}
	if wait := metric(t, registry, "commit_wait_seconds", ""); wait < slowCommit.Seconds() {
		t.Errorf("the metric of the hanging commit is %v s, want at least %v", wait, slowCommit.Seconds())
	}
	must.Succeed(t, s.Ping(t.Context()))
	second := make(chan error, 1)
	go func() {
		like := storage.Action{ // on a row that the first transaction has not locked
			User: alice, Subject: storage.Subject{Tenant: "default", Biz: "article", BizID: "1"},
			Kind: storage.KindReaction, Reaction: storage.Like, Version: 1,
		}
		_, err := s.Persist(t.Context(), []storage.Message{{ID: "2", Actions: []storage.Action{like}}}, nil)
		second <- err
	}()
	await.That(t, "the second transaction is refused or waits as well", func() bool { return len(second) == 1 || ask[int64](t, at, waitingCommits) == 2 })
	if len(second) == 0 {
		t.Error("a second commit hangs, and takes a connection from readers, want it refused")
	} else if err := <-second; !errors.Is(err, storage.ErrUnavailable) || !strings.Contains(err.Error(), "commits hang") {
		t.Errorf("a second transaction: got %v, want %v that says %q", err, storage.ErrUnavailable, "commits hang")
	}
	if _, err := s.Epoch(t.Context()); err != nil {
		t.Errorf("Epoch while a commit hangs: %v", err)
	}
	standby.start(t)
	must.Succeed(t, <-done)
	if err := s.Stalled(); err != nil {
		t.Errorf("after the commit returned: Stalled() = %v, want nil", err)
	}
	await.That(t, `"commits hang" is logged`, func() bool { return len(log) > 0 && strings.Contains(<-log, "commits hang") })
}

// logLines receives the lines of a log.
type logLines chan string

func (l logLines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// TestCommitHangsAfterTwoSeconds checks that a commit counts as hanging from two seconds
// after it was sent until it returns.
func TestCommitHangsAfterTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Store{commits: newCommitTracker(slog.New(slog.DiscardHandler), 1)}
		want := func(when string, hangs bool) {
			t.Helper()
			stalled, refused := s.Stalled(), s.commits.checkHung()
			if errors.Is(stalled, storage.ErrUnavailable) != hangs || errors.Is(refused, storage.ErrUnavailable) != hangs {
				t.Errorf("%s: got %v, %v, want both unavailable: %t", when, stalled, refused, hangs)
			}
		}
		end := s.commits.begin()
		time.Sleep(2*time.Second - time.Nanosecond)
		want("just before", false)
		time.Sleep(time.Nanosecond)
		want("after two seconds", true)
		end()
		want("once it has returned", false)
	})
}

// TestCommitWaitsForAStandbyAsLongAsItTakes checks that the store does not abandon a
// commit that waits for the standby, however long the wait takes. Meanwhile, the changes
// must not be visible.
func TestCommitWaitsForAStandbyAsLongAsItTakes(t *testing.T) {
	t.Parallel()
	primary, standby, at := startPair(t)
	version := int64(0)
	hang := func() (*Store, context.CancelFunc, chan error) {
		t.Helper()
		caller, leave := context.WithCancel(t.Context())
		t.Cleanup(leave)
		s := openAt(t, Options{URL: at, Logger: slog.New(slog.DiscardHandler)})
		s.commits.checkAfter = 4 * time.Second // by then, the commit waits for the standby
		version++
		like := storage.Action{User: alice, Subject: movie, Kind: storage.KindReaction, Reaction: storage.Like, Version: version}
		done := make(chan error, 1)
		go func() {
			outcome, err := s.Persist(caller, []storage.Message{{ID: rand.Text(), Actions: []storage.Action{like}}}, nil)
			if outcome.Skipped > 0 {
				err = errors.Join(err, errors.New("it was persisted twice"))
			}
			done <- err
		}()
		await.That(t, "the commit waits for the standby, and the store has found that it does", func() bool {
			const asked = `SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
			return ask[bool](t, at, asked) && s.commits.oldest() > s.commits.checkAfter+time.Second
		})
		return s, leave, done
	}

	standby.stop()
	s, _, done := hang()
	got, err := s.Interactives(t.Context(), alice, []storage.Subject{movie}, storage.AllKinds)
	must.Succeed(t, err)
	if got[0].LikeCount != 0 || got[0].Liked != nil || len(done) > 0 {
		t.Errorf("while the commit waits: got %+v, %d calls ended, want no like, none ended", got[0], len(done))
	}
	standby.start(t)
	must.Succeed(t, <-done)

	standby.stop()
	_, leave, done := hang()
	leave()
	if err := <-done; !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("Persist whose caller left: got %v, want %v", err, storage.ErrUnavailable)
	}

	_, _, done = hang()
	primary.stop()
	if err := <-done; !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("Persist whose server crashed: got %v, want %v", err, storage.ErrUnavailable)
	}
}
