// Package storagetest is the conformance suite of storage.Store, for every adapter and
// every decorator. An adapter's test calls
//
//	storagetest.Run(t, func(t *testing.T) storagetest.Database { … })
//
// Each case gets an empty database. The documentation of package storage names the
// cases that prove its invariants.
//
// This package imports storage, storage/mirror and internal/testing/seed and no other
// package of this module.
package storagetest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"ovation/storage"
)

// Database is an empty database, created for one case.
type Database struct {
	// Open opens a store on the database. A case may open several stores, as several
	// processes would. The stores are closed at the end of the case.
	Open func(t *testing.T) storage.Store
	// Edit runs an SQL statement on the database directly, bypassing the stores. The
	// names of tables and columns are the same in every adapter.
	Edit func(t *testing.T, sql string)
	// Dump returns everything that the database and the caches in front of it hold, as
	// text.
	Dump func(t *testing.T) string
}

type testCase struct {
	name string
	run  func(w *world)
}

// Run runs every case for storage.Store.
func Run(t *testing.T, newDatabase func(t *testing.T) Database) {
	t.Helper()
	runParallel(t, newDatabase, slices.Concat(states, rest, models))
}

// RunOnce runs the cases of Run, except for the random cases that do not concern states.
func RunOnce(t *testing.T, newDatabase func(t *testing.T) Database) {
	t.Helper()
	runParallel(t, newDatabase, slices.Concat(states, rest))
}

// RunStates runs the cases about states and counts, and about the calls that change them.
// A decorator that only caches states and counts, and passes on all other calls, can fail
// no other cases.
func RunStates(t *testing.T, newDatabase func(t *testing.T) Database) {
	t.Helper()
	runParallel(t, newDatabase, states)
}

var states = []testCase{
	{"ResultsFollowTheOrderOfKeys", resultsFollowTheOrderOfKeys},
	{"UnknownKeysAreEmpty", unknownKeysAreEmpty},
	{"AwkwardKeysAreDistinct", awkwardKeysAreDistinct},
	{"AnonymousViewersHaveNoStates", anonymousViewersHaveNoStates},
	{"OnlyRequestedKindsAreReturned", onlyRequestedKindsAreReturned},
	{"TenantsAreWalledOff", tenantsAreWalledOff},
	{"OtherTenantsKeysAreInvalid", otherTenantsKeysAreInvalid},

	{"CountsMatchStates", countsMatchStates},
	{"CountVersionsOnlyRise", countVersionsOnlyRise},
	{"LatestVersionWins", latestVersionWins},
	{"ClearsAreConditional", clearsAreConditional},
	{"ReactionsMergeInAnyOrder", reactionsMergeInAnyOrder},
	{"ReadsAddUp", readsAddUp},
	{"ReadersAreCountedOnce", readersAreCountedOnce},
	{"ClearedReadsStayCounted", clearedReadsStayCounted},
	{"HistoriesAreClearedInChunks", historiesAreClearedInChunks},
	{"QueuedReadsStayCleared", queuedReadsStayCleared},
	{"ReadsInProgressStayCleared", readsInProgressStayCleared},
	{"ClearsAreChecked", clearsAreChecked},
	{"FollowersAreCounted", followersAreCounted},
	{"UsersCannotFollowThemselves", usersCannotFollowThemselves},
	{"OutcomeIsTheLatestState", outcomeIsTheLatestState},
	{"InvalidActionPersistsNothing", invalidActionPersistsNothing},
	{"RedeliveredMessageCountsOnce", redeliveredMessageCountsOnce},
	{"BatchesOfActionsTakeEffectOnce", batchesOfActionsTakeEffectOnce},
	{"ConcurrentBatchesTakeEffectOnce", concurrentBatchesTakeEffectOnce},
	{"SeenUntilPruned", seenUntilPruned},
	{"OldReadsAreNotPersisted", oldReadsAreNotPersisted},
	{"MarkIsInsideTheTransaction", markIsInsideTheTransaction},
	{"PersistedSurvivesReopen", persistedSurvivesReopen},
	{"ConcurrentWritersAgree", concurrentWritersAgree},

	{"CollectionsOfDeletedFoldersGoToTheDefault", collectionsOfDeletedFoldersGoToTheDefault},
	{"CollectionsFollowTheItemsOfDeletedFolders", collectionsFollowTheItemsOfDeletedFolders},
	{"EmptyFolderInChunks", emptyFolderInChunks},
	{"EmptyFolderMovesItems", emptyFolderMovesItems},
	{"DeleteFoldersCrosswise", deleteFoldersCrosswise},
	{"EmptyFolderOvertakesNothing", emptyFolderOvertakesNothing},
	{"DeleteFolder", deleteFolder},

	{"LatestDeclarationIsInForce", latestDeclarationIsInForce},
	{"AuthorsReceiveLikes", authorsReceiveLikes},
	{"ConcurrentAuthorsAgree", concurrentAuthorsAgree},

	{"AuthorsAndModeratorsDeleteVideos", authorsAndModeratorsDeleteVideos},
	{"DeletedVideosLeaveNothing", deletedVideosLeaveNothing},
	{"DeletedCommentsLeaveNothing", deletedCommentsLeaveNothing},
	{"DeletedSubjectsTakeNoStates", deletedSubjectsTakeNoStates},
	{"SweepsAreMarked", sweepsAreMarked},
	{"LargeDeletionsHoldUpNoOther", largeDeletionsHoldUpNoOther},
	{"ConcurrentSweepsMissNothing", concurrentSweepsMissNothing},
	{"VerifyFindsUnsweptSubjects", verifyFindsUnsweptSubjects},
	{"PublicationsAreMarked", publicationsAreMarked},

	{"ArchivesHoldEverything", archivesHoldEverything},
	{"ArchivesAreMerged", archivesAreMerged},
	{"RestoredSubjectsStayDeleted", restoredSubjectsStayDeleted},
	{"RestoredUsersStayErased", restoredUsersStayErased},

	{"ErasedUsersLeaveNothing", erasedUsersLeaveNothing},
	{"ErasedUsersAddNothing", erasedUsersAddNothing},
	{"ErasuresAreMarked", erasuresAreMarked},
	{"UnknownUsersAreNotErased", unknownUsersAreNotErased},
	{"ConcurrentErasuresMissNothing", concurrentErasuresMissNothing},

	{"VerifyFindsAndRepairs", verifyFindsAndRepairs},
	{"VerifyMovesTheItemsOfSeveralFolders", verifyMovesTheItemsOfSeveralFolders},
	{"VerifyEndsWithTheReport", verifyEndsWithTheReport},
	{"CancelledCallsDoNothing", cancelledCallsDoNothing},
	{"CloseMayBeCalledTwice", closeMayBeCalledTwice},
	{"Model", model},
}

// rest holds the cases of storage.Store that the variables states and models do not hold.
var rest = []testCase{
	{"ListsAreNewestFirst", listsAreNewestFirst},
	{"UnchangedEntriesAppearOnce", unchangedEntriesAppearOnce},
	{"ListsOfOneBizExamineBoundedRows", listsOfOneBizExamineBoundedRows},
	{"ListsContainTheirEntries", listsContainTheirEntries},
	{"FriendsFollowEachOther", friendsFollowEachOther},
	{"FriendsAreSearchedInTheShorterList", friendsAreSearchedInTheShorterList},
	{"PagesOfFriendsExamineBoundedRows", pagesOfFriendsExamineBoundedRows},
	{"FollowedLikersAreFollowed", followedLikersAreFollowed},
	{"PagesOfFollowedLikersExamineBoundedRows", pagesOfFollowedLikersExamineBoundedRows},
	{"PrivateFoldersAreHidden", privateFoldersAreHidden},

	{"CreateFolder", createFolder},
	{"FolderNamesAreUnique", folderNamesAreUnique},
	{"FolderKeysOfAnEarlierRule", folderKeysOfAnEarlierRule},
	{"FoldersAreBounded", foldersAreBounded},
	{"UpdateFolder", updateFolder},
	{"DefaultFolderIsMadeOnDemand", defaultFolderIsMadeOnDemand},

	{"ArchivesOfUsersHoldWhatIsTheirs", archivesOfUsersHoldWhatIsTheirs},
	{"ArchivesAreOfOneMoment", archivesAreOfOneMoment},
	{"RestoredFoldersKeepTheirNames", restoredFoldersKeepTheirNames},
	{"RestoredCommentsAreMerged", restoredCommentsAreMerged},
	{"RestoredMessagesAreNumbered", restoredMessagesAreNumbered},
	{"AccountsAreRestoredOnce", accountsAreRestoredOnce},
	{"InvalidArchivesRestoreNothing", invalidArchivesRestoreNothing},

	{"CommentsAreListed", commentsAreListed},
	{"CommentsOfUsersAreListed", commentsOfUsersAreListed},
	{"CommentsAreStoredUnchanged", commentsAreStoredUnchanged},
	{"RepliesAreOneLevelDeep", repliesAreOneLevelDeep},
	{"InvalidCommentFailsNoOther", invalidCommentFailsNoOther},
	{"RepeatedRequestAddsOnce", repeatedRequestAddsOnce},
	{"DeletedCommentsKeepThreads", deletedCommentsKeepThreads},
	{"CommentChangesMissNothing", commentChangesMissNothing},
	{"VersionsAreNotReused", versionsAreNotReused},
	{"ConcurrentCommentersAgree", concurrentCommentersAgree},
	{"CommentsAreWalledOff", commentsAreWalledOff},
	{"PastCommentsAreListedByTheirTime", pastCommentsAreListedByTheirTime},
	{"PastCommentsOfOneTimeAreDistinct", pastCommentsOfOneTimeAreDistinct},
	{"PastCommentsAreAddedOnce", pastCommentsAreAddedOnce},
	{"VerifyRecountsComments", verifyRecountsComments},

	{"DeclarationsAreChecked", declarationsAreChecked},
	{"TotalsCountActionsOfUsers", totalsCountActionsOfUsers},
	{"PublicCollectionsFollowTheirFolders", publicCollectionsFollowTheirFolders},
	{"WorksAreNewestFirst", worksAreNewestFirst},
	{"VerifyRecountsTotals", verifyRecountsTotals},
	{"AccountsAreFoundByNameAndUser", accountsAreFoundByNameAndUser},
	{"AccountNamesAreUnique", accountNamesAreUnique},
	{"ConcurrentRegistrationsTakeANameOnce", concurrentRegistrationsTakeANameOnce},
	{"InvalidAccountsAreRejected", invalidAccountsAreRejected},
	{"ProfilesAreStoredUnchanged", profilesAreStoredUnchanged},
	{"UploadedAvatarsBelongToOneAccount", uploadedAvatarsBelongToOneAccount},
	{"PasswordsAreReplacedOnce", passwordsAreReplacedOnce},
	{"RevocationsAreFollowed", revocationsAreFollowed},
	{"AccountIDsAreNotReused", accountIDsAreNotReused},
	{"NamedUsersHaveAccounts", namedUsersHaveAccounts},
	{"AccountsAreWalledOff", accountsAreWalledOff},

	{"PublishedVideosAreStoredUnchanged", publishedVideosAreStoredUnchanged},
	{"VideosAreChecked", videosAreChecked},
	{"FeedsAreNewestFirst", feedsAreNewestFirst},
	{"RepeatedPublicationsPublishOnce", repeatedPublicationsPublishOnce},
	{"VideosAreWalledOff", videosAreWalledOff},
	{"VideoNumbersAreNotReused", videoNumbersAreNotReused},
	{"FilesOfVideosAreNamed", filesOfVideosAreNamed},
	{"CoversAreTriedThreeTimes", coversAreTriedThreeTimes},
	{"DueCoversAreShared", dueCoversAreShared},

	{"SearchesFindWords", searchesFindWords},
	{"SearchesFollowChanges", searchesFollowChanges},
	{"SearchesArePaged", searchesArePaged},
	{"IndexLacksNothing", indexLacksNothing},

	{"MessagesAreListed", messagesAreListed},
	{"MessagesHoldTheirText", messagesHoldTheirText},
	{"UnreadMessagesAreCounted", unreadMessagesAreCounted},
	{"RepeatedRequestSendsOnce", repeatedRequestSendsOnce},
	{"ConcurrentSendersAgree", concurrentSendersAgree},
	{"MessageNumbersAreNotReused", messageNumbersAreNotReused},
	{"MessagesAreWalledOff", messagesAreWalledOff},
	{"VerifyRecountsMessages", verifyRecountsMessages},

	{"SecretsStayTheSame", secretsStayTheSame},
}

// models holds the random cases that do not concern states.
var models = []testCase{
	{"CommentsModel", commentsModel},
	{"MessagesModel", messagesModel},
}

// RunDatabase runs the cases of the additional roles of mirror.Database, which the stores
// returned by Open must implement.
func RunDatabase(t *testing.T, newDatabase func(t *testing.T) Database) {
	t.Helper()
	run(t, newDatabase, []testCase{
		{"WindowsAreCompleteOrMarkedIncomplete", windowsAreCompleteOrMarkedIncomplete},
		{"StatesIncludeTheVersionOfTheirCounts", statesIncludeTheVersionOfTheirCounts},
		{"OutcomesIncludeTheirCommitTime", outcomesIncludeTheirCommitTime},
		{"EpochsRise", epochsRise},
		{"EpochsAreHeld", epochsAreHeld},
		{"BarrierIsPassedByEveryPartition", barrierIsPassedByEveryPartition},
		{"RestoredDatabaseUsesNoBarrierTwice", restoredDatabaseUsesNoBarrierTwice},
		{"InvalidBarrierPersistsNothing", invalidBarrierPersistsNothing},
		{"EndedEpochRejectsUntilTheNextBegins", endedEpochRejectsUntilTheNextBegins},
		{"EpochChangeWaitsForTransactions", epochChangeWaitsForTransactions},
		{"NoTransactionStraddlesEpochs", noTransactionStraddlesEpochs},
	})
}

// runParallel runs cases in parallel, because they mostly wait for their databases.
func runParallel(t *testing.T, newDatabase func(t *testing.T) Database, cases []testCase) {
	t.Helper()
	run(t, newDatabase, cases, (*testing.T).Parallel)
}

func run(t *testing.T, newDatabase func(t *testing.T) Database, cases []testCase, before ...func(*testing.T)) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, do := range before {
				do(t)
			}
			db := newDatabase(t)
			w := &world{T: t, db: db}
			w.s = w.open()
			c.run(w)
		})
	}
}

// world is the database and the store that a case works with.
type world struct {
	*testing.T

	db       Database
	s        storage.Store
	messages int // the number of messages created so far
}

// open opens another store on the same database. The store is closed at the end of the
// case.
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

// Repeat repeats a call while it fails with the given error, for at most the given time,
// and returns the last error. A call that fails with that error must have changed nothing.
func Repeat(while error, atMost time.Duration, call func() error) error {
	for late := time.Now().Add(atMost); ; time.Sleep(time.Millisecond) {
		if err := call(); !errors.Is(err, while) || time.Now().After(late) {
			return err
		}
	}
}

// UntilUnlocked repeats a call while it fails with storage.ErrLocked, for at most a
// minute. On a busy machine, a call may have to wait for other writers for longer than
// the store lets it wait.
func UntilUnlocked(call func() error) error {
	return Repeat(storage.ErrLocked, time.Minute, call)
}

// message returns a message with a new id.
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
		w.Fatalf("Interactives of one subject: got %d results, want 1", len(got))
	}
	return got[0].Counts
}

// wantCounts checks the counts of a subject that has no author and no followers. It
// ignores the version and, as wantReaders checks them, the readers.
func (w *world) wantCounts(subject storage.Subject, reads, likes, dislikes, collects int64) {
	w.Helper()
	w.wantFollowed(subject, reads, likes, dislikes, collects, 0)
}

// wantFollowed is like wantCounts, for a subject with followers.
func (w *world) wantFollowed(subject storage.Subject, reads, likes, dislikes, collects, followers int64) {
	w.Helper()
	got := w.counts(subject)
	got.Version, got.ReaderCount = 0, 0
	want := storage.Counts{ReadCount: reads, LikeCount: likes, DislikeCount: dislikes, CollectCount: collects, FollowerCount: followers}
	if got != want {
		w.Errorf("counts of %v: got %+v, want %+v", subject, got, want)
	}
}

// wantReaders checks how many users have read a subject.
func (w *world) wantReaders(subject storage.Subject, readers int64) {
	w.Helper()
	w.equal(fmt.Sprintf("readers of %v", subject), w.counts(subject).ReaderCount, readers)
}

func (w *world) states(user storage.User, subject storage.Subject) storage.States {
	w.Helper()
	got, err := w.s.States(w.Context(), []storage.StateKey{{User: user, Subject: subject}}, storage.AllKinds)
	w.must(err)
	if len(got) != 1 {
		w.Fatalf("Interactives of one subject: got %d results, want 1", len(got))
	}
	got[0].CountsVersion, got[0].Deleted = 0, false // set only by some stores
	return got[0]
}

// folder returns a folder, or nil if there is none.
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

// verified fails the case unless every count is correct.
func (w *world) verified() {
	w.Helper()
	_, err := w.s.Verify(w.Context(), false, func(d storage.Difference) error {
		w.Errorf("Verify found %+v, want no difference", d)
		return nil
	})
	w.must(err)
}

func user(id string) storage.User { return storage.User{Tenant: storage.DefaultTenant, UserID: id} }

func video(id string) storage.Subject {
	return storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: id}
}

// React returns an action that sets a user's reaction to a subject.
func React(u storage.User, s storage.Subject, r storage.Reaction, version int64) storage.Action {
	return storage.Action{User: u, Subject: s, Kind: storage.KindReaction, Reaction: r, Version: version}
}

func like(u storage.User, s storage.Subject, version int64) storage.Action {
	return React(u, s, storage.Like, version)
}

// Collect returns an action that puts a subject into a folder of a user.
func Collect(u storage.User, s storage.Subject, folder string, version int64) storage.Action {
	return storage.Action{User: u, Subject: s, Kind: storage.KindCollection, FolderID: folder, Version: version}
}

func follow(u storage.User, s storage.Subject, version int64) storage.Action {
	return storage.Action{User: u, Subject: s, Kind: storage.KindFollow, Following: true, Version: version}
}

func unfollow(u storage.User, s storage.Subject, version int64) storage.Action {
	return storage.Action{User: u, Subject: s, Kind: storage.KindFollow, Version: version}
}

func read(u storage.User, s storage.Subject, times, first, last int64) storage.Action {
	return storage.Action{User: u, Subject: s, Kind: storage.KindRead, Times: times, First: first, Version: last}
}
