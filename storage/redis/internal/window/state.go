package window

import (
	"net/url"
	"strconv"
	"strings"

	"ovation/storage"
)

// Kinds lists the kinds of state that windows hold, in the order of their entries.
var Kinds = [...]storage.Kind{storage.KindReaction, storage.KindCollection, storage.KindFollow}

// Indices in Kinds.
const (
	Reaction   = 0
	collection = 1
	follow     = 2
)

// Name returns the name of an entry in the arguments of scripts.
func Name(kind storage.Kind, bizID string) string {
	switch kind {
	case storage.KindReaction:
		return "r" + bizID
	case storage.KindCollection:
		return "c" + bizID
	default:
		return "f" + bizID
	}
}

// fieldPrefix begins the names of fields that hold entries.
const fieldPrefix = "s"

// Field returns the name of the field that holds the entries of a subject.
func Field(bizID string) string { return fieldPrefix + bizID }

// none encodes a state, of any kind, that is not set.
const none = "-"

// reactionState encodes a reaction as the state of an entry.
func reactionState(r storage.Reaction) string {
	if r == storage.NoReaction {
		return none
	}
	return strconv.Itoa(int(r))
}

// registerState encodes a reaction as the state of an entry. Without conditional clears,
// the state is the reaction alone. Otherwise it is reaction:set:unlike:undislike. In this
// form, the reaction is always a number, even for storage.NoReaction. The other parts are
// versions: of the latest unconditional action (set), of the latest clear of a like
// (unlike) and of the latest clear of a dislike (undislike).
func registerState(r storage.Register) string {
	if r.Clears == (storage.Clears{}) {
		return reactionState(r.Value)
	}
	return strings.Join([]string{decimal(int64(r.Value)), decimal(r.Set), decimal(r.Clears[0]), decimal(r.Clears[1])}, ":")
}

// collectionState encodes a folder as the state of an entry. The id of the folder is
// escaped, since it may contain spaces.
func collectionState(folderID string) string {
	if folderID == "" {
		return none
	}
	return "=" + url.QueryEscape(folderID)
}

// followed encodes a follow that is set.
const followed = "1"

// followState encodes a follow as the state of an entry.
func followState(following bool) string {
	if following {
		return followed
	}
	return none
}

// contribution returns what a state contributes to the counts: 1 for a like, a collection
// or a follow, 2 for a dislike, and otherwise 0.
func contribution(state string) byte {
	switch {
	case state == none || state == "":
		return 0
	case state[0] == '=':
		return 1
	}
	return state[0] - '0'
}

// Contribution returns the contribution of a state as an argument of scripts.
func Contribution(state string) string { return strconv.Itoa(int(contribution(state))) }

// ChangeText encodes the state that a transaction has set.
func ChangeText(c *storage.StateChange) string {
	switch c.Kind {
	case storage.KindReaction:
		return registerState(c.Register)
	case storage.KindCollection:
		return collectionState(c.FolderID)
	default:
		return followState(c.Following)
	}
}

// KindSet is the set of the kinds in Kinds.
const KindSet = storage.Kinds(1<<storage.KindReaction | 1<<storage.KindCollection | 1<<storage.KindFollow)

// ActionText returns the index of an action's kind in Kinds, and the state that the
// action sets. It returns false if windows do not hold states of this kind.
func ActionText(a *storage.Action) (kind int, state string, ok bool) {
	switch a.Kind {
	case storage.KindReaction:
		return Reaction, registerState(storage.RegisterOf(a)), true
	case storage.KindCollection:
		return collection, collectionState(a.FolderID), true
	case storage.KindFollow:
		return follow, followState(a.Following), true
	case storage.KindRead, storage.KindAuthor:
	}
	return 0, "", false
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// AppendFill appends the arguments of the script fill for the states of one subject.
// States that were never set are included only if all is true.
func AppendFill(args []string, bizID string, states *storage.States, all bool) []string {
	for _, kind := range Kinds {
		if e := FromStates(states, kind); all || e.version > 0 {
			args = append(args, Name(kind, bizID), decimal(e.version), e.text(kind), decimal(e.history[0].version)+":"+Contribution(e.State))
		}
	}
	return args
}

// Fields returns the name of the field for each key whose index is in asked. The names
// share the memory of one string.
func Fields(keys []storage.StateKey, asked []int) []string {
	size := 0
	for _, i := range asked {
		size += len(fieldPrefix) + len(keys[i].Subject.BizID)
	}
	var all strings.Builder
	all.Grow(size)
	out := make([]string, len(asked))
	for k, i := range asked {
		from := all.Len()
		all.WriteString(fieldPrefix)
		all.WriteString(keys[i].Subject.BizID)
		out[k] = all.String()[from:] // shares the memory, which has been reserved
	}
	return out
}
