// Package loaders batches the lookups of one response: a connection of a
// hundred likes, each with its subject, costs two calls of storage, not a hundred
// and one.
//
// Each kind of lookup has a dataloader (github.com/graph-gophers/dataloader),
// whose cache is the only memory of what the response has loaded. Two paths fill
// it:
//
//   - [Loaders.Fetch] loads the keys that the prefetch foresees: one call for each
//     kind, at once. Its results go straight into the cache.
//   - A lookup that was not foreseen joins dataloader's batch. The batch is sent 1 ms
//     after its first key (about 1.1 ms in an idle process). It has no maximum size, and
//     later keys join the next batch. It runs under the context of its first caller.
//
// A response therefore reads each key once and is consistent in itself. A set of
// loaders belongs to one response and one viewer; a mutation clears the cache
// ([Loaders.ClearAll]). The dataloaders themselves are created on first use, since
// most responses need none.
//
// Errors are not cached by key. A failed call makes its kind fail for the rest of
// the response.
//
// # Invariants
//
//   - I7 Bounded: lookups of one kind that are made together are one call:
//     TestFetchIsOneCallAKind, TestLoadOfManyKeysIsOneCall. No key is loaded
//     twice: TestAKeyIsLoadedOnce.
//   - I6 Degrade: an outage costs a response one failed call of each kind:
//     TestFailedKindIsLoadedOnce, TestAPanicIsAFailure. The other kinds are still
//     loaded: TestAFailedKindLeavesTheOthersAlone.
//   - I8 Walls: loaders read on behalf of the viewer they were created for:
//     TestLoadersReadForTheirViewer.
//
// This package imports storage and no other package of this module.
package loaders
