// Package rate limits the requests of a client. A Limiter has a token bucket for each
// signed-in user, for each address of anonymous requests and its IPv6 networks, and for
// each WebSocket.
// Requests are charged their cost, in units of about one field of a response. Another
// bucket for each user limits the messages that the user sends per minute.
//
// A request costs PerRequest plus the price of its operation. That price is the sum of
// the cost that package limits computes, PerAction for each root field of a mutation, and
// a tenth of the cost of introspection. A document that is not cached, and a body that is
// rejected, also cost one unit per byte, because validation time grows with the square of
// the number of repeated fields. A file costs PerDownload and its bytes instead.
//
// # Invariants
//
//   - No client gets more than its burst plus what has been refilled since, regardless of
//     how its requests are distributed: TestABucketGivesItsBurstAndThenItsRate,
//     TestOperationsAreLimitedByCost in package resolvers.
//   - A client with many IPv6 networks gets at most 4 times the burst and the rate of an
//     address: TestWiderNetworksAreLimited.
//   - Memory is bounded for any number of clients, and the bucket of a limited client is
//     not evicted in favour of those of clients that are not limited:
//     TestBucketsAreBounded.
//   - Forwarded addresses are used only if they come from a trusted proxy. The last one
//     that does not belong to a trusted proxy is the client's: TestTheAddressOfAClient.
//   - An error states the number of seconds after which the same request succeeds:
//     TestRetryAfterIsEnough.
//
// This package imports storage, resolvers/codes and no other package of this module.
package rate
