package redis

import (
	"net/url"
	"strconv"
	"strings"

	"ovation/storage"
)

// The kinds of state that windows hold, in the order in which they are read.
var windowKinds = [...]storage.Kind{storage.KindReaction, storage.KindCollection}

const (
	reaction   = 0 // in windowKinds
	collection = 1
)

// entryName is how scripts call an entry of a window, fieldName the field that holds
// those of a subject.
func entryName(kind storage.Kind, bizID string) string {
	if kind == storage.KindReaction {
		return "r" + bizID
	}
	return "c" + bizID
}

func fieldName(bizID string) string { return "s" + bizID }

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
	return strings.Join([]string{text(int64(r.Value)), text(r.Set), text(r.Clears[0]), text(r.Clears[1])}, ":")
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

// shareText is a share as scripts take it.
func shareText(state string) string { return strconv.Itoa(int(share(state))) }
