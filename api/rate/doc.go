// Package rate limits the requests of a client. A Limiter has a token bucket for each
// signed-in user, for each address of anonymous requests and its IPv6 networks, and for
// each WebSocket. Requests are charged their cost, in units of about one microsecond of
// CPU time. Another bucket for each user limits the messages that the user sends per
// minute.
//
// A request costs PerRequest plus the price of its operation. That price is the cost that
// package limits computes, divided by FieldsPerUnit, and the prices of the fields that take
// more time than others: PerList for a page of a list, PerAction for a root field of a
// mutation, PerHash for a password. A document that is not cached, and a body that is
// rejected, also cost one unit per byte, because validation time grows with the square of
// the number of repeated fields. A download costs PerDownload and an upload
// PerUpload, and both cost their bytes, instead.
//
// # Invariants
//
//   - No client gets more than its burst plus what has been refilled since, regardless of
//     how its requests are distributed: TestABucketGivesItsBurstAndThenItsRate,
//     TestOperationsAreLimitedByCost in package resolvers.
//   - A client with many IPv6 networks gets at most 4 times the burst and the rate of an
//     address: TestWiderNetworksAreLimited.
//   - The bytes of a file leave a debt of at most one second: TestBytesLeaveASmallDebt.
//   - Memory is bounded for any number of clients, and the bucket of a limited client is
//     not evicted in favour of those of clients that are not limited:
//     TestBucketsAreBounded.
//   - Prices follow the CPU time of operations: TestFigurePricesFollowTheCost of
//     cmd/ovation.
//   - A key of a Recent displaces its own pairs: TestAKeyDisplacesItsOwnPairs.
//   - Forwarded addresses are used only if they come from a trusted proxy. The last one
//     that does not belong to a trusted proxy is the client's: TestTheAddressOfAClient.
//   - An error states the number of seconds after which the same request succeeds:
//     TestRetryAfterIsEnough.
//
// This package imports storage, api/codes, api/quota and no other package of
// this module.
package rate
