package storagetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"ovation/storage"
)

// export returns what a query selects, one Archive for each part.
func (w *world) export(tenant, userID string) (parts []*storage.Archive) {
	w.Helper()
	w.must(w.s.Export(w.Context(), storage.ArchiveQuery{Tenant: tenant, UserID: userID}, func(part *storage.Archive) error {
		kept := *part
		parts = append(parts, &kept)
		return nil
	}))
	return parts
}

// exported returns the elements of an export, each as text.
func (w *world) exported(tenant, userID string) []string {
	w.Helper()
	return w.linesOf(w.export(tenant, userID))
}

func (w *world) linesOf(parts []*storage.Archive) (out []string) {
	w.Helper()
	for _, part := range parts {
		for _, list := range []struct {
			name string
			all  any
		}{
			{"account", part.Accounts},
			{"folder", part.Folders},
			{"deleted", part.Deleted},
			{"comment", part.Comments},
			{"video", part.Videos},
			{"action", part.Actions},
			{"read", part.Reads},
			{"message", part.Messages},
			{"mark", part.ReadMarks},
			{"import", part.Imports},
		} {
			text, err := json.Marshal(list.all)
			w.must(err)
			var elements []json.RawMessage
			w.must(json.Unmarshal(text, &elements))
			for _, e := range elements {
				out = append(out, list.name+" "+string(e))
			}
		}
	}
	return out
}

// inTenant returns the archives as those of another tenant.
func (w *world) inTenant(parts []*storage.Archive, from, to string) (out []*storage.Archive) {
	for _, part := range parts {
		text, err := json.Marshal(part) //nolint:musttag // it is text for a moment only
		w.must(err)
		moved := new(storage.Archive)
		w.must(json.Unmarshal([]byte(strings.ReplaceAll(string(text), `"Tenant":"`+from+`"`, `"Tenant":"`+to+`"`)), moved)) //nolint:musttag // as above
		out = append(out, moved)
	}
	return out
}

func (w *world) restore(parts ...*storage.Archive) (changed int, refused []storage.Refusal) {
	w.Helper()
	for _, part := range parts {
		outcome, err := w.s.Restore(w.Context(), part, nil)
		w.must(err)
		changed += len(outcome.Counts)
		refused = append(refused, outcome.Refused...)
	}
	return changed, refused
}

// Populate gives the default tenant of an empty store something of everything, and sweeps
// what it deletes.
func Populate(t *testing.T, s storage.Store) {
	t.Helper()
	(&world{T: t, s: s}).populate()
}

func (w *world) populate() {
	w.Helper()
	g := NewTraffic()
	for i := range 4 {
		w.persistMessages(g.Message(fmt.Sprint("traffic-", i), 1500))
	}
	alice, bob := w.register("alice").User, w.register("bob").User
	clip := w.publish(newVideo(alice, "Clip"))
	gone := w.publish(newVideo(alice, "Gone"))
	on := clip.Key().Subject()
	films, err := w.s.CreateFolder(w.Context(), storage.Folder{Owner: bob, Name: "Films", Description: "to see", Public: true, Created: 9})
	w.must(err)
	_, err = w.s.CreateFolder(w.Context(), storage.Folder{Owner: bob, Name: "Empty", Created: 5}) // before the default folder
	w.must(err)
	w.persist(
		like(bob, on, 11), Collect(bob, on, films.FolderID, 12), Collect(bob, video("2"), storage.DefaultFolderID, 13),
		follow(bob, alice.Subject(), 14), read(bob, on, 3, 15, 16), read(user(""), on, 7, 15, 19), like(bob, gone.Key().Subject(), 17),
		React(alice, on, storage.Dislike, 20), unlikeIf(alice, on, storage.Like, 30), unlikeIf(alice, on, storage.Dislike, 31),
		like(alice, video("3"), 40), unlikeIf(alice, video("3"), storage.Dislike, 41), unlikeIf(alice, video("4"), storage.Like, 42),
	)
	first := w.comment(bob, on, "first", nil)
	reply := w.comment(alice, on, "reply", first)
	w.comment(bob, on, "another reply", first)
	w.persist(like(bob, reply.Key().Subject(), 50))
	w.deleteComment(bob, first)
	w.deleteComment(bob, w.comment(bob, on, "alone", nil))
	_, err = w.s.EditComment(w.Context(), storage.CommentChange{Key: reply.Key(), By: bob, Moderates: true}, "edited")
	w.must(err)
	w.must(w.deleteVideo(gone, alice))
	w.sent(storage.NewDirectMessage{From: alice, To: bob, Text: "hello"})
	m := w.sent(storage.NewDirectMessage{From: alice, To: bob, Text: "are you there?"}).Message
	w.sent(storage.NewDirectMessage{From: bob, To: alice, Text: "yes"})
	w.sent(storage.NewDirectMessage{From: alice, To: bob, Text: "good"})
	_, err = w.s.MarkRead(w.Context(), storage.ConversationKey{Owner: bob, With: alice}, m.Number)
	w.must(err)
	w.persistMessages(storage.Message{ID: "import-of-a-file", Forever: true})
	w.sweepUntilDone(1000, func() {})
}

func unlikeIf(u storage.User, s storage.Subject, of storage.Reaction, version int64) storage.Action {
	return storage.Action{User: u, Subject: s, Kind: storage.KindReaction, If: of, Version: version}
}

func archivesHoldEverything(w *world) {
	w.populate()
	parts := w.export("default", "")
	want := w.linesOf(parts)
	for _, kind := range []string{"account", "folder", "deleted", "comment", "video", "action", "read", "message", "mark", "import"} {
		if !slices.ContainsFunc(want, func(line string) bool { return strings.HasPrefix(line, kind+" ") }) {
			w.Errorf("the export has no %s", kind)
		}
	}
	for _, part := range parts {
		if n := part.Len(); n == 0 || n > storage.ArchivePart {
			w.Errorf("a part has %d elements, want 1 to %d", n, storage.ArchivePart)
		}
		w.must(part.Validate())
	}
	copied := w.inTenant(parts, "default", "copy")
	for _, what := range []string{"a restored tenant", "a tenant that is restored again"} {
		changed, refused := w.restore(copied...)
		w.equal(what+": refused", refused, nil)
		if what != "a restored tenant" {
			w.equal(what+": changed counts", changed, 0)
		}
		got := w.linesOf(w.inTenant(w.export("copy", ""), "copy", "default"))
		if !slices.Equal(got, want) {
			w.Errorf("%s: its export differs: %s", what, firstDifference(got, want))
		}
		w.verified()
	}
	for _, s := range []storage.Subject{{Tenant: "default", Biz: "video", BizID: "1"}, {Tenant: "default", Biz: "video", BizID: "5"}} {
		of := s
		of.Tenant = "copy"
		original, restored := w.counts(s), w.counts(of)
		if restored.Version <= original.Version {
			w.Errorf("the version of restored counts is %d, want above %d", restored.Version, original.Version)
		}
		restored.Version = original.Version
		w.equal("restored counts", restored, original)
	}
}

func firstDifference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		g, x := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			x = want[i]
		}
		if g != x {
			return fmt.Sprintf("element %d is %s, want %s", i, g, x)
		}
	}
	return "not at all"
}

func archivesAreMerged(w *world) {
	alice, s := user("alice"), video("1")
	anonymous := user("")
	w.persist(like(alice, s, 20), read(alice, s, 3, 10, 20), read(anonymous, s, 4, 10, 20), follow(alice, s, 20), read(alice, video("2"), 1, 5, 5))
	part := &storage.Archive{
		Actions: []storage.Action{React(alice, s, storage.Dislike, 10), follow(alice, video("3"), 30), Collect(alice, s, storage.DefaultFolderID, 5)},
		Reads: []storage.Read{
			{User: alice, Subject: s, Times: 2, First: 5, Last: 15},
			{User: anonymous, Subject: s, Times: 9, First: 11, Last: 30},
			{User: alice, Subject: video("2"), Times: 1, First: 5, Last: 5},
			{User: user("bob"), Subject: s, Times: 2, First: 1, Last: 2},
		},
	}
	for range 2 {
		w.restore(part)
		w.equal("the newer reaction", w.states(alice, s).Liked.Reaction, storage.Like)
		w.equal("alice's read", *w.states(alice, s).Read, storage.Read{User: alice, Subject: s, Times: 3, First: 5, Last: 20})
		w.wantFollowed(s, 3+9+2, 1, 0, 1, 1)
		w.wantReaders(s, 2)
		w.verified()
	}
	w.clear(storage.ReadsClear{User: alice, Until: 40})
	reads := w.counts(s).ReadCount
	w.restore(part)
	w.equal("the cleared read", w.states(alice, s).Read, nil)
	w.equal("the number of reads after a clear", w.counts(s).ReadCount, reads)
	w.verified()
}

func restoredSubjectsStayDeleted(w *world) {
	alice := user("alice")
	v := w.publish(newVideo(alice, "Gone"))
	s := v.Key().Subject()
	w.persist(like(alice, s, 5))
	w.comment(alice, s, "text", nil)
	before := w.export("default", "")
	w.must(w.deleteVideo(v, alice))
	w.sweepUntilDone(100, func() {})
	after := w.exported("default", "")
	w.restore(before...)
	w.sweepUntilDone(100, func() {})
	if got := w.exported("default", ""); !slices.Equal(got, after) {
		w.Errorf("an older archive restores a deleted video: %s", firstDifference(got, after))
	}
	w.equal("the deleted video", w.videoOf(v.Key()), nil)
	w.verified()

	other := storage.Subject{Tenant: "default", Biz: "article", BizID: "1"}
	w.persist(like(alice, other, 6))
	w.restore(&storage.Archive{Deleted: []storage.DeletedMark{{Subject: other, At: 7, Since: 7}}})
	w.sweepUntilDone(100, func() {})
	w.equal("likes of a subject that the archive deletes", w.counts(other).LikeCount, int64(0))
	w.equal("the mark", w.counts(other).Deleted, true)
	w.verified()
}

// restoredUsersStayErased restores an archive from before a user was erased.
func restoredUsersStayErased(w *world) {
	e := w.newErin()
	film := w.publish(newVideo(e.User, "secret film"))
	before := w.export(e.Tenant, "")
	w.must(w.s.BeginErase(w.Context(), e.User))
	w.must(w.deleteVideo(film, e.User))
	_, err := Erase(w.Context(), w.s, e.User, 100, nil)
	w.must(err)
	w.sweepUntilDone(100, func() {})
	_, refused := w.restore(before...)
	told := slices.ContainsFunc(refused, func(r storage.Refusal) bool { return r.What == "user" && r.ID == e.UserID })
	w.equal("the refusal names the user", told, true)
	w.sweepUntilDone(100, func() {})
	w.wantForgotten(e.secrets...)
	w.equal("the account", w.accountNamed(e.Tenant, "erin-secret-name"), nil)
	w.wantFollowed(e.subject, 6, 2, 0, 2, 2)
	w.verified()
}

func archivesOfUsersHoldWhatIsTheirs(w *world) {
	w.populate()
	bob := storage.User{Tenant: "default"}
	for _, part := range w.export("default", "") {
		for _, a := range part.Accounts {
			if a.Name == "bob" {
				bob = a.User
			}
		}
	}
	parts := w.export("default", bob.UserID)
	kinds := map[string]int{}
	for _, line := range w.linesOf(parts) {
		kind, _, _ := strings.Cut(line, " ")
		kinds[kind]++
		if !strings.Contains(line, `"`+bob.UserID+`"`) {
			w.Errorf("the archive of %s holds %s", bob.UserID, line)
		}
	}
	w.equal("bob's elements", kinds, map[string]int{"account": 1, "folder": 3, "comment": 1, "action": 6, "read": 1, "message": 4, "mark": 1})
	w.equal("elements of an unknown user", w.exported("default", "nobody"), nil)
	w.equal("elements of another tenant", len(w.exported("other", bob.UserID)), 0)
	w.wantError("the export of an invalid tenant", w.s.Export(w.Context(), storage.ArchiveQuery{Tenant: "No"}, nil), storage.ErrInvalid)
}

func archivesAreOfOneMoment(w *world) {
	ctx, stop := context.WithCancel(w.Context())
	defer stop()
	var group sync.WaitGroup
	group.Go(func() {
		for n := int64(1); ctx.Err() == nil; n++ {
			var m storage.Message
			m.ID = fmt.Sprint("moment-", n)
			for i := range 40 {
				m.Actions = append(m.Actions, storage.Action{
					User: user(fmt.Sprint("u", i)), Subject: video("1"), Kind: storage.KindReaction, Reaction: storage.Reaction(n % 3), Version: n,
				}, follow(user(fmt.Sprint("u", i)), video("1"), n))
			}
			if _, err := w.s.Persist(ctx, []storage.Message{m}, nil); err != nil && ctx.Err() == nil {
				w.Error(err)
				return
			}
		}
	})
	for range 30 {
		versions := map[int64]bool{}
		for _, part := range w.export("default", "") {
			for _, a := range part.Actions {
				versions[a.Version] = true
			}
		}
		if len(versions) > 1 {
			w.Errorf("an export holds states of %d transactions, want those of one", len(versions))
		}
	}
	stop()
	group.Wait()
}
