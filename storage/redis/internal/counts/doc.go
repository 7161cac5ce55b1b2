// Package counts reads and caches the counts of subjects, each with its version.
//
// There are three places to read from: what this process has cached (Cache), the
// client's own cache, which Redis invalidates, and Redis itself. What none of them
// has comes from the database, in one query for all who miss it at once, and is
// written to Redis under a version check.
//
// # Invariants
//
//   - I5 Never backwards. After counts of a version were seen, no older ones are
//     answered: TestCountsNeverGoBack of package redis, TestSeenCountsAreNotFollowedByOlderOnes.
//   - What is cached is what the client's cache would answer:
//     TestWhatIsCachedIsWhatWasReadUnlessItHasChangedSince,
//     TestWhatIsCachedGoesWithTheClientsCache of package redis.
//   - Misses at once are one query: TestMissesAtOnceAskOnce of package redis.
//   - Memory is bounded: TestWhatIsCachedIsBounded.
//   - A malformed value affects its own subject alone:
//     TestMalformedValueIsReplacedFromTheDatabase of package redis.
package counts
