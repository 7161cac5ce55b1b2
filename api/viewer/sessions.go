package viewer

import (
	"maps"
	"slices"
	"sync"

	"ovation/storage"
)

// Session is the session of an account, as its token states it. It is the zero value if
// the token does not belong to an account.
type Session struct {
	// Generation is the user's generation when the token was issued. It is at least 1.
	Generation int64
	// LoggedIn is when the user entered the password, in seconds since 1970. A token that
	// replaces an earlier one of the session keeps that time.
	LoggedIn int64
}

// Sessions holds the recent revocations of users' tokens. A revocation that is older than
// the lifetime of tokens can be pruned, because the tokens that it revokes have expired.
// All methods are safe for concurrent use.
type Sessions struct {
	mu      sync.RWMutex
	revoked map[storage.User]storage.Revocation
	watched map[storage.User]map[*watch]struct{}
}

type watch struct {
	generation int64
	call       func()
}

// NewSessions returns Sessions without revocations.
func NewSessions() *Sessions {
	return &Sessions{revoked: map[storage.User]storage.Revocation{}, watched: map[storage.User]map[*watch]struct{}{}}
}

// Revoke rejects the tokens of the user's earlier generations from now on, and ends the
// streams that use these tokens. Revocations may be repeated and may come in any order.
func (s *Sessions) Revoke(r storage.Revocation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Generation <= s.revoked[r.User].Generation {
		return
	}
	s.revoked[r.User] = r
	for w := range s.watched[r.User] {
		if w.generation < r.Generation {
			s.remove(r.User, w)
			go w.call()
		}
	}
}

// Generation returns the generation that a user's tokens must have, or 0 if no revocation
// is known.
func (s *Sessions) Generation(user storage.User) int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.revoked[user].Generation
}

// Revocations returns all known revocations, in no order.
func (s *Sessions) Revocations() []storage.Revocation {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Values(s.revoked))
}

// Prune removes the revocations made before the given time, in microseconds since 1970.
func (s *Sessions) Prune(before int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for user, r := range s.revoked {
		if r.At < before {
			delete(s.revoked, user)
		}
	}
}

// active reports whether the tokens of a user's generation are still valid.
func (s *Sessions) active(user storage.User, generation int64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return generation >= s.revoked[user].Generation
}

// watch calls f, in a goroutine of its own, once the user's tokens of the given
// generation are revoked. The returned function prevents the call of f. It returns false
// if f has already been called, or if it has itself been called before.
func (s *Sessions) watch(user storage.User, generation int64, f func()) (stop func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if generation < s.revoked[user].Generation {
		go f()
		return func() bool { return false }
	}
	w := &watch{generation, f}
	if s.watched[user] == nil {
		s.watched[user] = map[*watch]struct{}{}
	}
	s.watched[user][w] = struct{}{}
	return func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.remove(user, w)
	}
}

// remove removes a watch, and reports whether it existed. The caller holds the mutex.
func (s *Sessions) remove(user storage.User, w *watch) bool {
	of := s.watched[user]
	_, there := of[w]
	if delete(of, w); len(of) == 0 {
		delete(s.watched, user)
	}
	return there
}
