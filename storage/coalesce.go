package storage

import (
	"cmp"
	"slices"
	"strings"
)

// Supersedes reports whether action a makes action b redundant. Both must be on the same
// state.
func (a Action) Supersedes(b Action) bool {
	return b.Version <= a.Version && (a.If == NoReaction || a.If == b.If)
}

// Coalesce keeps, for each state (user, subject, kind), the unconditional action with the
// highest version. Of several actions with that version, it keeps the first or, if they
// are declarations, the last. Actions that add up are summed. Of the conditional clears
// on a state, Coalesce keeps the latest one that clears a like and the latest one that
// clears a dislike, each only if its version is higher than the version of the
// unconditional action. In the result, clears follow the unconditional action.
//
// The result is ordered by kind, tenant, user, biz and bizId. A store locks the rows of
// one kind in this order. The order of the tables depends on the store (see the
// documentation of package storage/postgres). The argument is not changed. Coalesce is
// fastest if the actions are already in this order.
func Coalesce(actions []Action) []Action {
	order := make([]int32, len(actions)) // indices are sorted, because actions are large
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		if by := compareState(&actions[i], &actions[j]); by != 0 {
			return by
		}
		return cmp.Or(cmp.Compare(actions[i].If, actions[j].If), cmp.Compare(i, j))
	})
	out := make([]Action, 0, len(actions))
	set := int64(0) // the version of the unconditional action on the current state
	for _, i := range order {
		a := &actions[i]
		last := len(out) - 1
		fresh := last < 0 || compareState(&out[last], a) != 0
		if fresh {
			set = 0
		}
		switch {
		case a.If != NoReaction && a.Version <= set:
		case fresh || out[last].If != a.If:
			out = append(out, *a)
		case a.Kind.AddsUp():
			out[last].Times += a.Times
			out[last].First = min(out[last].First, a.First)
			out[last].Version = max(out[last].Version, a.Version)
		case out[last].Version < a.Version, a.Kind == KindAuthor && out[last].Version == a.Version:
			out[last] = *a
		}
		if a.If == NoReaction {
			set = max(set, a.Version)
		}
	}
	return out
}

// compareState orders actions by their states.
func compareState(a, b *Action) int {
	if a.Kind != b.Kind {
		return cmp.Compare(a.Kind, b.Kind)
	}
	if by := strings.Compare(a.Subject.Tenant, b.Subject.Tenant); by != 0 {
		return by
	}
	if by := strings.Compare(a.User.UserID, b.User.UserID); by != 0 {
		return by
	}
	if by := strings.Compare(a.Subject.Biz, b.Subject.Biz); by != 0 {
		return by
	}
	return strings.Compare(a.Subject.BizID, b.Subject.BizID)
}
