// Package storagetest is the conformance suite of storage.Store: what every
// adapter, and every decorator over one, must do. An adapter's test calls
//
//	storagetest.Run(t, func(t *testing.T) storagetest.Database { … })
//
// Each case gets an empty database. The cases that prove an invariant have the
// name that the documentation of package storage gives.
//
// This package imports package storage and nothing else of this module.
package storagetest

import (
	"strconv"
	"testing"

	"ovation/storage"
)

// Database is an empty database, made for one case.
type Database struct {
	// Open opens a store on it. A case may open several, as several processes
	// would; it closes them.
	Open func(t *testing.T) storage.Store
	// Edit runs a statement of SQL behind the back of the stores, as somebody
	// with a console would. The names of tables and columns are the same in
	// every adapter.
	Edit func(t *testing.T, sql string)
}

type testCase struct {
	name string
	run  func(w *world)
}

// Run runs every case of storage.Store.
func Run(t *testing.T, newDatabase func(t *testing.T) Database) {
	t.Helper()
	run(t, newDatabase, []testCase{
		{"AnswersInTheOrderAsked", answersInTheOrderAsked},
		{"UnknownKeysAreEmpty", unknownKeysAreEmpty},
		{"AwkwardKeysAreKeptApart", awkwardKeysAreKeptApart},
		{"AnonymousViewersDidNothing", anonymousViewersDidNothing},
		{"OnlyTheKindsAskedAreAnswered", onlyTheKindsAskedAreAnswered},
		{"TenantsAreWalledOff", tenantsAreWalledOff},
		{"OtherTenantsKeysAreInvalid", otherTenantsKeysAreInvalid},

		{"CountsMatchStates", countsMatchStates},
		{"CountVersionsOnlyRise", countVersionsOnlyRise},
		{"LatestVersionWins", latestVersionWins},
		{"ClearsAreConditional", clearsAreConditional},
		{"ReactionsMergeInAnyOrder", reactionsMergeInAnyOrder},
		{"ReadsAddUp", readsAddUp},
		{"OutcomeIsTheLatestWord", outcomeIsTheLatestWord},
		{"InvalidActionPersistsNothing", invalidActionPersistsNothing},
		{"RedeliveredMessageCountsOnce", redeliveredMessageCountsOnce},
		{"SeenUntilPruned", seenUntilPruned},
		{"OldReadsAreNotPersisted", oldReadsAreNotPersisted},
		{"MarkIsInsideTheTransaction", markIsInsideTheTransaction},
		{"PersistedSurvivesReopen", persistedSurvivesReopen},
		{"ConcurrentWritersAgree", concurrentWritersAgree},

		{"ListsAreNewestFirst", listsAreNewestFirst},
		{"UnchangedEntriesAppearOnce", unchangedEntriesAppearOnce},
		{"ListsOfOneBizExamineBoundedRows", listsOfOneBizExamineBoundedRows},
		{"ListsHoldWhatTheyName", listsHoldWhatTheyName},
		{"PrivateFoldersAreHidden", privateFoldersAreHidden},

		{"CreateFolder", createFolder},
		{"FolderNamesAreUnique", folderNamesAreUnique},
		{"FoldersAreBounded", foldersAreBounded},
		{"UpdateFolder", updateFolder},
		{"DefaultFolderIsMadeOnDemand", defaultFolderIsMadeOnDemand},
		{"CollectionsOfGoneFoldersGoToTheDefault", collectionsOfGoneFoldersGoToTheDefault},
		{"CollectionsFollowTheItemsOfDeletedFolders", collectionsFollowTheItemsOfDeletedFolders},
		{"EmptyFolderInChunks", emptyFolderInChunks},
		{"EmptyFolderMovesItems", emptyFolderMovesItems},
		{"DeleteFoldersCrosswise", deleteFoldersCrosswise},
		{"EmptyFolderOvertakesNothing", emptyFolderOvertakesNothing},
		{"DeleteFolder", deleteFolder},

		{"VerifyFindsAndRepairs", verifyFindsAndRepairs},
		{"VerifyRehousesTheItemsOfSeveralFolders", verifyRehousesTheItemsOfSeveralFolders},
		{"VerifyEndsWithTheReport", verifyEndsWithTheReport},
		{"SecretsStayTheSame", secretsStayTheSame},
		{"CancelledCallsDoNothing", cancelledCallsDoNothing},
		{"CloseMayBeCalledTwice", closeMayBeCalledTwice},
		{"Model", model},
	})
}

// RunDatabase runs the cases of the roles that mirror.Database has besides.
// What Open returns must be one.
func RunDatabase(t *testing.T, newDatabase func(t *testing.T) Database) {
	t.Helper()
	run(t, newDatabase, []testCase{
		{"WindowsHoldAllOrSayThatTheyDoNot", windowsHoldAllOrSayThatTheyDoNot},
		{"StatesTellTheVersionOfTheirCounts", statesTellTheVersionOfTheirCounts},
		{"EpochsRise", epochsRise},
		{"EpochsAreHeld", epochsAreHeld},
		{"BarrierIsPassedByEveryPartition", barrierIsPassedByEveryPartition},
		{"RestoredDatabaseUsesNoBarrierTwice", restoredDatabaseUsesNoBarrierTwice},
		{"InvalidBarrierPersistsNothing", invalidBarrierPersistsNothing},
		{"EndedEpochRefusesThenGoesOn", endedEpochRefusesThenGoesOn},
		{"EpochChangeWaitsForTransactions", epochChangeWaitsForTransactions},
		{"NoTransactionStraddlesEpochs", noTransactionStraddlesEpochs},
	})
}

func run(t *testing.T, newDatabase func(t *testing.T) Database, cases []testCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			db := newDatabase(t)
			w := &world{T: t, db: db}
			w.s = w.open()
			c.run(w)
		})
	}
}

// world is what a case works with.
type world struct {
	*testing.T

	db       Database
	s        storage.Store
	messages int // persisted so far
}

// open opens another store on the same database, and closes it in the end.
func (w *world) open() storage.Store {
	w.Helper()
	s := w.db.Open(w.T)
	w.Cleanup(func() { w.must(s.Close()) })
	return s
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// message makes a message with an id of its own.
func (w *world) message(actions ...storage.Action) storage.Message {
	w.messages++
	return storage.Message{ID: "message-" + strconv.Itoa(w.messages), Actions: actions}
}

// persist persists the actions as one new message.
func (w *world) persist(actions ...storage.Action) storage.Outcome {
	w.Helper()
	return w.persistMessages(w.message(actions...))
}

func (w *world) persistMessages(messages ...storage.Message) storage.Outcome {
	w.Helper()
	outcome, err := w.s.Persist(w.Context(), messages, nil)
	w.must(err)
	return outcome
}

func (w *world) counts(subject storage.Subject) storage.Counts {
	w.Helper()
	anonymous := storage.User{Tenant: subject.Tenant}
	got, err := w.s.Interactives(w.Context(), anonymous, []storage.Subject{subject}, 0)
	w.must(err)
	if len(got) != 1 {
		w.Fatalf("%d answers to one question", len(got))
	}
	return got[0].Counts
}

// wantCounts compares all but the version.
func (w *world) wantCounts(subject storage.Subject, reads, likes, dislikes, collects int64) {
	w.Helper()
	got := w.counts(subject)
	got.Version = 0
	want := storage.Counts{ReadCount: reads, LikeCount: likes, DislikeCount: dislikes, CollectCount: collects}
	if got != want {
		w.Errorf("counts of %v: got %+v, want %+v", subject, got, want)
	}
}

func (w *world) states(user storage.User, subject storage.Subject) storage.States {
	w.Helper()
	got, err := w.s.States(w.Context(), []storage.StateKey{{User: user, Subject: subject}}, storage.AllKinds)
	w.must(err)
	if len(got) != 1 {
		w.Fatalf("%d answers to one question", len(got))
	}
	got[0].CountsVersion = 0 // not of every store
	return got[0]
}

// folder returns the folder, nil if there is none.
func (w *world) folder(key storage.FolderKey) *storage.Folder {
	w.Helper()
	got, err := w.s.FoldersOf(w.Context(), []storage.FolderKey{key})
	w.must(err)
	return got[0]
}

func (w *world) newFolder(owner storage.User, name string) *storage.Folder {
	w.Helper()
	f, err := w.s.CreateFolder(w.Context(), storage.Folder{Owner: owner, Name: name, Created: 1})
	w.must(err)
	return f
}

// verified fails the case unless every count is right.
func (w *world) verified() {
	w.Helper()
	_, err := w.s.Verify(w.Context(), false, func(d storage.Difference) error {
		w.Errorf("verify: %+v", d)
		return nil
	})
	w.must(err)
}

func user(id string) storage.User { return storage.User{Tenant: storage.DefaultTenant, UserID: id} }

func video(id string) storage.Subject {
	return storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: id}
}

func react(u storage.User, s storage.Subject, r storage.Reaction, version int64) storage.Action {
	return storage.Action{User: u, Subject: s, Kind: storage.KindReaction, Reaction: r, Version: version}
}

func like(u storage.User, s storage.Subject, version int64) storage.Action {
	return react(u, s, storage.Like, version)
}

func collect(u storage.User, s storage.Subject, folder string, version int64) storage.Action {
	return storage.Action{User: u, Subject: s, Kind: storage.KindCollection, FolderID: folder, Version: version}
}

func read(u storage.User, s storage.Subject, times, first, last int64) storage.Action {
	return storage.Action{User: u, Subject: s, Kind: storage.KindRead, Times: times, First: first, Version: last}
}
