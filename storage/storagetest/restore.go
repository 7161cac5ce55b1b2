package storagetest

import (
	"slices"

	"ovation/storage"
)

func restoredFoldersKeepTheirNames(w *world) {
	alice := user("alice")
	films := w.newFolder(alice, "Films")
	f := func(id, name string, updated int64) storage.Folder {
		return storage.Folder{Owner: alice, FolderID: id, Name: name, Created: 5, Updated: updated}
	}
	part := &storage.Archive{Folders: []storage.Folder{f("a", "Films", 6), f("b", "films", 6), f("c", "Songs", 6)}}
	for range 2 {
		_, refused := w.restore(part)
		w.equal("refused folders", refused, nil)
		for id, name := range map[string]string{films.FolderID: "Films", "a": "Films (2)", "b": "films (3)", "c": "Songs"} {
			w.equal("the name of folder "+id, w.folder(storage.FolderKey{Owner: alice, FolderID: id}).Name, name)
		}
	}
	w.restore(&storage.Archive{Folders: []storage.Folder{f("c", "Old", 5), f("a", "Operas", 9)}})
	w.equal("a folder that changed later", w.folder(storage.FolderKey{Owner: alice, FolderID: "a"}).Name, "Operas")
	w.equal("a folder that changed earlier", w.folder(storage.FolderKey{Owner: alice, FolderID: "c"}).Name, "Songs")

	w.must(w.s.DeleteFolder(w.Context(), storage.FolderKey{Owner: alice, FolderID: "c"}, "", storage.Time(100)))
	w.restore(&storage.Archive{Folders: []storage.Folder{f("c", "Back", 99)}})
	w.equal("a folder that was deleted later", w.folder(storage.FolderKey{Owner: alice, FolderID: "c"}), nil)
	w.restore(&storage.Archive{Actions: []storage.Action{Collect(alice, video("1"), "a", 50)}})
	w.equal("items of a restored folder", w.folder(storage.FolderKey{Owner: alice, FolderID: "a"}).ItemCount, int64(1))

	bob := user("bob")
	w.restore(&storage.Archive{Folders: []storage.Folder{{Owner: bob, FolderID: "d", Name: "Songs", Created: 5, Updated: 5}}})
	lists, err := w.s.ListFolders(w.Context(), []storage.FoldersQuery{{Owner: bob, Page: storage.Page{First: 10}}})
	w.must(err)
	w.equal("the folders of a user with a restored one, the default one included", len(lists[0].Entries), 2)
	w.verified()
}

func restoredCommentsAreMerged(w *world) {
	alice, s := user("alice"), video("1")
	at := w.comment(alice, s, "here", nil)
	c := func(number, parent int64, text string) storage.Comment {
		return storage.Comment{Subject: s, Number: number, ParentID: parent, User: alice, Text: text, Created: 5}
	}
	edited, gone := c(1, 0, "edited"), c(2, 0, "")
	edited.Edited, edited.EditorID = 9, "moderator"
	gone.User.UserID, gone.DeletedAt = "", 8
	other := c(at.Number, 0, "not that one")
	reply := c(3, 1, "reply")
	stray := c(4, 77, "stray")

	_, refused := w.restore(&storage.Archive{Comments: []storage.Comment{c(1, 0, "text"), c(2, 0, "to be deleted"), reply}})
	w.equal("refused at first", refused, nil)
	w.equal("the number of comments", w.commentCount(s).Comments, int64(4))
	version := w.commentCount(s).Version
	for range 2 {
		_, refused = w.restore(&storage.Archive{Comments: []storage.Comment{edited, gone, reply, stray, other}})
		w.equal("the number of refused comments", len(refused), 2)
		w.equal("a comment that was edited later", w.found(&edited).Text, "edited")
		w.equal("its editor", w.found(&edited).EditorID, "moderator")
		w.equal("its replies", w.found(&edited).ReplyCount, int64(1))
		w.equal("a comment that was deleted later", w.found(&gone), nil)
		w.equal("the number of comments", w.commentCount(s).Comments, int64(3))
		w.restore(&storage.Archive{Comments: []storage.Comment{c(1, 0, "text"), c(2, 0, "to be deleted")}})
		w.equal("the text after an older archive", w.found(&edited).Text, "edited")
	}
	w.equal("the number of changes to comments that a reader sees", len(w.changes(s, version)), 2)
	w.sweepUntilDone(100, func() {})
	w.verified()
}

func restoredMessagesAreNumbered(w *world) {
	alice, bob := user("alice"), user("bob")
	of := storage.ConversationKey{Owner: bob, With: alice}
	last := w.send("alice", "bob", "last")
	m := func(number int64, from, to storage.User, text string) storage.DirectMessage {
		return storage.DirectMessage{From: from, To: to, Number: number, Text: text, Created: 5}
	}
	part := &storage.Archive{
		Messages:  []storage.DirectMessage{m(1, alice, bob, "one"), m(2, bob, alice, "two"), m(3, alice, bob, "three")},
		ReadMarks: []storage.ReadMark{{Conversation: of, UpTo: 1}, {Conversation: storage.ConversationKey{Owner: user("carol"), With: bob}, UpTo: 5}},
	}
	for range 2 {
		w.restore(part)
		w.equal("the messages", w.messageTexts(of), []string{"alice: last", "alice: three", "bob: two", "alice: one"})
		got := w.conversation(of)
		w.equal("unread messages", got.Unread, int64(2))
		w.equal("the latest message", got.Latest.Number, last.Number)
		w.equal("a conversation without messages", w.conversation(storage.ConversationKey{Owner: user("carol"), With: bob}), nil)
		w.verified()
	}
	if next := w.send("bob", "alice", "next"); next.Number <= last.Number {
		w.Errorf("the next message has number %d, want above %d", next.Number, last.Number)
	}
	w.restore(&storage.Archive{ReadMarks: []storage.ReadMark{{Conversation: of, UpTo: 3}}})
	w.equal("unread messages after a later mark", w.conversation(of).Unread, int64(1))
	w.verified()
}

func accountsAreRestoredOnce(w *world) {
	alice := w.register("alice")
	a := func(id, name string, generation int64) storage.Account {
		return storage.Account{
			User: storage.User{Tenant: "default", UserID: id}, Profile: storage.Profile{Name: name, Signature: "hi"},
			NameKey: name, Password: "hash of " + name, Generation: generation, Created: 5,
		}
	}
	part := &storage.Archive{Accounts: []storage.Account{a("5", "bob", 3), a("6", "alice", 1), a(alice.User.UserID, "alicia", alice.Generation+1)}}
	for range 2 {
		_, refused := w.restore(part)
		w.equal("refused accounts", len(refused), 1)
		w.equal("bob's account", *w.accountOf(part.Accounts[0].User), part.Accounts[0])
		w.equal("bob's account by name", *w.accountNamed("default", "bob"), part.Accounts[0])
		got := w.accountOf(alice.User)
		w.equal("the name of an account that exists", got.Name, "alice")
		w.equal("its password", got.Password, alice.Password)
		w.equal("its generation", got.Generation, alice.Generation+1)
		w.equal("an account whose name is taken", w.accountOf(part.Accounts[1].User), nil)
		w.equal("the name that it did not get", w.accountNamed("default", "alicia"), nil)
	}
	revoked, err := w.s.Revocations(w.Context(), storage.Revocation{}, 10)
	w.must(err)
	w.equal("the number of revocations", len(revoked), 2)
}

func invalidArchivesRestoreNothing(w *world) {
	alice, s := user("alice"), video("1")
	good := storage.Archive{Actions: []storage.Action{like(alice, s, 5)}}
	for name, spoil := range map[string]func(*storage.Archive){
		"an account without a number": func(a *storage.Archive) { a.Accounts = []storage.Account{{User: alice}} },
		"a folder without an owner": func(a *storage.Archive) {
			a.Folders = []storage.Folder{{FolderID: "a", Name: "A", Created: 1, Updated: 1}}
		},
		"a deleted subject without a time": func(a *storage.Archive) { a.Deleted = []storage.DeletedMark{{Subject: s}} },
		"a comment without a text": func(a *storage.Archive) {
			a.Comments = []storage.Comment{{Subject: s, Number: 1, User: alice, Created: 1}}
		},
		"a video without a file": func(a *storage.Archive) {
			a.Videos = []storage.Video{{Author: alice, Number: 1, Title: "T", Created: 1}}
		},
		"an action that adds up":   func(a *storage.Archive) { a.Actions = append(a.Actions, read(alice, s, 1, 1, 1)) },
		"a read without a subject": func(a *storage.Archive) { a.Reads = []storage.Read{{User: alice, Times: 1, First: 1, Last: 1}} },
		"a message to oneself": func(a *storage.Archive) {
			a.Messages = []storage.DirectMessage{{From: alice, To: alice, Number: 1, Text: "x", Created: 1}}
		},
		"a read mark without a number": func(a *storage.Archive) {
			a.ReadMarks = []storage.ReadMark{{Conversation: storage.ConversationKey{Owner: alice, With: user("bob")}}}
		},
		"an import without an id": func(a *storage.Archive) { a.Imports = []string{""} },
	} {
		part := good
		part.Actions = slices.Clone(good.Actions)
		spoil(&part)
		_, err := w.s.Restore(w.Context(), &part, nil)
		w.wantError(name, err, storage.ErrInvalid)
	}
	w.equal("counts after invalid archives", w.counts(s).Version, int64(0))
}
