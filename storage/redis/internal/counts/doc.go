// Package counts reads and caches the counts of subjects, each with its version.
//
// Counts are read from this process's cache (Cache), from the client-side cache, which
// Redis invalidates, or from Redis itself. Misses are read from the database, in queries
// that concurrent callers share, and written to Redis under a version check.
//
// # Invariants
//
//   - I5 Never backwards. After counts of a version were returned, older ones never are:
//     TestCountsNeverGoBack of package redis, TestSeenCountsAreNotFollowedByOlderOnes.
//   - Cached counts are those that the client-side cache would return:
//     TestOnlyCurrentReadsAreServedFromCache,
//     TestCacheIsInvalidatedWithTheClientsCache of package redis.
//   - At most one query for a subject is in progress at a time, and concurrent misses
//     share it. A miss waits for at most two queries, one that began before it and one
//     that began later: TestMissesAtOnceAskOnce of package redis,
//     BenchmarkConcurrentMisses.
//   - Memory is bounded: TestCacheIsBounded.
//   - A malformed value affects its own subject alone:
//     TestMalformedValueIsReplacedFromTheDatabase of package redis.
package counts
