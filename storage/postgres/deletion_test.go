package postgres

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
	"ovation/storage"
)

// DeleteVideo marks the subject even if a declaration with a later version commits while
// the deletion waits for the row of the subject.
func TestDeletionMarksDespiteAConcurrentDeclaration(t *testing.T) {
	t.Parallel()
	at := postgrestest.Schema(t)
	s := openAt(t, Options{URL: at})
	alice := storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}
	published, _, err := s.PublishVideo(t.Context(), storage.NewVideo{
		Author: alice, Title: "film", File: "0123456789abcdef", Format: storage.MP4, Bytes: 1, Digest: "1",
	}, nil)
	must.Succeed(t, err)
	c, err := pgx.Connect(t.Context(), at)
	must.Succeed(t, err)
	t.Cleanup(func() { _ = c.Close(t.Context()) })
	_, err = c.Exec(t.Context(), fmt.Sprintf(`BEGIN; UPDATE interactive SET authored = %d WHERE biz = 'video'`, int64(1)<<60))
	must.Succeed(t, err)
	deleted := make(chan error, 1)
	go func() {
		_, _, err := s.DeleteVideo(t.Context(), storage.VideoDeletion{Key: published.Video.Key(), By: alice}, nil)
		deleted <- err
	}()
	await.That(t, "the deletion waits for the row of the subject", func() bool {
		return len(deleted) > 0 || ask[bool](t, at, `SELECT count(*) > 0 FROM pg_stat_activity JOIN pg_locks USING (pid)
			WHERE wait_event_type = 'Lock' AND relation = 'interactive'::regclass`)
	})
	_, err = c.Exec(t.Context(), `COMMIT`)
	must.Succeed(t, err)
	must.Succeed(t, <-deleted)
	if !ask[bool](t, at, `SELECT deleted > 0 AND author = '' FROM interactive WHERE biz = 'video'`) {
		t.Error("the subject is not marked as deleted, or has an author")
	}
}
