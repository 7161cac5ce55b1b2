package importer

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"ovation/storage"
)

// blockActions is how many actions are asked for, and sorted, together. The ids
// that stores remember hang on it: blocks of older releases ended at multiples of
// 5,000 and 40,000, and of this. It may become a multiple of what it is and nothing
// else. A block takes some 100 MB, and two are in memory.
const blockActions = 1_000_000

// block is what follows the block before it in the file, without the actions' words:
// each user and each subject is there once.
type block struct {
	actions  []compact
	prefixes []prefix // the id of all actions up to each
	tenant   string
	users    []string
	subjects []subject
	order    []int32 // of the whole block, see sorted
	rows     int64   // read so far, of every sort
	bytes    int64   // read so far of the packed file
}

// compact is one action of the file.
type compact struct {
	version       int64
	user, subject int32 // their places in the block
	does          action
}

type subject struct{ biz, bizID string }

// prefix identifies all actions of a file up to one of them.
type prefix [24]byte // enough for no two files ever to meet

func (p prefix) String() string { return "import-" + hex.EncodeToString(p[:]) }

// chained is the hash that a prefix is the beginning of.
type chained [sha256.Size]byte

func (c chained) prefix() prefix { return prefix(c[:len(prefix{})]) }

// blockBuilder gathers a block.
type blockBuilder struct {
	block

	userAt    map[string]int32
	subjectAt map[subject]int32
}

func newBlockBuilder(tenant string, size int) *blockBuilder {
	b := &blockBuilder{userAt: map[string]int32{}, subjectAt: map[subject]int32{}}
	b.tenant = tenant
	b.actions, b.prefixes = make([]compact, 0, size), make([]prefix, 0, size)
	return b
}

// add appends an action. Its texts may share memory with a row that is much longer.
func (b *blockBuilder) add(a *storage.Action, does action, p prefix) {
	user, known := b.userAt[a.User.UserID]
	if !known {
		user = int32(len(b.users))
		id := strings.Clone(a.User.UserID)
		b.users, b.userAt[id] = append(b.users, id), user
	}
	place, known := b.subjectAt[subject{a.Subject.Biz, a.Subject.BizID}]
	if !known {
		place = int32(len(b.subjects))
		s := subject{strings.Clone(a.Subject.Biz), strings.Clone(a.Subject.BizID)}
		b.subjects, b.subjectAt[s] = append(b.subjects, s), place
	}
	b.actions = append(b.actions, compact{a.Version, user, place, does})
	b.prefixes = append(b.prefixes, p)
}

// finish returns the block.
func (b *blockBuilder) finish() block {
	b.order = b.sorted(0, len(b.actions)) // here, where nobody waits for it
	return b.block
}

// sorted returns the places of some of the actions, in the order of
// storage.Coalesce and, of one state, in that of the file. Rows that are written in
// the order of their keys lie on few pages.
func (b *block) sorted(from, to int) []int32 {
	users := ranks(b.users, strings.Compare)
	subjects := ranks(b.subjects, func(x, y subject) int {
		return cmp.Or(strings.Compare(x.biz, y.biz), strings.Compare(x.bizID, y.bizID))
	})
	type key struct {
		state uint64 // kind, user and subject
		place int32
	}
	keys := make([]key, to-from)
	for i := range keys {
		a := &b.actions[from+i]
		const bits = 31
		keys[i] = key{uint64(a.does.kind())<<(2*bits) | uint64(users[a.user])<<bits | uint64(subjects[a.subject]), int32(from + i)}
	}
	slices.SortFunc(keys, func(x, y key) int {
		if x.state != y.state {
			return cmp.Compare(x.state, y.state)
		}
		return cmp.Compare(x.place, y.place)
	})
	order := make([]int32, len(keys))
	for i := range keys {
		order[i] = keys[i].place
	}
	return order
}

// ranks returns the place that each has in the order of all.
func ranks[T any](all []T, compare func(T, T) int) []int32 {
	order := make([]int32, len(all))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int { return compare(all[i], all[j]) })
	out := make([]int32, len(all))
	for rank, i := range order {
		out[i] = int32(rank)
	}
	return out
}

// action is one as storages know it.
func (b *block) action(place int32) storage.Action {
	c := &b.actions[place]
	s := &b.subjects[c.subject]
	a := storage.Action{
		User:    storage.User{Tenant: b.tenant, UserID: b.users[c.user]},
		Subject: storage.Subject{Tenant: b.tenant, Biz: s.biz, BizID: s.bizID},
	}
	c.does.apply(&a, c.version)
	return a
}

// sameState reports whether two actions are on one state.
func (b *block) sameState(i, j int32) bool {
	x, y := &b.actions[i], &b.actions[j]
	return x.user == y.user && x.subject == y.subject && x.does.kind() == y.does.kind()
}
