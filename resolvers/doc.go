// Package resolvers is the GraphQL face of Ovation: resolvers that hold no
// logic of their own, the one place where errors become codes, node ids and
// cursors, and NewHandler, which puts them behind HTTP.
//
// Its parts that need no resolver are packages of their own: resolvers/viewer
// (who is asking), resolvers/plan (what an operation needs), resolvers/limits (what
// it may cost) and resolvers/transport (GraphQL over HTTP).
//
// A field that needs more than a plain value has a line in table.go, and a list
// one in lists.go. Who may see what is decided in visibility.go.
//
// # Invariants
//
//   - I4 Read your writes: a mutation's payload shows what it did:
//     TestMutationsAnswerWithWhatTheyDid. An event of a subscription is what a
//     query would answer the viewer at that moment:
//     TestSubscriptionBeginsWithTheSnapshotAndTellsOfChanges, and
//     TestOwnLikeIsInTheCountWhileItIsQueued of cmd/ovation.
//   - I5 Never backwards: what a viewer is told next is newer:
//     TestWhatAViewerIsToldIsNewer.
//   - I6 Degrade, and say so: what cannot be made durable is UNAVAILABLE:
//     TestErrorsBecomeCodes. What cannot be read for a subscription is told
//     once it can: TestSubscriptionTellsWhatCouldNotBeReadOnceItCan,
//     TestViewerIsToldWhenNothingIsDoubtedAnyMore.
//   - I7 Bounded: a request costs a constant number of calls of storage,
//     whatever its number of subjects: TestConstantNumberOfStorageCalls. So does
//     what a subscription tells of one moment, and nothing for anonymous
//     viewers, for whom it is encoded once:
//     TestSubscriptionReadsWhatChangedTogetherByOneCall,
//     TestSubscriptionOfAnonymousViewersReadsNothingAndIsEncodedOnce,
//     TestSlowConnectionIsToldWhatIsTrueByThen. What all subscriptions keep in
//     memory is bounded: TestSubjectsThatAreWatchedAreBounded,
//     TestSubscriptionsKeepFewDocuments, TestEventsKeepNoDocument. One that has
//     ended leaves nothing: TestSubscriptionThatEndsLeavesNothing.
//   - I8 Walls: nobody sees another tenant's data or another user's private
//     folders, reads and dislikes: TestWalls…, one for each type.
//   - Every list and every field of Query is loaded ahead:
//     TestTheTableIsThatOfTheSchema.
//
// It knows the roles of storage and worker and the hub of live, never an
// adapter.
package resolvers
