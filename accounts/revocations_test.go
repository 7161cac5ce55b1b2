package accounts

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ovation/api/viewer"
	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
)

// pagedStore has pages of revocations, each of which takes a while to read.
type pagedStore struct {
	storage.Accounts

	pages int
	each  time.Duration
}

func (p pagedStore) Revocations(ctx context.Context, after storage.Revocation, limit int) ([]storage.Revocation, error) {
	select {
	case <-time.After(p.each):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	number, _ := after.User.AccountID()
	out := make([]storage.Revocation, 0, limit)
	for i := number + 1; len(out) < limit && i < int64(p.pages*limit); i++ {
		out = append(out, storage.Revocation{User: storage.AccountUser(storage.DefaultTenant, i), Generation: 1, At: after.At + 1})
	}
	return out, nil
}

// TestEachPageOfRevocationsHasItsTime starts a node that reads many pages from a slow
// database.
func TestEachPageOfRevocationsHasItsTime(t *testing.T) {
	for each, want := range map[time.Duration]error{pollTimeout - time.Second: nil, pollTimeout + time.Second: context.DeadlineExceeded} {
		synctest.Test(t, func(t *testing.T) {
			s, err := New(t.Context(), Config{
				Store: pagedStore{pages: 5, each: each}, Signer: &viewer.Signer{TTL: time.Hour}, Sessions: viewer.NewSessions(), Params: cheapParams,
			})
			if !errors.Is(err, want) {
				t.Errorf("with %v for each page: New = %v, want %v", each, err, want)
			}
			if err == nil {
				if last := storage.AccountUser(storage.DefaultTenant, 5*pollPage-1); s.Sessions.Generation(last) != 1 {
					t.Error("the last revocation is not known")
				}
				s.Close()
			}
		})
	}
}

// TestAShorterTTLRevivesNoTokens starts a node whose tokens are valid for a shorter time
// than the time since a token of an earlier node was revoked.
func TestAShorterTTLRevivesNoTokens(t *testing.T) {
	store := sqlitetest.Open(t)
	before := start(t, store, func(c *Config) { c.Signer.TTL = MaxTokenTTL })
	alice := before.register(t, "alice")
	must.Succeed(t, before.LogOutEverywhere(t.Context(), alice.User))
	later := time.Now().Add(MaxTokenTTL - time.Minute) // the token is still valid
	after := start(t, store, func(c *Config) {
		c.Signer.TTL, c.Now = time.Minute, func() time.Time { return later }
	})
	after.Sessions.Prune(after.pruneBefore())
	if err := after.accepts(alice.Token); err == nil || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("the revoked token on a node with a shorter TTL: got %v, want it revoked", err)
	}
	_, err := New(t.Context(), Config{Store: store, Signer: &viewer.Signer{TTL: MaxTokenTTL + 1}, Sessions: viewer.NewSessions()})
	if err == nil {
		t.Error("New with a longer TTL than MaxTokenTTL: got no error, want one")
	}
}

// isRevoked reports whether a site rejects a token as revoked.
func (s *site) isRevoked(token string) bool {
	err := s.accepts(token)
	return err != nil && strings.Contains(err.Error(), "revoked")
}

// TestLostRevocationsAreRestored takes back a revocation in the database, as a failover
// that loses commits does. The nodes that know it write it again, so that nodes which
// start later know it, too.
func TestLostRevocationsAreRestored(t *testing.T) {
	db := sqlitetest.OpenDatabase(t)
	a, b := start(t, db), start(t, db)
	alice, bob := a.register(t, "alice"), a.register(t, "bob")
	must.Succeed(t, a.LogOutEverywhere(t.Context(), bob.User))
	must.Succeed(t, a.LogOutEverywhere(t.Context(), alice.User))
	await.That(t, "the other node has read both revocations", func() bool { return b.isRevoked(alice.Token) && b.isRevoked(bob.Token) })
	a.Close() // its polls must not restore anything before b does
	db.Edit(t, `UPDATE account SET generation = 1, revoked = 0 WHERE name_key = 'alice'`)
	await.That(t, "the revocation is restored", func() bool {
		stored, err := db.AccountOf(t.Context(), alice.User)
		must.Succeed(t, err)
		return stored.Generation == 2
	})
	if !b.isRevoked(alice.Token) {
		t.Error("the node that knew the revocation accepts the token")
	}
	later := start(t, db)
	if !later.isRevoked(alice.Token) || !later.isRevoked(bob.Token) {
		t.Error("a node that started after the failover accepts a revoked token")
	}
	again, err := later.LogIn(t.Context(), credentials("alice", "password of alice"))
	must.Succeed(t, err)
	for _, node := range []*site{b, later} {
		must.Succeed(t, node.accepts(again.Token))
	}
}

// TestLogInRestoresALostRevocation logs in on a node that knows a revocation which the
// database has lost, before the node notices. Its own new token must be valid there.
func TestLogInRestoresALostRevocation(t *testing.T) {
	db := sqlitetest.OpenDatabase(t)
	s := start(t, db, func(c *Config) { c.PollEvery = time.Hour })
	old := s.register(t, "alice")
	changed, err := s.ChangePassword(t.Context(), old.User, clientAddress, "password of alice", "a new password")
	must.Succeed(t, err)
	lost, err := db.AccountOf(t.Context(), old.User)
	must.Succeed(t, err)
	rewind := func() {
		db.Edit(t, `UPDATE account SET generation = 1, revoked = 0 WHERE name_key = 'alice'`)
	}
	rewind()
	session, err := s.LogIn(t.Context(), credentials("alice", "a new password"))
	must.Succeed(t, err)
	must.Succeed(t, s.accepts(session.Token))
	if !s.isRevoked(old.Token) {
		t.Error("the token of before the revocation is accepted")
	}
	rewind()
	must.Succeed(t, s.LogOutEverywhere(t.Context(), old.User)) // to a generation above that of the lost tokens
	for _, token := range []string{old.Token, changed.Token, session.Token} {
		if !s.isRevoked(token) {
			t.Errorf("a token that was issued before logging out everywhere is accepted; the lost generation was %d", lost.Generation)
		}
	}
	later := start(t, db)
	if !later.isRevoked(session.Token) {
		t.Error("a later node accepts a token of a lost generation")
	}
}

// TestRevocationsByAClockThatIsBehindAreFollowed dates the known revocations an hour into
// the future, as if the database's clock had been set back, and revokes tokens.
func TestRevocationsByAClockThatIsBehindAreFollowed(t *testing.T) {
	db := sqlitetest.OpenDatabase(t)
	a := start(t, db)
	alice, bob := a.register(t, "alice"), a.register(t, "bob")
	must.Succeed(t, a.LogOutEverywhere(t.Context(), alice.User))
	db.Edit(t, `UPDATE account SET revoked = revoked + 3600000000 WHERE revoked <> 0`)
	b := start(t, db)
	if !b.isRevoked(alice.Token) || b.isRevoked(bob.Token) {
		t.Fatal("a node that has just started: want the token of one user revoked")
	}
	must.Succeed(t, a.LogOutEverywhere(t.Context(), bob.User))
	await.That(t, "the other node refuses the token", func() bool { return b.isRevoked(bob.Token) })
}
