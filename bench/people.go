package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

const readerPrefix = "reader-"

// userPool holds all users and their likes in this run. names lists the viewers first,
// then the readers. The viewers are the users in the data. They have a history, and they
// request pages. The readers only send likes.
type userPool struct {
	names         []string
	tokens        []string
	viewerCount   int // number of viewers, which come first in names
	subjects      *sampler
	subjectIndex  map[string]int // index of each subject, by name
	likes         []userLikes    // by index of the user
	sent          []atomic.Int64 // number of likes sent, by index of the subject
	acked         atomic.Int64   // number of acknowledged likes
	bypassedQueue atomic.Int64   // number of likes that the node persisted itself, without the queue
}

// userLikes holds the likes of one user in this run.
type userLikes struct{ sent, acked bitset }

// bitset is a set of small numbers. It is safe for concurrent use.
type bitset []atomic.Uint64

func newBitset(n int) bitset    { return make(bitset, (n+63)/64) }
func (s bitset) has(n int) bool { return s[n/64].Load()&(1<<(n%64)) != 0 }

// add adds n. It returns false if s already contains n.
func (s bitset) add(n int) bool { return s[n/64].Or(1<<(n%64))&(1<<(n%64)) == 0 }

// firstNotIn returns the lowest number that is in s but not in the other set, or -1 if
// there is none.
func (s bitset) firstNotIn(other bitset) int {
	for i := range s {
		if left := s[i].Load() &^ other[i].Load(); left != 0 {
			for n := range 64 {
				if left&(1<<n) != 0 {
					return 64*i + n
				}
			}
		}
	}
	return -1
}

// newUserPoolFromData returns the users in the data and the readers, each with a token.
func newUserPoolFromData(d *dataset, secret string) (*userPool, error) {
	subjects, users := d.samplers()
	names := slices.Clone(users.names)
	for i := range readerCount {
		names = append(names, readerPrefix+strconv.Itoa(i))
	}
	p, err := newUserPool(names, subjects, secret)
	if err != nil {
		return nil, err
	}
	p.viewerCount = len(users.names)
	for i := range p.likes {
		p.likes[i] = userLikes{newBitset(len(subjects.names)), newBitset(len(subjects.names))}
	}
	return p, nil
}

// withoutLikes returns a pool of the same users without any likes.
func (p *userPool) withoutLikes() *userPool {
	other := &userPool{names: p.names, tokens: p.tokens, viewerCount: p.viewerCount, subjects: p.subjects, subjectIndex: p.subjectIndex}
	other.sent = make([]atomic.Int64, len(p.sent))
	for range p.names {
		other.likes = append(other.likes, userLikes{newBitset(len(p.sent)), newBitset(len(p.sent))})
	}
	return other
}

// drawUnliked draws a subject that the user has not liked in this run, weighted by
// popularity, and records the like as sent. It returns -1 if 200 draws yield no such
// subject.
func (p *userPool) drawUnliked(user int, random *rand.Rand) int {
	for range 200 {
		if subject := p.subjects.draw(random); p.recordSent(user, subject) {
			return subject
		}
	}
	return -1
}

// recordSent records that the user sends a like of the subject. It returns false if the
// like is already recorded.
func (p *userPool) recordSent(user, subject int) bool {
	if !p.likes[user].sent.add(subject) {
		return false
	}
	p.sent[subject].Add(1)
	return true
}

// recordAcked records that the user's like of the subject was acknowledged.
func (p *userPool) recordAcked(user, subject int) {
	p.likes[user].acked.add(subject)
	p.acked.Add(1)
}

// checkLikes compares the likes of this run with those in Postgres. Every acknowledged
// like must be stored, and no like may be stored that was not sent.
func (b *bench) checkLikes(ctx context.Context, s *system) error {
	p := s.users
	index := make(map[string]int, len(p.names))
	stored := make([]bitset, len(p.names))
	for i, name := range p.names {
		index[name], stored[i] = i, newBitset(len(p.subjectIndex))
	}
	rows, err := b.installation.database.Query(ctx, s.likesQuery)
	if err != nil {
		return fmt.Errorf("read likes from Postgres: %w", err)
	}
	var of stateKey
	_, err = pgx.ForEachRow(rows, []any{&of.user, &of.subject}, func() error {
		user, known := index[of.user]
		subject, there := p.subjectIndex[of.subject]
		if !known || !there {
			return fmt.Errorf("%s likes %s, although no such like was sent", of.user, of.subject)
		}
		if _, before := b.initialState.liked[of]; !before {
			stored[user].add(subject)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("compare likes with Postgres: %w", err)
	}
	for i := range p.names {
		if subject := p.likes[i].acked.firstNotIn(stored[i]); subject >= 0 {
			return fmt.Errorf("an acknowledged like is not in Postgres: %s of %s", p.names[i], p.subjects.names[subject])
		}
		if subject := stored[i].firstNotIn(p.likes[i].sent); subject >= 0 {
			return fmt.Errorf("a like in Postgres was never sent: %s of %s", p.names[i], p.subjects.names[subject])
		}
	}
	return nil
}
