// Package limits bounds operations before anything expensive is done for them. Limits is
// an extension of the GraphQL server. It checks a document before it is validated, the
// variables before they are coerced, and the cost before the operation is executed. The
// document is checked first because validation time grows with the square of the number
// of repeated fields.
//
// # Invariants
//
//   - The time until a request is rejected or executed is bounded, regardless of its
//     content: TestHostileDocumentsAreAnsweredSoon, FuzzDocuments.
//   - A response has at most Config.MaxCost fields, because its number of fields never
//     exceeds the cost of the operation: TestCostIsTheMaximumSizeOfTheResponse.
//   - Every error states the value and the bound: TestEachLimitErrorStatesTheActualValue.
//   - Literals and variables are checked alike, and have the same values:
//     TestALiteralIsAVariable and TestNullIsAbsent in package resolvers.
//   - No error about a variable or literal names a Go type: TestVariablesAreOfTheirTypes.
//   - A document that subscriptions hold is in memory once, even after its eviction from
//     the cache: TestAHeldDocumentIsShared.
//   - A pinned document is never evicted, and takes no room from others:
//     TestPinnedDocumentsAreNotEvicted.
//
// This package imports resolvers/plan, which computes the cost, api/rate,
// which charges for it, api/quota, api/codes, resolvers/rows and plain.
package limits
