package redis

import (
	"sync"
	"time"

	"github.com/redis/rueidis"

	"ovation/storage"
)

// maxNear is how many subjects' counts a process keeps ready: some 20 MB, 50 MB
// where all names are as long as can be.
const maxNear = 100_000

// near are the counts that this process has read through the client's cache and
// that Redis has not told to have changed since. To ask that cache for a page
// costs more than everything else a page needs of Redis: each reply has to be
// asked for by name, and read again. What is near goes when Redis tells that
// it has changed, when its connection is lost, and at the end of the life that the
// cache gave it.
//
// Whoever is about to read takes the places of what is missing, and puts in what
// comes only where the place is still theirs: what has changed meanwhile has
// lost it.
type near struct {
	until func(rueidis.RedisResult) int64 // how long the client's cache keeps a reply

	mu    sync.RWMutex
	of    map[storage.Subject]*nearby
	turns int64
}

func newNear() *near {
	return &near{until: rueidis.RedisResult.CachePXAT, of: make(map[storage.Subject]*nearby)}
}

// nearby are the counts of one subject.
type nearby struct {
	storage.Counts

	epoch int64 // whose keys they were under
	until int64 // in milliseconds of the Unix clock; 0 or less while they are not known
	turn  int64 // who puts them in
}

// find answers what is near, and returns the indices of what is not.
func (n *near) find(at *epoch, subjects []storage.Subject, out []counted) (left []int) {
	now := time.Now().UnixMilli()
	n.mu.RLock()
	defer n.mu.RUnlock()
	for i := range subjects {
		one := n.of[subjects[i]]
		if one == nil || one.epoch != at.number || now >= one.until {
			left = append(left, i)
			continue
		}
		out[i] = counted{one.Counts, true}
	}
	return left
}

// reserve takes the places of subjects that are about to be read. They belong to
// the turn that it returns.
func (n *near) reserve(subjects []storage.Subject, left []int) (turn int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.turns++
	for _, i := range left {
		one := n.of[subjects[i]]
		if one == nil {
			n.makeRoom()
			one = new(nearby)
			n.of[detached(subjects[i])] = one
		}
		*one = nearby{turn: n.turns}
	}
	return n.turns
}

// makeRoom drops any one where there are too many.
func (n *near) makeRoom() {
	if len(n.of) < maxNear {
		return
	}
	for subject := range n.of {
		delete(n.of, subject)
		return
	}
}

// keep puts in what was read in a turn, if nothing has changed since it began.
func (n *near) keep(turn int64, at *epoch, subjects []storage.Subject, left []int, out []counted, until []int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for k, i := range left {
		if one := n.of[subjects[i]]; one != nil && one.turn == turn && out[i].known {
			one.Counts, one.epoch, one.until = out[i].Counts, at.number, until[k]
		}
	}
}

// forget drops what has changed.
func (n *near) forget(subjects []storage.Subject) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, subject := range subjects {
		delete(n.of, subject)
	}
}

// forgetAll drops everything.
func (n *near) forgetAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.of = make(map[storage.Subject]*nearby)
}

// detached is a subject that keeps no other text in memory than its own: what a
// request names may be a part of all that it says.
func detached(of storage.Subject) storage.Subject {
	all := of.Tenant + of.Biz + of.BizID
	biz := len(of.Tenant) + len(of.Biz)
	return storage.Subject{Tenant: all[:len(of.Tenant)], Biz: all[len(of.Tenant):biz], BizID: all[biz:]}
}
