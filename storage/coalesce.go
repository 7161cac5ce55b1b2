package storage

import (
	"cmp"
	"slices"
)

// stateID is the key of one state.
type stateID struct {
	StateKey
	kind Kind
}

// NamedReads appends those of the actions that are reads by a named user.
func NamedReads(to, actions []Action) []Action {
	for i := range actions {
		if actions[i].Kind == KindRead && !actions[i].User.Anonymous() {
			to = append(to, actions[i])
		}
	}
	return to
}

// Coalesce returns at most one action per state (user, subject, kind): the
// one with the highest version, the earlier one of equals; reads are added
// up. The result is in the order of (kind, tenant, user, biz, bizId), which is
// the order in which every store takes its row locks. The argument is not
// changed.
func Coalesce(actions []Action) []Action {
	at := make(map[stateID]int, len(actions))
	out := make([]Action, 0, len(actions))
	for _, a := range actions {
		id := stateID{StateKey{a.User, a.Subject}, a.Kind}
		i, seen := at[id]
		switch {
		case !seen:
			at[id] = len(out)
			out = append(out, a)
		case a.Kind == KindRead:
			out[i].Times += a.Times
			out[i].First = min(out[i].First, a.First)
			out[i].Version = max(out[i].Version, a.Version)
		case out[i].Version < a.Version:
			out[i] = a
		}
	}
	slices.SortFunc(out, func(a, b Action) int {
		return cmp.Or(
			cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Subject.Tenant, b.Subject.Tenant),
			cmp.Compare(a.User.UserID, b.User.UserID),
			cmp.Compare(a.Subject.Biz, b.Subject.Biz),
			cmp.Compare(a.Subject.BizID, b.Subject.BizID),
		)
	})
	return out
}
