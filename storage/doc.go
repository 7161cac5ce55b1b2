// Package storage is the centre of Ovation: the domain types that all other packages
// share (Subject, Action, Counts, Folder …), the roles of a database (Reader, Lister,
// Persister, Folders, Comments, Accounts, DirectMessages, Videos, Searches, Deletions, Erasures, Verifier) and
// their errors. It contains no database code; each adapter is a package below this one, and all
// of them pass the conformance suite in storage/storagetest.
//
// # Invariants
//
// Every Store has these properties, regardless of the database. Each property is followed
// by the names of the cases in storage/storagetest that check it. A name that begins with
// Test is the name of a test of this package.
//
//   - I1 Acknowledged is durable. Once Persist has returned without an error, the
//     messages that it was given survive a crash of the process: PersistedSurvivesReopen.
//   - I2 Counts are exact. Every count equals the sum over the state rows that it counts,
//     and Verify finds every difference: CountsMatchStates, FollowersAreCounted,
//     VerifyFindsAndRepairs, Model. The same holds for the counts of comments:
//     VerifyRecountsComments, ConcurrentCommentersAgree; for the totals of users:
//     AuthorsReceiveLikes, TotalsCountActionsOfUsers, ConcurrentAuthorsAgree,
//     VerifyRecountsTotals; and for the counts of unread messages:
//     UnreadMessagesAreCounted, VerifyRecountsMessages, ConcurrentSendersAgree,
//     MessagesModel. The transaction that publishes a video also sets its author, and the
//     transaction that deletes it removes the author: PublishedVideosAreStoredUnchanged,
//     DeletedVideosLeaveNothing, PublicationsAreMarked.
//   - I3 Once. A message takes effect once, however often and with whichever other
//     messages it is persisted. Of two actions on one state, the one with the higher
//     version wins: RedeliveredMessageCountsOnce, LatestVersionWins,
//     LatestDeclarationIsInForce, Model. A comment with a request id is added once, and a
//     direct message with a request id is sent once: RepeatedRequestAddsOnce,
//     RepeatedRequestSendsOnce. A video is published once, too:
//     RepeatedPublicationsPublishOnce. An imported comment of a Message is added once:
//     PastCommentsAreAddedOnce.
//   - I4a A clear is conditional. A conditional clear of a like removes a like and
//     nothing else, and a conditional clear of a dislike removes only a dislike, in every
//     order of arrival: ClearsAreConditional, ReactionsMergeInAnyOrder,
//     TestRegisterEqualsActionsInOrderOfVersion.
//   - I5 Never backwards. The version of a subject's counts increases with every change
//     and never decreases: CountVersionsOnlyRise. A reader that follows changes to
//     comments by their versions misses none: CommentChangesMissNothing, CommentsModel,
//     ConcurrentCommentersAgree. A restored database reuses neither the versions of
//     comments nor the ids of messages, videos and accounts: VersionsAreNotReused,
//     MessageNumbersAreNotReused, VideoNumbersAreNotReused, AccountIDsAreNotReused. The
//     numbers of a user's messages increase in the order in which the messages are
//     committed, so a reader that follows the numbers misses no message:
//     MessagesAreListed, ConcurrentSendersAgree.
//   - I7 Bounded. Every method that takes many keys looks them all up in one call and
//     answers in the requested order: ResultsFollowTheOrderOfKeys. A list examines a
//     bounded number of rows for each page: ListsOfOneBizExamineBoundedRows,
//     WorksAreNewestFirst, PagesOfFriendsExamineBoundedRows, FeedsAreNewestFirst,
//     SearchesArePaged.
//   - I8 Walls. No tenant can read or change the data of another, and
//     no user can list the private folders of another: TenantsAreWalledOff,
//     PrivateFoldersAreHidden, CommentsAreWalledOff, AccountsAreWalledOff,
//     MessagesAreWalledOff, VideosAreWalledOff, SearchesFindWords.
//   - An erased user leaves nothing and adds nothing: ErasedUsersLeaveNothing,
//     ErasedUsersAddNothing, ErasuresAreMarked, ConcurrentErasuresMissNothing.
//
// I4 (read your writes) and I6 (degrade, and say so) are properties of the packages
// worker and resolvers.
//
// Apart from the tables of Unicode (golang.org/x/text), this package imports the standard
// library only.
package storage
