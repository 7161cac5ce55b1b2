package worker

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ovation/storage"
)

// The changes that the results report, in the order of versions, lead from the old
// reaction to the new one, whatever the order of arrival.
func TestResultsFollowTheOrderOfVersions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := storage.Register{Value: storage.Reaction(rapid.IntRange(0, 2).Draw(t, "before")), Set: 1}
		user := storage.User{Tenant: "default", UserID: "alice"}
		subject := storage.Subject{Tenant: "default", Biz: "video", BizID: "1"}
		kinds := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 8).Draw(t, "actions")
		versions := rapid.Permutation(versionsUpTo(len(kinds))).Draw(t, "versions")
		actions := make([]storage.Action, len(kinds))
		for i, kind := range kinds {
			actions[i] = storage.Action{User: user, Subject: subject, Kind: storage.KindReaction, Version: versions[i]}
			if kind < 2 {
				actions[i].Reaction = storage.Reaction(kind + 1)
			} else {
				actions[i].If = storage.Reaction(kind - 1)
			}
		}
		change := storage.ChangesOf(storage.Coalesce(actions))[0]
		change.OldReaction = before.Value
		change.Include(before)
		results, err := directResults(actions, &storage.Outcome{Applied: []storage.StateChange{change}})
		if err != nil {
			t.Fatal(err)
		}
		order := make([]int, len(actions))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(i, j int) int { return int(versions[i] - versions[j]) })
		reaction := before.Value
		for _, i := range order {
			after := reaction
			if a := actions[i]; a.If == storage.NoReaction || a.If == reaction {
				after = a.Reaction
			}
			if results[i].changed != (after != reaction) || results[i].overtaken {
				t.Fatalf("action %d: got %+v, want changed %v", i, results[i], after != reaction)
			}
			reaction = after
		}
		if reaction != change.Reaction {
			t.Fatalf("the actions lead to %v, the state is %v", reaction, change.Reaction)
		}
	})
}

func versionsUpTo(n int) (out []int64) {
	for i := range n {
		out = append(out, int64(10+i))
	}
	return out
}

// An action that the state of another transaction supersedes changes nothing.
func TestOvertakenActionChangesNothing(t *testing.T) {
	a := storage.Action{
		User: storage.User{Tenant: "default", UserID: "alice"}, Subject: storage.Subject{Tenant: "default", Biz: "video", BizID: "1"},
		Kind: storage.KindReaction, Reaction: storage.Like, Version: 5,
	}
	change := storage.ChangesOf([]storage.Action{a})[0]
	change.Register = storage.Register{}
	change.Include(storage.Register{Value: storage.Dislike, Set: 7})
	change.OldReaction = storage.Dislike
	got, err := directResults([]storage.Action{a}, &storage.Outcome{Applied: []storage.StateChange{change}})
	if err != nil || got[0].changed || !got[0].overtaken {
		t.Errorf("got %+v, %v, want an overtaken action", got, err)
	}
}
