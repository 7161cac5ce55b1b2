// Package demo fills an empty store with the demo data of ovation dev and ovation stack:
// about thirty invented people with profiles, and what they and other users have done in
// the last month. They talk to each other in the files of the folder talk.
//
// # Invariants
//
//   - A store that holds other data stays as it is: TestOtherDataIsLeftAlone.
//   - An interrupted call is completed by the next one, and a further call adds nothing:
//     TestInterruptedDemoIsCompleted, TestDemoClipsArePublishedOnce.
//   - Comments fit their subject, and no text occurs twice under one subject:
//     TestCommentsFitTheirSubjects.
//   - Everyone in people has a name, a biography and an avatar: TestPeopleHaveProfiles.
//
// This package imports storage, accounts, media and cmd/ovation/internal/demo/picture.
package demo
