// Package loaders batches the lookups of one response: a connection of a hundred likes,
// each with its subject, costs two calls to storage, not a hundred and one.
//
// Each kind of lookup has a dataloader (github.com/graph-gophers/dataloader). Its cache
// is the only place that holds what the response has loaded. Two paths fill the cache:
//
//   - [Loaders.Fetch] loads the keys that were noted, by [Lookup.Want] or by lookups through
//     [Loaders.Noting]: one call for each kind, without waiting for further keys. Its results
//     go straight into the cache.
//   - A lookup of any other key joins dataloader's batch. The batch is sent 1 ms
//     after its first key (about 1.1 ms in an idle process). It has no maximum size, and
//     later keys join the next batch. It runs under the context of its first caller.
//
// A response therefore reads each key once and is consistent in itself. A set of loaders
// belongs to one response and one viewer. A mutation clears the cache
// ([Loaders.ClearAll]). The dataloaders themselves are created on first use, because most
// responses need none.
//
// Errors are not cached by key. After a failed call, further lookups of the same kind
// fail, too, unless their key is cached. [Loaders.ClearAll] ends this, unless the error
// was [storage.ErrUnavailable].
//
// # Invariants
//
//   - I7 Bounded: simultaneous lookups of one kind cost one call:
//     TestFetchIsOneCallAKind, TestLoadOfManyKeysIsOneCall. No key is loaded
//     twice: TestAKeyIsLoadedOnce.
//   - I6 Degrade: an outage costs a response one failed call of each kind:
//     TestFailedKindIsLoadedOnce, TestAPanicIsAFailure. The other kinds are still
//     loaded: TestAFailedKindLeavesTheOthersAlone.
//   - I8 Walls: loaders read on behalf of the viewer for whom they were created:
//     TestLoadersReadForTheirViewer.
//
// This package imports storage and no other package of this module.
package loaders
