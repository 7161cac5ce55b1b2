package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"ovation/resolvers/viewer"
	"ovation/storage"
)

const readerPrefix = "reader-"

// people are all users: those of the data, who look at pages and have a history,
// followed by those who only like. They remember what they did.
type people struct {
	names    []string
	tokens   []string
	viewers  int // number of users of the data, who come first
	subjects *drawer
	of       map[string]int // the index of a subject
	likes    []userLikes    // by user
	sent     []atomic.Int64 // likes of each subject, over all users, in this run
	acked    atomic.Int64   // likes of all
	bypassed atomic.Int64   // of these, persisted by the node itself
}

// userLikes are the likes of one user in this run.
type userLikes struct{ sent, acked set }

// set is a set of small numbers, safe for concurrent use.
type set []atomic.Uint64

func newSet(n int) set       { return make(set, (n+63)/64) }
func (s set) has(n int) bool { return s[n/64].Load()&(1<<(n%64)) != 0 }

// add returns false if the set has n already.
func (s set) add(n int) bool { return s[n/64].Or(1<<(n%64))&(1<<(n%64)) == 0 }

// without returns a number that the other set lacks, or -1 if there is none.
func (s set) without(other set) int {
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

// newPeople returns the people of the data and the readers, each with a token.
func newPeople(d *dataset, secret string) (*people, error) {
	subjects, users := d.weigh()
	p := &people{names: users.names, viewers: len(users.names), subjects: subjects, of: map[string]int{}}
	for i := range readers {
		p.names = append(p.names, readerPrefix+strconv.Itoa(i))
	}
	for i, name := range subjects.names {
		p.of[name] = i
	}
	p.sent = make([]atomic.Int64, len(subjects.names))
	for _, name := range p.names {
		token, err := viewer.Sign([]byte(secret), storage.User{Tenant: storage.DefaultTenant, UserID: name}, 2*time.Hour)
		if err != nil {
			return nil, err
		}
		p.tokens = append(p.tokens, token)
		p.likes = append(p.likes, userLikes{newSet(len(subjects.names)), newSet(len(subjects.names))})
	}
	return p, nil
}

// again returns the same users without the likes of this run.
func (p *people) again() *people {
	other := &people{names: p.names, tokens: p.tokens, viewers: p.viewers, subjects: p.subjects, of: p.of}
	other.sent = make([]atomic.Int64, len(p.sent))
	for range p.names {
		other.likes = append(other.likes, userLikes{newSet(len(p.sent)), newSet(len(p.sent))})
	}
	return other
}

// fresh draws a subject that a user has not liked in this run, weighted by popularity,
// and records the like as sent. It returns -1 if the user likes nearly everything.
func (p *people) fresh(user int, random *rand.Rand) int {
	for range 200 {
		if subject := p.subjects.draw(random); p.send(user, subject) {
			return subject
		}
	}
	return -1
}

// send records a like as sent, and returns false if it was sent before. ack records it
// as acknowledged.
func (p *people) send(user, subject int) bool {
	if !p.likes[user].sent.add(subject) {
		return false
	}
	p.sent[subject].Add(1)
	return true
}

func (p *people) ack(user, subject int) {
	p.likes[user].acked.add(subject)
	p.acked.Add(1)
}

// check compares the likes of this run with those in Postgres: every acknowledged like
// must be there, and none that was not sent.
func (b *bench) check(ctx context.Context, s *side) error {
	p := s.people
	index := make(map[string]int, len(p.names))
	stored := make([]set, len(p.names))
	for i, name := range p.names {
		index[name], stored[i] = i, newSet(len(p.of))
	}
	rows, err := b.site.database.Query(ctx, s.stored)
	if err != nil {
		return fmt.Errorf("read likes from Postgres: %w", err)
	}
	var of pair
	_, err = pgx.ForEachRow(rows, []any{&of.user, &of.subject}, func() error {
		user, known := index[of.user]
		subject, there := p.of[of.subject]
		if !known || !there {
			return fmt.Errorf("%s likes %s, although no such like was sent", of.user, of.subject)
		}
		if _, before := b.stored.liked[of]; !before {
			stored[user].add(subject)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("compare likes with Postgres: %w", err)
	}
	for i := range p.names {
		if subject := p.likes[i].acked.without(stored[i]); subject >= 0 {
			return fmt.Errorf("an acknowledged like is not in Postgres: %s of %s", p.names[i], p.subjects.names[subject])
		}
		if subject := stored[i].without(p.likes[i].sent); subject >= 0 {
			return fmt.Errorf("a like in Postgres was never sent: %s of %s", p.names[i], p.subjects.names[subject])
		}
	}
	return nil
}
