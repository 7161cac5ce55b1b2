package redis

import (
	"slices"
	"testing"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/storage/storagetest"
)

func declare(of storage.Subject, author string, since int64) storage.Action {
	return storage.Action{User: storage.User{Tenant: of.Tenant}, Subject: of, Kind: storage.KindAuthor, Author: author, Version: since}
}

// An author is stored with the subject's counts. The node on which the author is declared
// shows the author immediately; other nodes show the author as soon as they would show
// changed counts. When counts change, the author stays.
func TestAuthorsLieBesideTheCounts(t *testing.T) {
	server, db := startServer(t), openDatabase(t)
	s, other := open(t, Options{URL: server.url(), Database: db}), open(t, Options{URL: server.url(), Database: db})
	const author = "ann @ home 7" // every kind of character that an id may contain
	for _, node := range []*Store{s, other} {
		if got := see(t, node, alice, movie); got.AuthorID != "" || got.Author() != nil {
			t.Errorf("initially: got the author %q, want none", got.AuthorID)
		}
	}
	outcome, err := s.Persist(t.Context(), message(declare(movie, author, 5)), nil)
	must.Succeed(t, err)
	if got := see(t, s, alice, movie); got.AuthorID != author || got.Version != 1 || got.Freshness != storage.Live {
		t.Errorf("after the declaration: got %+v, want the author %q, version 1, %s; the outcome is %+v", got, author, storage.Live, outcome)
	}
	await.That(t, "another node shows the author", func() bool { return see(t, other, bob, movie).AuthorID == author })

	must.Succeed(t, other.Apply(t.Context(), []storage.Action{storagetest.React(alice, movie, storage.Like, 10)}, storage.Queued, nil))
	if got := see(t, s, alice, movie); got.AuthorID != author || got.LikeCount != 1 {
		t.Errorf("with a queued like: got %+v, want 1 like, the author %q", got, author)
	}
	persist(t, db, s, storagetest.React(alice, movie, storage.Like, 10))
	for _, node := range []*Store{s, other} {
		await.That(t, "each node shows the like and the author", func() bool {
			got := see(t, node, bob, movie)
			return got.AuthorID == author && got.LikeCount == 1
		})
	}
	fresh := open(t, Options{URL: server.url(), Database: db}) // has cached nothing, so that it reads from Redis
	if got := see(t, fresh, bob, movie); got.AuthorID != author || got.LikeCount != 1 {
		t.Errorf("a new node shows %+v, want 1 like, the author %q", got, author)
	}
	await.That(t, "the author is cached", func() bool {
		see(t, fresh, bob, movie)
		return slices.Equal(fresh.CachedAuthors([]storage.Subject{video("unread"), movie}), []string{"", author})
	})
	_, err = other.Persist(t.Context(), message(declare(movie, "", 6)), nil)
	must.Succeed(t, err)
	if got := see(t, other, alice, movie); got.AuthorID != "" || got.LikeCount != 1 {
		t.Errorf("after the author was removed: got %+v, want 1 like, no author", got)
	}
	wantNoMismatch(t, s)
}
