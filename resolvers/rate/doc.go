// Package rate limits how much a client may ask in a time. A Limiter keeps a
// token bucket for each signed-in user, for each address that anonymous
// requests come from, and for each WebSocket. Requests take from them what they
// cost, in units of about one field of an answer.
//
// A request costs PerRequest, and its operation besides: the cost that package
// limits computes, PerAction for each root field of a mutation, a tenth of the
// cost of introspection. A document that is not cached, and a body that is
// refused, costs a unit for each of its bytes as well: validation takes time that
// grows with the square of repeated fields.
//
// # Invariants
//
//   - No client takes more than its burst and what came back since, however its
//     requests are spread: TestABucketGivesItsBurstAndThenItsRate,
//     TestOperationsAreLimitedByCost in package resolvers.
//   - Memory is bounded whoever asks, and a client that has to wait is not
//     forgotten for others that do not: TestBucketsAreBounded.
//   - Forwarded addresses are believed of trusted proxies only, and from them
//     the last address that is not a trusted proxy: TestTheAddressOfAClient.
//   - A refusal says after how many seconds the same request passes:
//     TestRetryAfterIsEnough.
//
// This package imports storage's words and nothing else of this module.
package rate
