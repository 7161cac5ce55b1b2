// Package storage is the centre of Ovation: the words every other package
// speaks (Subject, Action, Counts, Folder …), the roles a database plays for
// them (Reader, Lister, Persister, Folders, Verifier) and the errors those
// roles answer with. It holds no database code; each adapter is a package
// below this one, and all of them pass the one suite in storage/storagetest.
//
// # Invariants
//
// Every Store keeps these, whatever lies behind it. The names are those of
// the tests in storage/storagetest.
//
//   - I1 Acknowledged is durable. What Persist has returned without an error
//     survives the death of the process: PersistedSurvivesReopen.
//   - I2 Counts are exact. Every count equals the state rows it counts, and
//     Verify finds every one that does not: CountsMatchStates,
//     VerifyFindsAndRepairs, Model.
//   - I3 Once. A message has its effect once, however often and in whatever
//     company it is persisted, and of two actions on one state the one with
//     the higher version wins: RedeliveredMessageCountsOnce,
//     LatestVersionWins, Model.
//   - I4a A clear is conditional. A clear of a like removes a like and nothing
//     else, a clear of a dislike a dislike, in whatever order actions arrive:
//     ClearsAreConditional, ReactionsMergeInAnyOrder,
//     TestRegisterIsWhatActionsMakeInOrderOfVersion.
//   - I5 Never backwards. The version of a subject's counts rises with every
//     change and never falls: CountVersionsOnlyRise.
//   - I7 Bounded. Every method that takes many keys answers them in one call,
//     in the order asked: AnswersInTheOrderAsked. A list examines a bounded
//     number of rows for a page: ListsOfOneBizExamineBoundedRows.
//   - I8 Walls. Nothing of one tenant is seen or changed through another, and
//     nobody lists the private folders of someone else: TenantsAreWalledOff,
//     PrivateFoldersAreHidden.
//
// I4 (read your writes) and I6 (degrade, and say so) are kept by the packages
// worker and resolvers.
//
// This package imports the standard library only.
package storage
