// Package counts reads and caches the counts of subjects, each with its version.
//
// Counts are read from this process's cache (Cache), from the client-side cache, which
// Redis invalidates, or from Redis itself. Counts that Redis lacks are read from the
// database, in queries that concurrent callers share. They are then written to Redis,
// unless newer counts are there.
//
// # Invariants
//
//   - I5: after counts of a version have been returned, older counts are never returned:
//     TestCountsNeverGoBack of package redis, TestSeenCountsAreNotFollowedByOlderOnes.
//   - Cached counts are those that the client-side cache would return:
//     TestOnlyCurrentReadsAreServedFromCache,
//     TestCacheIsInvalidatedWithTheClientsCache of package redis.
//   - At most one query for a subject is in progress at a time, and concurrent misses
//     share it. A miss waits for at most two queries: one that began before the miss, and
//     one that began after it: TestMissesAtOnceAskOnce of package redis,
//     BenchmarkConcurrentMisses.
//   - Memory is bounded: TestCacheIsBounded.
//   - A malformed value affects no other subject:
//     TestMalformedValueIsReplacedFromTheDatabase of package redis.
package counts
