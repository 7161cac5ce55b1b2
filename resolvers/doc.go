// Package resolvers is the GraphQL API of Ovation: resolvers without logic of their
// own, the mapping of errors to codes, node ids and cursors, and NewHandler, which
// serves them over HTTP.
//
// Parts that need no resolver are packages of their own: api/viewer (the
// authenticated user), resolvers/plan (what an operation needs), resolvers/limits
// (what it may cost) and resolvers/transport (GraphQL over HTTP).
//
// A field that is prefetched, costs more than 1 or runs on the fast path has an entry in
// field_table.go. A list also has a listSpec: those of likes, follows, works, folders and
// reads are in lists.go, and the others are in the file of their feature (comments.go,
// messages.go, videos.go). Visibility is decided in visibility.go.
//
// # Invariants
//
//   - I4 Read your writes: a mutation's payload includes its effect:
//     TestMutationsReturnTheNewState. A subscription's event is what a query would return
//     to the viewer at that moment:
//     TestSubscriptionStartsWithTheSnapshotAndReportsChanges, and
//     TestOwnLikeIsInTheCountWhileItIsQueued of cmd/ovation.
//   - I5 Never backwards: every event for a viewer is newer than the previous one:
//     TestEventsOfAViewerNeverGoBack.
//   - I6 Degrade, and say so: a mutation that cannot be made durable is UNAVAILABLE:
//     TestErrorsBecomeCodes. Subjects that a subscription could not read are delivered as
//     soon as they can be read: TestSubscriptionReportsUnreadSubjectsAfterAnOutage,
//     TestViewerReceivesAnEventWhenCountsAreCertainAgain.
//   - I7 Bounded: the number of storage calls that a request makes does not depend on its
//     number of subjects: TestConstantNumberOfStorageCalls. Simultaneous events of a
//     signed-in viewer's subscription cost one call:
//     TestSubscriptionReadsSimultaneousChangesByOneCall. Events for anonymous viewers
//     cost none and are encoded once:
//     TestSubscriptionOfAnonymousViewersReadsNothingAndIsEncodedOnce. A slow connection
//     skips intermediate states: TestSlowConnectionReceivesTheLatestState. The memory of
//     all subscriptions is bounded: TestWatchedSubjectsAreBounded,
//     TestSubscriptionsKeepFewDocuments, TestEventsKeepNoDocument. A subscription that
//     has ended leaves nothing behind: TestSubscriptionThatEndsLeavesNothing.
//   - I8 Walls: no user sees another tenant's data or another user's private
//     folders, reads and dislikes: TestWalls…, one for each type. Declaring authors
//     requires a scope: TestOnlyTheScopeDeclares. So does recording actions of others:
//     TestOnlyTheScopeRecordsActions.
//   - A stream of comments misses nothing, however slow or interrupted it is:
//     TestCommentsChangedMissesNothing, TestCommentsChangedCatchesUp. The same holds for
//     messages: TestMessagesMissNothing, TestMessagesCatchUp.
//   - Revoked sessions are rejected from the next request on, and no password or token
//     is logged: TestLoggingOutEverywhere, TestAUserRegistersAndLogsIn.
//   - Every list and every field of Query is prefetched:
//     TestTheTableIsThatOfTheSchema.
//
// This package imports the roles of storage and worker, the hub of live, and accounts,
// but no adapter.
package resolvers
