package storage_test

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ovation/storage"
)

// TestRegisterEqualsActionsInOrderOfVersion merges actions into a register in any order
// and any grouping. The register must hold the result of applying the actions in the
// order of their versions.
func TestRegisterEqualsActionsInOrderOfVersion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		versions := rapid.Permutation([]int64{1, 2, 3, 4, 5, 6, 7}).Draw(t, "arrival")
		actions := make([]storage.Action, rapid.IntRange(1, len(versions)).Draw(t, "n"))
		for i := range actions {
			actions[i] = storage.Action{Kind: storage.KindReaction, Version: versions[i]}
			switch rapid.IntRange(0, 4).Draw(t, "action") {
			case 0:
				actions[i].Reaction = storage.Like
			case 1:
				actions[i].Reaction = storage.Dislike
			case 2:
				actions[i].If = storage.Like
			case 3:
				actions[i].If = storage.Dislike
			}
		}
		join := func(actions []storage.Action) (r storage.Register) {
			for i := range actions {
				r = r.Join(storage.RegisterOf(&actions[i]))
			}
			return r
		}
		got := join(actions)
		cut := rapid.IntRange(0, len(actions)).Draw(t, "cut")
		if parts := join(actions[cut:]).Join(join(actions[:cut])); parts != got {
			t.Fatalf("joined in parts: got %+v, want as one by one: %+v", parts, got)
		}
		if coalesced := join(storage.Coalesce(actions)); coalesced != got {
			t.Fatalf("joined after Coalesce: got %+v, want as one by one: %+v", coalesced, got)
		}
		for i := range actions {
			if !got.Covers(storage.RegisterOf(&actions[i])) {
				t.Fatalf("%+v does not cover %+v, want it to", got, actions[i])
			}
		}
		var want storage.Reaction
		var since int64
		for _, a := range slices.SortedFunc(slices.Values(actions), func(a, b storage.Action) int { return cmp.Compare(a.Version, b.Version) }) {
			if a.If == storage.NoReaction {
				want, since = a.Reaction, a.Version
				continue
			}
			if a.If == want {
				want = storage.NoReaction
			}
		}
		if got.Value != want || got.Set != since || got.Version() != slices.Max(versions[:len(actions)]) {
			t.Fatalf("joined %+v: got %+v, want the reaction %v since %d, of the highest version", actions, got, want, since)
		}
	})
}
