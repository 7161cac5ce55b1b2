package importer

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"

	"ovation/storage"
)

// blockActions is the number of actions in a block. A block is sorted, and looked up in
// the store, as a whole. The stored ids of earlier imports depend on this number: in
// older releases, blocks ended at multiples of 5,000 and of 40,000. Change it only to a
// multiple of its present value. A block takes about 100 MB of memory, and two blocks
// exist at a time.
const blockActions = 1_000_000

// blockComments is the number of comments in a block of comments. Their texts take 40 MB
// at most. Change blockComments, like blockActions, only to a multiple of its present
// value.
const blockComments = 5_000

// stream is a part of a file that is numbered and divided into blocks separately: either
// its actions or its comments.
type stream struct {
	comments    bool
	size        int    // actions per block
	placeholder string // stored as the text of comments without a text
}

// block is a sequence of consecutive actions of a stream. Actions refer to users and
// subjects by index, so each user and each subject is stored once. A comment counts as an
// action here.
type block struct {
	stream   *stream
	actions  []compactAction
	texts    []string // in a block of comments: the text of each comment, empty if it has none
	prefixes []prefix // for each action, the id of the stream up to that action
	tenant   string
	users    []string
	subjects []subject
	folders  []folder // the first one is the default folder
	order    []int32  // the order of all actions, as sorted returns it
	rows     int64    // rows read so far, without the rows of blocks that are still being filled
	bytes    int64    // bytes of the packed file read so far
}

// compactAction is one action of the file.
type compactAction struct {
	version       int64
	user, subject int32 // indexes into users and subjects
	folder        int32 // an index into folders
	action        action
}

type subject struct{ biz, bizID string }

// prefix identifies the actions of a stream up to a given action.
type prefix [24]byte // long enough to be unique

func (p prefix) String() string { return "import-" + hex.EncodeToString(p[:]) }

// chained is a full hash; its first bytes are the prefix.
type chained [sha256.Size]byte

func (c chained) prefix() prefix { return prefix(c[:len(prefix{})]) }

type blockBuilder struct {
	block

	userAt    map[string]int32
	subjectAt map[subject]int32
	folderAt  map[folder]int32
	chain     chained // the hash of the stream up to the latest action
	scratch   []byte
}

// newBlockBuilder begins a block. The parameter chain is the hash of all earlier actions
// in the stream.
func newBlockBuilder(tenant string, of *stream, chain chained) *blockBuilder {
	b := &blockBuilder{userAt: map[string]int32{}, subjectAt: map[subject]int32{}, folderAt: map[folder]int32{}, chain: chain}
	b.tenant, b.stream, b.folders = tenant, of, []folder{{}}
	b.actions, b.prefixes = make([]compactAction, 0, of.size), make([]prefix, 0, of.size)
	return b
}

// add appends an action with its folder and, if the action is a comment, its text. The strings are
// copied, because they may share memory with a much longer row.
func (b *blockBuilder) add(a *storage.Action, does action, in folder, text string) {
	user, known := b.userAt[named(a)]
	if !known {
		user = int32(len(b.users))
		id := strings.Clone(named(a))
		b.users, b.userAt[id] = append(b.users, id), user
	}
	place, known := b.subjectAt[subject{a.Subject.Biz, a.Subject.BizID}]
	if !known {
		place = int32(len(b.subjects))
		s := subject{strings.Clone(a.Subject.Biz), strings.Clone(a.Subject.BizID)}
		b.subjects, b.subjectAt[s] = append(b.subjects, s), place
	}
	within, known := b.folderAt[in]
	if !known && in != (folder{}) {
		within = int32(len(b.folders))
		in = folder{strings.Clone(in.value), strings.Clone(in.name)}
		b.folders, b.folderAt[in] = append(b.folders, in), within
	}
	b.actions = append(b.actions, compactAction{a.Version, user, place, within, does})
	b.prefixes = append(b.prefixes, b.extend(a, does, in.value, text))
	if b.stream.comments {
		b.texts = append(b.texts, strings.Clone(text))
	}
}

// extend extends the chain by an action. It returns the id of the stream up to and
// including that action.
func (b *blockBuilder) extend(a *storage.Action, does action, in, text string) prefix {
	s := b.scratch[:0]
	s = append(s, b.chain[:]...)
	for _, word := range [...]string{a.User.Tenant, named(a), a.Subject.Biz, a.Subject.BizID} {
		s = appendWord(s, word)
	}
	s = append(s, byte(does))
	s = binary.AppendUvarint(s, uint64(a.Version))
	switch {
	case b.stream.comments:
		s = appendWord(s, chainedText(text))
	case in != "": // a default folder adds nothing, so that files without folders keep their ids
		s = appendWord(s, in)
	}
	b.scratch, b.chain = s, sha256.Sum256(s)
	return b.chain.prefix()
}

// chainedText returns the form of a comment's text that the chain contains: without the
// format characters that earlier versions removed. A file that they imported has the same
// ids.
func chainedText(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d' {
			return -1
		}
		return r
	}, text))
}

func appendWord(to []byte, word string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(word))), word...)
}

// finish sorts the actions and returns the block.
func (b *blockBuilder) finish() block {
	b.order = b.sorted(0, len(b.actions)) // on the goroutine that reads, while the writer is busy
	return b.block
}

// sorted returns the indexes in the range [from, to), sorted in the order in which
// storage.Coalesce returns their actions. Rows that are written in this order touch few
// pages. Comments, and actions on the same state, keep the order that they have in the
// file.
func (b *block) sorted(from, to int) []int32 {
	order := make([]int32, to-from)
	if b.stream.comments {
		for i := range order {
			order[i] = int32(from + i)
		}
		return order
	}
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
		const bits = 30 // enough for the indexes of users and of subjects
		user := uint64(users[a.user])
		if a.action == actionAuthor { // its state belongs to the subject alone
			user = 0
		}
		keys[i] = key{uint64(a.action.kind())<<(2*bits) | user<<bits | uint64(subjects[a.subject]), int32(from + i)}
	}
	slices.SortFunc(keys, func(x, y key) int {
		if x.state != y.state {
			return cmp.Compare(x.state, y.state)
		}
		return cmp.Compare(x.place, y.place)
	})
	for i := range keys {
		order[i] = keys[i].place
	}
	return order
}

// ranks returns the position of each element in sorted order.
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

// action returns the action at an index as a storage.Action.
func (b *block) action(place int32) storage.Action {
	c := &b.actions[place]
	s := &b.subjects[c.subject]
	a := storage.Action{
		User:    storage.User{Tenant: b.tenant, UserID: b.users[c.user]},
		Subject: storage.Subject{Tenant: b.tenant, Biz: s.biz, BizID: s.bizID},
	}
	c.action.apply(&a, c.version)
	if c.folder > 0 {
		a.FolderID = b.folders[c.folder].id(a.User)
	}
	return a
}

// comment returns the comment at an index as a storage.PastComment.
func (b *block) comment(place int32) storage.PastComment {
	a := b.action(place)
	return storage.PastComment{User: a.User, Subject: a.Subject, Text: cmp.Or(b.texts[place], b.stream.placeholder), At: a.Version}
}

// sameState reports whether two actions concern the same state.
func (b *block) sameState(i, j int32) bool {
	x, y := &b.actions[i], &b.actions[j]
	return !b.stream.comments && (x.user == y.user || x.action == actionAuthor) && x.subject == y.subject && x.action.kind() == y.action.kind()
}
