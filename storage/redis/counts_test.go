package redis

import (
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/redis/internal/counts"
	"ovation/storage/redis/internal/scripts"
	"ovation/storage/storagetest"
)

// Cached counts are removed when Redis reports that they have changed, and when the
// connection that carries these reports is lost.
func TestCacheIsInvalidatedWithTheClientsCache(t *testing.T) {
	s, server, db := openNew(t, Options{})
	isCached := func() bool {
		return len(s.counts.Cache.Get(s.epochs.Current().Keys, []storage.Subject{movie}, make([]counts.Result, 1))) == 0
	}
	read := func() bool {
		see(t, s, storage.User{Tenant: movie.Tenant}, movie)
		return isCached()
	}
	await.That(t, "the counts are cached", read)
	persist(t, db, s, storagetest.React(bob, movie, storage.Like, 10))
	await.That(t, "the cached counts are removed when they change", func() bool { return !isCached() })
	await.That(t, "the counts are cached again", read)
	if got := see(t, s, storage.User{Tenant: movie.Tenant}, movie); got.LikeCount != 1 {
		t.Errorf("got %d likes, want 1", got.LikeCount)
	}
	server.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	await.That(t, "the cached counts are removed with the connection", func() bool { return !isCached() })
}

// Counts are replaced by those of the same or a newer version, whether the subject is
// deleted or has an author. A malformed value is replaced by counts of any version.
func TestOlderCountsReplaceOnlyMalformedValues(t *testing.T) {
	s, server, _ := openNew(t, Options{})
	at := s.epochs.Current().Keys
	for _, c := range []struct {
		there string
		kept  bool
	}{
		{"11 3 2 0 0 0 0 !", true},
		{"11 3 2 0 0 0 0 @", true},
		{"11 3 2 0 0 0 0 @ann !", true},
		{"10 3 2 0 0 0 0 @", false},
		{"9 3 2 0 0 0 0 !", false},
		{"11 3 2 0 0 0 0 !x", false},
		{"11 3 2 0 0 0 0 ! ", false},
		{"11 3 2 0 0 0 0 x@", false},
		{"11 3 2 0 0 0 0 ", false},
		{"11 3 2 0 0 0 0", false},
		{"11 3 2 0 0 0 !", false},
	} {
		server.command("HSET", s.countsKey(movie), counts.Field, c.there)
		older := storage.Counts{ReadCount: 3, ReaderCount: 2, LikeCount: 1, AuthorID: "bob", Version: 10}
		must.Succeed(t, s.scripts.RunAll(t.Context(), "write counts", []scripts.Call{s.counts.Write(at, movie, older)}, nil))
		want := "10 " + counts.Text(older)
		if c.kept {
			want = c.there
		}
		if got, err := server.command("HGET", s.countsKey(movie), counts.Field).ToString(); err != nil || got != want {
			t.Errorf("counts of version 10 written over %q: got %q, %v, want %q", c.there, got, err, want)
		}
	}
}

// A slow worker publishes counts that were committed before the video was deleted.
func TestLatePublicationKeepsTheMarkOfADeletedVideo(t *testing.T) {
	s, _, db := openNew(t, Options{})
	published, _, err := s.PublishVideo(t.Context(), storage.NewVideo{
		Author: alice, Title: "film", File: "0123456789abcdef", Format: storage.MP4, Bytes: 1, Digest: "1",
	}, nil)
	must.Succeed(t, err)
	subject := published.Video.Key().Subject()
	slow, err := db.Persist(t.Context(), message(storagetest.React(bob, subject, storage.Like, 10)), s.Mark)
	must.Succeed(t, err)
	_, _, err = s.DeleteVideo(t.Context(), storage.VideoDeletion{Key: published.Video.Key(), By: alice}, nil)
	must.Succeed(t, err)
	must.Succeed(t, s.Publish(t.Context(), slow))
	got, err := countsInRedis(t.Context(), s, subject)
	must.Succeed(t, err)
	if !got.Known || !got.Deleted || got.Version <= slow.Counts[0].Version {
		t.Errorf("got the counts %+v in Redis, want those of the deletion", got)
	}
}
