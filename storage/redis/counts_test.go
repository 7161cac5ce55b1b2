package redis

import (
	"testing"

	"ovation/storage"
	"ovation/storage/redis/internal/counts"
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
	eventually(t, "the counts are cached", read)
	persist(t, db, s, react(bob, movie, storage.Like, 10))
	eventually(t, "the cached counts are removed when they change", func() bool { return !isCached() })
	eventually(t, "the counts are cached again", read)
	if got := see(t, s, storage.User{Tenant: movie.Tenant}, movie); got.LikeCount != 1 {
		t.Errorf("got %d likes, want 1", got.LikeCount)
	}
	server.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	eventually(t, "the cached counts are removed with the connection", func() bool { return !isCached() })
}
