package window

import (
	"net/url"
	"strconv"
	"strings"

	"ovation/storage"
)

// Kinds are the kinds of state that windows hold, in the order in which they are read.
var Kinds = [...]storage.Kind{storage.KindReaction, storage.KindCollection}

// The indices of Kinds.
const (
	Reaction   = 0
	collection = 1
)

// Name is what scripts call an entry of a window.
func Name(kind storage.Kind, bizID string) string {
	if kind == storage.KindReaction {
		return "r" + bizID
	}
	return "c" + bizID
}

// Field names the field that holds the entries of a subject.
func Field(bizID string) string { return "s" + bizID }

// none is the state of who has none, of both kinds.
const none = "-"

// reactionState writes a reaction as the state of an entry.
func reactionState(r storage.Reaction) string {
	if r == storage.NoReaction {
		return none
	}
	return strconv.Itoa(int(r))
}

// registerState writes a reaction as the state of an entry: the reaction alone or,
// where conditional clears concern it, reaction:set:unlike:undislike, the
// versions of the latest unconditional action and of the latest clears. The
// reaction is then a number, also where it is none.
func registerState(r storage.Register) string {
	if r.Clears == (storage.Clears{}) {
		return reactionState(r.Value)
	}
	return strings.Join([]string{decimal(int64(r.Value)), decimal(r.Set), decimal(r.Clears[0]), decimal(r.Clears[1])}, ":")
}

// collectionState writes a folder as the state of an entry. A folder's id may
// hold anything, a state is one word.
func collectionState(folderID string) string {
	if folderID == "" {
		return none
	}
	return "=" + url.QueryEscape(folderID)
}

// share is what counts include of a state: 0, or 1 for a like or a collection,
// or 2 for a dislike.
func share(state string) byte {
	switch {
	case state == none || state == "":
		return 0
	case state[0] == '=':
		return 1
	}
	return state[0] - '0'
}

// Share is a share as scripts take it.
func Share(state string) string { return strconv.Itoa(int(share(state))) }

// ChangeText writes what a transaction made of a state.
func ChangeText(c *storage.StateChange) string {
	if c.Kind == storage.KindReaction {
		return registerState(c.Register)
	}
	return collectionState(c.FolderID)
}

// KindSet holds Kinds.
const KindSet = storage.Kinds(1<<storage.KindReaction | 1<<storage.KindCollection)

// ActionText is the state that an action sets, and its place in Kinds. It
// returns false for an action of a kind that windows do not hold.
func ActionText(a *storage.Action) (kind int, state string, ok bool) {
	switch a.Kind {
	case storage.KindReaction:
		return Reaction, registerState(storage.RegisterOf(a)), true
	case storage.KindCollection:
		return collection, collectionState(a.FolderID), true
	case storage.KindRead:
	}
	return 0, "", false
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// AppendFill appends the arguments of fill for the states of one subject;
// those that were never set only where all are wanted.
func AppendFill(args []string, bizID string, states *storage.States, all bool) []string {
	for _, kind := range Kinds {
		if e := Stored(states, kind); all || e.version > 0 {
			args = append(args, Name(kind, bizID), decimal(e.version), e.text(kind), decimal(e.history[0].version)+":"+Share(e.State))
		}
	}
	return args
}

// Fields names the fields of the keys asked. All names are parts of one text.
func Fields(keys []storage.StateKey, asked []int) []string {
	size := 0
	for _, i := range asked {
		size += len(Field(keys[i].Subject.BizID))
	}
	var all strings.Builder
	all.Grow(size)
	for _, i := range asked {
		all.WriteString(Field(keys[i].Subject.BizID))
	}
	text := all.String()
	out := make([]string, len(asked))
	for k, i := range asked {
		n := len(Field(keys[i].Subject.BizID))
		out[k], text = text[:n], text[n:]
	}
	return out
}
