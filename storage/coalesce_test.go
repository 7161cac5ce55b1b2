package storage_test

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ovation/internal/testing/seed"
	"ovation/storage"
)

var _ = seed.ForRapid()

// one draws an action on one of a few states, so that several actions address the same
// state.
func one(t *rapid.T) storage.Action {
	tenant := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tenant")
	a := storage.Action{
		User:    storage.User{Tenant: tenant, UserID: rapid.SampledFrom([]string{"", "ann", "bea"}).Draw(t, "user")},
		Subject: storage.Subject{Tenant: tenant, Biz: rapid.SampledFrom([]string{"v", "w"}).Draw(t, "biz"), BizID: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "bizId")},
		Kind:    storage.Kind(rapid.IntRange(1, 4).Draw(t, "kind")),
		Version: rapid.Int64Range(1, 9).Draw(t, "version"),
	}
	switch a.Kind {
	case storage.KindReaction:
		if a.If = storage.Reaction(rapid.IntRange(0, 4).Draw(t, "if") / 2); a.If == storage.NoReaction {
			a.Reaction = storage.Reaction(rapid.IntRange(0, 2).Draw(t, "reaction"))
		}
	case storage.KindCollection:
		a.FolderID = rapid.SampledFrom([]string{"", "default", "x"}).Draw(t, "folder")
	case storage.KindRead:
		a.Times, a.First = rapid.Int64Range(1, 3).Draw(t, "times"), rapid.Int64Range(1, a.Version).Draw(t, "first")
	case storage.KindFollow:
		a.Following = rapid.Bool().Draw(t, "following")
	case storage.KindAuthor: // see TestCoalesceKeepsTheLatestDeclaration
	}
	return a
}

type stateID struct {
	user    storage.User
	subject storage.Subject
	kind    storage.Kind
	clear   storage.Reaction
}

func idOf(a storage.Action) stateID { return stateID{a.User, a.Subject, a.Kind, a.If} }

func TestCoalesceKeepsTheLatestOfEachState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		actions := rapid.SliceOfN(rapid.Custom(one), 0, 40).Draw(t, "actions")
		before := slices.Clone(actions)
		got := storage.Coalesce(actions)
		if !reflect.DeepEqual(actions, before) {
			t.Fatalf("Coalesce changed its argument to %+v, want still %+v", actions, before)
		}

		want := make(map[stateID]storage.Action)
		for _, a := range actions {
			latest, known := want[idOf(a)]
			switch {
			case known && a.Kind.AddsUp():
				latest.Times += a.Times
				latest.First, latest.Version = min(latest.First, a.First), max(latest.Version, a.Version)
				want[idOf(a)] = latest
			case !known || latest.Version < a.Version:
				want[idOf(a)] = a
			}
		}
		maps.DeleteFunc(want, func(id stateID, a storage.Action) bool { // clears that are not later than the unconditional action
			id.clear = storage.NoReaction
			return a.If != storage.NoReaction && a.Version <= want[id].Version
		})
		ordered := slices.SortedFunc(maps.Values(want), inKeyOrder)
		if len(got)+len(ordered) > 0 && !reflect.DeepEqual(got, ordered) {
			t.Fatalf("Coalesce(%+v) = %+v, want %+v", actions, got, ordered)
		}
	})
}

// TestCoalesceInParts checks that coalescing the parts of a list and then their results
// together gives the same result as coalescing the whole list in one call, wherever the
// list is divided.
func TestCoalesceInParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		actions := rapid.SliceOfN(rapid.Custom(one), 0, 40).Draw(t, "actions")
		cut := rapid.IntRange(0, len(actions)).Draw(t, "cut")
		parts := slices.Concat(storage.Coalesce(actions[:cut]), storage.Coalesce(actions[cut:]))
		if got, want := storage.Coalesce(parts), storage.Coalesce(actions); !reflect.DeepEqual(got, want) {
			t.Fatalf("coalesced in parts: got %+v, want as in one call: %+v", got, want)
		}
	})
}

func inKeyOrder(a, b storage.Action) int {
	return cmp.Or(
		cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Subject.Tenant, b.Subject.Tenant), cmp.Compare(a.User.UserID, b.User.UserID),
		cmp.Compare(a.Subject.Biz, b.Subject.Biz), cmp.Compare(a.Subject.BizID, b.Subject.BizID),
		cmp.Compare(a.If, b.If),
	)
}

// TestCoalesceKeepsTheLatestDeclaration checks that, of several declarations on one
// subject, Coalesce keeps the one with the highest version. Of several with that version,
// it keeps the last one. The authors do not matter.
func TestCoalesceKeepsTheLatestDeclaration(t *testing.T) {
	declare := func(bizID, author string, version int64) storage.Action {
		return storage.Action{
			User: storage.User{Tenant: "a"}, Subject: storage.Subject{Tenant: "a", Biz: "v", BizID: bizID},
			Kind: storage.KindAuthor, Author: author, Version: version,
		}
	}
	got := storage.Coalesce([]storage.Action{
		declare("2", "ann", 5), declare("1", "ann", 3), declare("2", "bea", 5), declare("1", "bea", 2), declare("2", "cid", 4), declare("3", "", 1),
	})
	want := []storage.Action{declare("1", "ann", 3), declare("2", "bea", 5), declare("3", "", 1)}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
