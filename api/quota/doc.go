// Package quota divides bounded resources among their owners, so that none takes all of a
// resource. A Quota counts what is held until it is released: streams, subscriptions, the
// subjects and documents of subscriptions. A Cache holds what can be made again: parsed
// documents, persisted queries. Both have the same shares: of a signed-in user, of the
// anonymous users at one address, of everyone at one address, and of all anonymous users.
//
// # Invariants
//
//   - No share is exceeded, whatever is acquired and released in whatever order, and
//     nothing is left once everything is released: TestSharesHold.
//   - Something that several owners hold counts once in the whole, and once for each
//     owner: TestSharedItemsCountOnce.
//   - An owner beyond its share of a cache evicts its own entries, never those of others:
//     TestAnOwnerEvictsItsOwnEntries, TestAnOwnerDoesNotShareWithItself.
//
// This package imports storage alone.
package quota
