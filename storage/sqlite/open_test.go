package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/storagetest"
)

func TestOpenMakesFolderAndFileForTheOwnerAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "folder", "what? 100% #1.db")
	s := openAt(t, path)
	must.Succeed(t, s.Ping(t.Context()))
	for name, want := range map[string]os.FileMode{
		filepath.Dir(path): 0o700 | os.ModeDir, path: 0o600, path + "-wal": 0o600,
	} {
		info, err := os.Stat(name)
		must.Succeed(t, err)
		if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
		}
	}
}

func TestOpenErrorsNameTheCause(t *testing.T) {
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	write := func(name string, content []byte) string {
		must.Succeed(t, os.WriteFile(path(name), content, 0o600))
		return path(name)
	}
	newer := path("newer.db")
	s := openAt(t, newer)
	if _, err := s.db.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)`); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, s.Close())
	for name, c := range map[string]struct {
		path string
		says string
		is   error
	}{
		"no path":           {"", "path is required", storage.ErrUnavailable},
		"a folder":          {folder, "is a directory", storage.ErrUnavailable},
		"in a file":         {filepath.Join(write("file", nil), "x.db"), "not a directory", storage.ErrUnavailable},
		"no database":       {write("text.db", bytes.Repeat([]byte("no database "), 1000)), "not a database", nil},
		"of a newer schema": {newer, "version 99, this release knows versions up to ", storage.ErrNewerSchema},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), Options{Path: c.path})
			if err == nil {
				t.Fatalf("Open: got no error, want one that says %q", c.says)
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("Open = %v, want %v", err, c.is)
			}
			for _, part := range []string{c.says, c.path} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("Open = %v, want it to contain %q", err, part)
				}
			}
		})
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, Options{Path: filepath.Join(t.TempDir(), "x.db")}); !errors.Is(err, context.Canceled) {
		t.Errorf("Open with a cancelled context: got %v, want %v", err, context.Canceled)
	}
}

func TestManyOpenANewDatabaseAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			s, err := Open(t.Context(), Options{Path: path})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Ping(t.Context()); err != nil {
				t.Errorf("Ping: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	group.Wait()
}

func TestCloseLeavesOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	s := openAt(t, path)
	if _, err := s.Persist(t.Context(), []storage.Message{storagetest.NewTraffic().Message("1", 100)}, nil); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, s.Close())
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("after Close: got the files %v, %v, want one", files, err)
	}
}

func TestEveryCommitIsSynced(t *testing.T) {
	s := open(t)
	c := <-s.writer
	defer func() { s.writer <- c }()
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2"} {
		var got string
		if err := c.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil && !errors.Is(err, sql.ErrNoRows) {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s is %q, want %q", pragma, got, want)
		}
	}
}

// TestOpenBringsAnOldDatabaseUpToDate checks that a database with the first version of
// the schema is migrated and loses nothing.
func TestOpenBringsAnOldDatabaseUpToDate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.db")
	s := openAt(t, path)
	user := storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}
	movie := storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: "1"}
	like := func(id string, version int64, reaction storage.Reaction) storage.Message {
		return storage.Message{ID: id, Actions: []storage.Action{
			{User: user, Subject: movie, Kind: storage.KindReaction, Reaction: reaction, Version: version},
		}}
	}
	reads := storage.Message{ID: "reads"}
	for _, id := range []string{"", "alice", "bob"} {
		reader := storage.User{Tenant: storage.DefaultTenant, UserID: id}
		reads.Actions = append(reads.Actions, storage.Action{User: reader, Subject: movie, Kind: storage.KindRead, Times: 3, First: 1, Version: 2})
	}
	if _, err := s.Persist(t.Context(), []storage.Message{like("a", 1, storage.Like), reads}, nil); err != nil {
		t.Fatal(err)
	}
	// These statements undo every migration after the first. For a new migration, add the
	// statements that undo it.
	for _, back := range []string{
		`ALTER TABLE user_reaction DROP COLUMN unlike`, `ALTER TABLE user_reaction DROP COLUMN undislike`,
		`DROP TABLE user_follow`, `ALTER TABLE interactive DROP COLUMN follower_count`,
		`DROP INDEX works`, `ALTER TABLE interactive DROP COLUMN author`, `ALTER TABLE interactive DROP COLUMN authored`, `ALTER TABLE interactive DROP COLUMN reader_count`, `DROP TABLE user_totals`, `DROP TABLE user_comments`,
		`DROP TABLE deleted_folder`, `DROP TABLE cleared_read`, `DROP TABLE comment`, `DROP TABLE comment_count`, `DROP TABLE request`, `DROP TABLE mailbox`, `DROP TABLE message`, `DROP TABLE conversation`,
		`DROP TABLE deleted_subject`, `DROP INDEX collectors`, `DROP INDEX dislikers`, `ALTER TABLE interactive DROP COLUMN deleted`,
		`DROP TABLE account`, `DROP TABLE account_name`, `DROP TABLE video`, `DROP TABLE video_number`, `DROP TABLE erased_user`, `DROP INDEX unset_reactions_to_people`, `DROP INDEX unset_collections_of_people`, `DROP INDEX reads_of_people`, `DROP TABLE event_stream`, `DROP TABLE event_log`, `DROP TABLE event_consumer`, `DROP TABLE dead_event`, `DROP TABLE trend_bucket`, `DROP TABLE trend_score`, `DROP TABLE search_word`,
		`DELETE FROM goose_db_version WHERE version_id > 1`,
	} {
		if _, err := s.db.ExecContext(t.Context(), back); err != nil {
			t.Fatal(err)
		}
	}
	must.Succeed(t, s.Close())
	s = openAt(t, path)
	if totals, err := s.TotalsOf(t.Context(), []storage.User{user}); err != nil || totals[0] != (storage.UserTotals{Likes: 1}) {
		t.Errorf("TotalsOf a user with rows of the older schema = %+v, %v, want 1 like", totals, err)
	}
	if got, err := s.Interactives(t.Context(), user, []storage.Subject{movie}, 0); err != nil || got[0].ReadCount != 9 || got[0].ReaderCount != 2 {
		t.Errorf("Interactives of the older schema = %+v, %v, want 9 reads by 2 users", got, err)
	}
	if _, err := s.Persist(t.Context(), []storage.Message{like("b", 2, storage.Dislike)}, nil); err != nil {
		t.Fatal(err)
	}
	found, err := s.Interactives(t.Context(), user, []storage.Subject{movie}, storage.KindsOf(storage.KindReaction))
	if err != nil || found[0].LikeCount != 0 || found[0].DislikeCount != 1 {
		t.Errorf("got %+v, %v, want 0 likes, 1 dislike", found, err)
	}
}
