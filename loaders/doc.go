// Package loaders gathers what the resolvers of one response look up one by
// one into few calls of storage, each for many keys: a connection of a hundred
// likes, each with its subject, costs two calls and not a hundred and one.
//
// A set of loaders belongs to one response and one viewer. It remembers what
// it has loaded, so that a response is consistent in itself; after a mutation
// it forgets (Loaders.Forget). What a response is known to need is loaded
// ahead (Loaders.Fetch); what was not foreseen is gathered by a dataloader.
//
// # Invariants
//
//   - I7 Bounded: look-ups of one kind that are wanted together are one call:
//     TestFetchIsOneCallAKind, TestWhatIsAskedTogetherIsOneCall.
//   - I6 Degrade: an outage costs a response one failing call of each kind:
//     TestAFailedKindIsAskedOnce. The other kinds are loaded all the same:
//     TestAFailedKindLeavesTheOthersAlone.
//   - I8 Walls: a set of loaders reads for the viewer it was made for:
//     TestLoadersReadForTheirViewer.
//
// This package imports storage and nothing else of this module.
package loaders
