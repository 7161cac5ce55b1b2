package redis

import (
	"net/url"
	"strconv"
	"strings"

	"ovation/storage"
	"ovation/storage/mirror"
)

// countsKey names the counts of a subject. What stands in braces decides where
// a cluster puts the key. Neither a tenant nor a biz holds a colon, so that no
// two subjects share a key.
func (e *epoch) countsKey(of storage.Subject) string {
	return e.prefix + ":c:{" + of.Tenant + ":" + of.Biz + ":" + tagged(of.BizID) + "}"
}

// windowKey names the window. All of a user's lie in one place.
func (e *epoch) windowKey(of mirror.WindowKey) string {
	return e.prefix + ":w:{" + of.User.Tenant + ":u:" + tagged(of.User.UserID) + "}:" + of.Biz
}

// tagged returns an id as it stands in a hash tag, which the first closing brace
// ends: an id with one would decide in which slot its keys lie, and many could be
// made to share a slot. Ids with braces stand behind an opening brace, which no
// other id begins with, and are escaped as in a URL.
func tagged(id string) string {
	if strings.IndexByte(id, '{') < 0 && strings.IndexByte(id, '}') < 0 {
		return id
	}
	return "{" + escapeBraces.Replace(id)
}

// untagged is tagged backwards.
func untagged(text string) string {
	if escaped, is := strings.CutPrefix(text, "{"); is {
		return unescapeBraces.Replace(escaped)
	}
	return text
}

var (
	escapeBraces   = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D")
	unescapeBraces = strings.NewReplacer("%25", "%", "%7B", "{", "%7D", "}")
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
