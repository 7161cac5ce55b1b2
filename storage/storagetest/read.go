package storagetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"ovation/storage"
)

func resultsFollowTheOrderOfKeys(w *world) {
	alice, bob := user("alice"), user("bob")
	a, b, unknown := video("a"), video("b"), video("unknown")
	w.persist(like(alice, a, 10), like(bob, a, 11), like(alice, b, 12), read(bob, b, 3, 13, 14), Collect(alice, b, "default", 15))

	interactives, err := w.s.Interactives(w.Context(), alice, []storage.Subject{b, unknown, a, b}, storage.AllKinds)
	w.must(err)
	likes := make([]int64, 0, len(interactives))
	for _, i := range interactives {
		likes = append(likes, i.LikeCount)
	}
	w.equal("likes of b, unknown, a, b", likes, []int64{1, 0, 2, 1})
	w.equal("the subjects", []storage.Subject{interactives[0].Subject, interactives[1].Subject}, []storage.Subject{b, unknown})
	w.equal("the repeated one", interactives[3], interactives[0])
	w.equal("freshness", interactives[0].Freshness, storage.Live)

	states, err := w.s.States(w.Context(), []storage.StateKey{{User: bob, Subject: a}, {User: bob, Subject: unknown}, {User: alice, Subject: b}, {User: bob, Subject: a}}, storage.AllKinds)
	w.must(err)
	known := make([]bool, 0, len(states))
	for _, s := range states {
		known = append(known, s.Liked != nil)
	}
	w.equal("bob on a, on unknown, alice on b, bob on a", known, []bool{true, false, true, true})

	f := w.newFolder(alice, "Films")
	folders, err := w.s.FoldersOf(w.Context(), []storage.FolderKey{{Owner: alice, FolderID: "none"}, f.Key(), {Owner: alice, FolderID: storage.DefaultFolderID}, f.Key()})
	w.must(err)
	w.equal("the unknown folder", folders[0], nil)
	w.equal("names", []string{folders[1].Name, folders[2].Name, folders[3].Name}, []string{"Films", storage.DefaultFolderName, "Films"})

	w.persist(follow(alice, a, 16), follow(bob, b, 17), follow(alice, b, 18))
	seen, err := w.s.Seen(w.Context(), []string{"unknown", "message-1", "unknown", "message-1"})
	w.must(err)
	w.equal("seen", seen, []bool{false, true, false, true})

	page := storage.Page{First: 10}
	likers, err := w.s.Likers(w.Context(), []storage.LikersQuery{{Subject: b, Page: page}, {Subject: unknown, Page: page}, {Subject: a, Page: page}})
	w.must(err)
	w.equal("likers of b, unknown, a", lengths(likers), []int{1, 0, 2})
	liked, err := w.s.Likes(w.Context(), []storage.LikesQuery{{User: bob, Page: page}, {User: alice, Page: page}})
	w.must(err)
	w.equal("likes of bob, alice", lengths(liked), []int{1, 2})
	items, err := w.s.Items(w.Context(), []storage.ItemsQuery{{Folder: f.Key(), Page: page}, {Folder: storage.FolderKey{Owner: alice, FolderID: storage.DefaultFolderID}, Page: page}})
	w.must(err)
	w.equal("items of Films, Default", lengths(items), []int{0, 1})
	lists, err := w.s.ListFolders(w.Context(), []storage.FoldersQuery{{Owner: bob, Page: page}, {Owner: alice, Page: page}})
	w.must(err)
	w.equal("folders of bob, alice", lengths(lists), []int{0, 2})
	reads, err := w.s.Reads(w.Context(), []storage.ReadsQuery{{User: alice, Page: page}, {User: bob, Page: page}})
	w.must(err)
	w.equal("reads of alice, bob", lengths(reads), []int{0, 1})
	followers, err := w.s.Followers(w.Context(), []storage.FollowersQuery{{Subject: b, Page: page}, {Subject: unknown, Page: page}, {Subject: a, Page: page}})
	w.must(err)
	w.equal("followers of b, unknown, a", lengths(followers), []int{2, 0, 1})
	following, err := w.s.Following(w.Context(), []storage.FollowingQuery{{User: bob, Page: page}, {User: alice, Biz: "video", Page: page}, {User: alice, Biz: "article", Page: page}})
	w.must(err)
	w.equal("what bob, alice, and alice of another biz follow", lengths(following), []int{1, 2, 0})
}

func unknownKeysAreEmpty(w *world) {
	nobody, nothing := user("nobody"), video("nothing")
	got, err := w.s.Interactives(w.Context(), nobody, []storage.Subject{nothing}, storage.AllKinds)
	w.must(err)
	w.equal("an unknown subject", got, []storage.Interactive{{Subject: nothing, Freshness: storage.Live}})
	w.equal("unknown states", w.states(nobody, nothing), storage.States{})
	w.equal("an unknown folder", w.folder(storage.FolderKey{Owner: nobody, FolderID: "none"}), nil)

	// Without keys, there are no results.
	interactives, err := w.s.Interactives(w.Context(), nobody, nil, storage.AllKinds)
	w.must(err)
	states, err := w.s.States(w.Context(), nil, storage.AllKinds)
	w.must(err)
	folders, err := w.s.FoldersOf(w.Context(), nil)
	w.must(err)
	seen, err := w.s.Seen(w.Context(), nil)
	w.must(err)
	w.equal("answers", len(interactives)+len(states)+len(folders)+len(seen), 0)
	none := w.persistMessages()
	w.equal("states and counts of no message", len(none.Applied)+len(none.Counts), 0)
	w.persist() // a message without actions
	w.equal("compared", w.compared(), int64(0))
}

func awkwardKeysAreDistinct(w *world) {
	ids := []string{
		"a", "A", "a ", " a", "á", "a\u0301", `"`, `\`, `\"`, `'; DROP TABLE folder; --`, "%", "_", "[1]", "null", "1", "01", "1.0",
		"Ελλάδα", "👩‍👩", "é", "ß", "ss", "K", "\u212a", "default",
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return video(id).Validate() != nil })
	actions := make([]storage.Action, 0, 4*len(ids))
	for i, id := range ids {
		actions = append(actions, like(user(id), video(id), int64(i+1)), Collect(user(id), video(id), "default", int64(i+1)))
		actions = append(actions, read(user(id), video(id), 1, 1, int64(i+1)), follow(user(id), video(id), int64(i+1)))
	}
	w.persist(actions...)
	for i, id := range ids {
		w.wantFollowed(video(id), 1, 1, 0, 1, 1)
		got := w.states(user(id), video(id))
		if got.Liked == nil || got.Collected == nil || got.Read == nil || got.Followed == nil || got.Liked.Version != int64(i+1) {
			w.Errorf("the states of %q: got %s, want all four, the like of version %d", id, Text(got), i+1)
		}
		liked, err := w.s.Likes(w.Context(), []storage.LikesQuery{{User: user(id), Page: storage.Page{First: 10}}})
		w.must(err)
		w.equal("likes of "+id, liked, []storage.ListPage[storage.Liked]{{Entries: []storage.Liked{*got.Liked}}})
	}
	w.verified()
}

func anonymousViewersHaveNoStates(w *world) {
	anonymous, s := user(""), video("1")
	w.persist(read(anonymous, s, 5, 1, 2))
	got, err := w.s.Interactives(w.Context(), anonymous, []storage.Subject{s}, storage.AllKinds)
	w.must(err)
	w.equal("reads", got[0].ReadCount, int64(5))
	w.equal("the viewer's read", got[0].Read, nil)
	w.equal("the states", w.states(anonymous, s), storage.States{})
	reads, err := w.s.Reads(w.Context(), []storage.ReadsQuery{{User: anonymous, Page: storage.Page{First: 10}}, {User: anonymous, Biz: "video", Page: storage.Page{First: 10}}})
	w.must(err)
	w.equal("the history of the anonymous", lengths(reads), []int{0, 0})
	w.equal("the folder", w.folder(storage.FolderKey{Owner: anonymous, FolderID: storage.DefaultFolderID}), nil)
}

func onlyRequestedKindsAreReturned(w *world) {
	alice, s := user("alice"), video("1")
	w.persist(like(alice, s, 5), Collect(alice, s, "default", 6), read(alice, s, 1, 7, 7), follow(alice, s, 8))
	for kinds := range storage.AllKinds + 1 {
		want := [4]bool{kinds.Has(storage.KindReaction), kinds.Has(storage.KindCollection), kinds.Has(storage.KindRead), kinds.Has(storage.KindFollow)}
		i, err := w.s.Interactives(w.Context(), alice, []storage.Subject{s}, kinds)
		w.must(err)
		w.equal("of Interactives", [4]bool{i[0].Liked != nil, i[0].Collected != nil, i[0].Read != nil, i[0].Followed != nil}, want)
		got, err := w.s.States(w.Context(), []storage.StateKey{{User: alice, Subject: s}}, kinds)
		w.must(err)
		w.equal("of States", [4]bool{got[0].Reaction.Version() == 5, got[0].CollectionVersion == 6, got[0].Read != nil, got[0].FollowVersion == 8 && got[0].Followed != nil}, want)
	}
}

func tenantsAreWalledOff(w *world) {
	// The same names exist in two tenants.
	alice, other := user("alice"), storage.User{Tenant: "other", UserID: "alice"}
	s, t := video("1"), storage.Subject{Tenant: "other", Biz: "video", BizID: "1"}
	f := w.newFolder(alice, "Films")
	w.persist(like(alice, s, 10), Collect(alice, s, f.FolderID, 11), read(alice, s, 2, 12, 12), read(user(""), s, 1, 9, 9), follow(alice, s, 13))
	before := w.counts(s)

	w.equal("the other's counts", w.counts(t), storage.Counts{})
	w.equal("the other's states", w.states(other, t), storage.States{})
	w.equal("the other's folder", w.folder(storage.FolderKey{Owner: other, FolderID: f.FolderID}), nil)
	page := storage.Page{First: 10}
	likers, err := w.s.Likers(w.Context(), []storage.LikersQuery{{Subject: t, Page: page}})
	w.must(err)
	likes, err := w.s.Likes(w.Context(), []storage.LikesQuery{{User: other, Page: page}, {User: other, Biz: "video", Page: page}})
	w.must(err)
	items, err := w.s.Items(w.Context(), []storage.ItemsQuery{{Folder: storage.FolderKey{Owner: other, FolderID: f.FolderID}, Page: page}})
	w.must(err)
	folders, err := w.s.ListFolders(w.Context(), []storage.FoldersQuery{{Owner: other, Page: page}})
	w.must(err)
	reads, err := w.s.Reads(w.Context(), []storage.ReadsQuery{{User: other, Page: page}, {User: other, Biz: "video", Page: page}})
	w.must(err)
	followers, err := w.s.Followers(w.Context(), []storage.FollowersQuery{{Subject: t, Page: page}})
	w.must(err)
	following, err := w.s.Following(w.Context(), []storage.FollowingQuery{{User: other, Page: page}, {User: other, Biz: "video", Page: page}})
	w.must(err)
	w.equal("the other's lists", slices.Concat(lengths(likers), lengths(likes), lengths(items), lengths(folders), lengths(reads),
		lengths(followers), lengths(following)), make([]int, 10))

	// Nothing changes in this tenant when the user of the other tenant calls the store.
	stolen := storage.FolderKey{Owner: other, FolderID: f.FolderID}
	name := "Mine"
	_, err = w.s.UpdateFolder(w.Context(), stolen, storage.FolderChange{Name: &name}, storage.Time(20))
	w.wantError("UpdateFolder from another tenant", err, storage.ErrNotFound)
	_, _, err = w.s.EmptyFolder(w.Context(), stolen, "", storage.Time(20), 10, nil)
	w.wantError("EmptyFolder from another tenant", err, storage.ErrNotFound)
	w.wantError("DeleteFolder from another tenant", w.s.DeleteFolder(w.Context(), stolen, "", storage.Time(1)), storage.ErrNotFound)
	w.persist(React(other, t, storage.Dislike, 30), Collect(other, t, f.FolderID, 31), read(other, t, 7, 32, 32), unfollow(other, t, 33))
	w.equal("counts here", w.counts(s), before)
	w.equal("the collection there", w.states(other, t).Collected.FolderID, storage.DefaultFolderID)
	w.equal("the reaction here", w.states(alice, s).Liked.Reaction, storage.Like)
	w.equal("the follow here", w.states(alice, s).Followed != nil, true)
	w.equal("items here", w.folder(f.Key()).ItemCount, int64(1))
	w.wantCounts(t, 7, 0, 1, 1)
	w.verified()
}

func otherTenantsKeysAreInvalid(w *world) {
	alice, foreign := user("alice"), storage.Subject{Tenant: "other", Biz: "video", BizID: "1"}
	_, err := w.s.Interactives(w.Context(), alice, []storage.Subject{video("1"), foreign}, 0)
	w.wantError("Interactives of another tenant's subject", err, storage.ErrInvalid)
	_, err = w.s.States(w.Context(), []storage.StateKey{{User: alice, Subject: foreign}}, storage.AllKinds)
	w.wantError("States of another tenant's subject", err, storage.ErrInvalid)
}

// equal fails the case unless got and want are deeply equal. If want is nil, a nil of any
// type equals it.
func (w *world) equal(what string, got, want any) {
	w.Helper()
	if want == nil {
		if v := reflect.ValueOf(got); v.IsValid() && !v.IsNil() {
			w.Errorf("%s: got %s, want nil", what, Text(got))
		}
		return
	}
	if !reflect.DeepEqual(got, want) {
		w.Errorf("%s: got %s, want %s", what, Text(got), Text(want))
	}
}

func (w *world) wantError(what string, err, want error) {
	w.Helper()
	if !errors.Is(err, want) {
		w.Errorf("%s: got the error %v, want %v", what, err, want)
	}
}

// CheckCounts fails the test unless Verify compares at least one count and finds no
// difference.
func CheckCounts(tb testing.TB, s storage.Store) {
	tb.Helper()
	n, err := s.Verify(tb.Context(), false, func(d storage.Difference) error {
		tb.Errorf("Verify found %+v, want no difference", d)
		return nil
	})
	if err != nil || n == 0 {
		tb.Errorf("Verify = %d, %v, want at least 1 count compared", n, err)
	}
}

// Text formats a value for the messages of failed tests. Unlike %+v, it includes the
// values that nested pointers refer to.
func Text(v any) string {
	text, err := json.Marshal(v)
	if err != nil { // such as a map whose keys are structs
		return fmt.Sprintf("%+v", v)
	}
	return string(text)
}

func lengths[E any](lists []storage.ListPage[E]) []int {
	out := make([]int, 0, len(lists))
	for _, l := range lists {
		out = append(out, len(l.Entries))
	}
	return out
}
