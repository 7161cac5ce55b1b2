package worker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ovation/storage"
)

// directResults returns the result of each action that a transaction has applied. Which
// actions have changed their states follows the order of versions, not the order of
// arrival.
func directResults(actions []storage.Action, outcome *storage.Outcome) ([]directResult, error) {
	out := make([]directResult, len(actions))
	of := make([][]int32, len(outcome.Applied)) // for each state, the indices of its actions
	indices := make([]int32, len(actions))
	for i := range actions {
		at, found := slices.BinarySearchFunc(outcome.Applied, &actions[i], compareChange)
		if !found {
			return nil, fmt.Errorf("the outcome of a transaction lacks the state of action %d of %d", i+1, len(actions))
		}
		out[i] = directResult{state: &outcome.Applied[at], counts: outcome.CountsOf(actions[i].Subject), outcome: outcome}
		if indices[i] = int32(i); of[at] == nil {
			of[at] = indices[i : i+1 : i+1]
		} else {
			of[at] = append(of[at], int32(i))
		}
	}
	for at := range of {
		replay(&outcome.Applied[at], of[at], actions, out)
	}
	return out, nil
}

// replay determines which of the actions on one state have changed it: it applies them to
// the old reaction, in the order of their versions. If the state includes a later action
// from another transaction, the intermediate states are unknown; the change, if any, is
// then attributed to the last action, and the actions were overtaken.
func replay(to *storage.StateChange, indices []int32, actions []storage.Action, out []directResult) {
	slices.SortFunc(indices, func(i, j int32) int { return cmp.Compare(actions[i].Version, actions[j].Version) })
	last := indices[len(indices)-1]
	if len(indices) == 1 || to.Version != actions[last].Version {
		out[last].changed = to.OldReaction != to.Reaction
		for _, i := range indices {
			out[i].overtaken = to.Version > actions[i].Version
		}
		return
	}
	reaction := to.OldReaction
	for _, i := range indices {
		after := actions[i].Reaction
		if condition := actions[i].If; condition != storage.NoReaction && reaction != condition {
			after = reaction
		}
		out[i].changed, reaction = after != reaction, after
	}
}

// compareChange compares the state of a change with the state of an action, in the order
// of storage.Coalesce.
func compareChange(c storage.StateChange, a *storage.Action) int {
	return cmp.Or(
		strings.Compare(c.User.Tenant, a.User.Tenant), strings.Compare(c.User.UserID, a.User.UserID),
		strings.Compare(c.Subject.Biz, a.Subject.Biz), strings.Compare(c.Subject.BizID, a.Subject.BizID),
	)
}
