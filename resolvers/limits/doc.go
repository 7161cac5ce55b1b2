// Package limits bounds what an operation may ask, before anything expensive
// is done for it. Limits is an extension of the GraphQL server: it looks at a
// document before it is validated, since validation itself takes time that
// grows with the square of repeated fields, at the variables before they are
// coerced, and at the cost before anything is executed.
//
// # Invariants
//
//   - Whatever is sent, the time until it is refused or executed is bounded:
//     TestHostileDocumentsAreAnsweredSoon, FuzzDocuments.
//   - What is executed answers with no more fields than Config.MaxCost, for
//     an operation's cost is how many fields its answer can hold:
//     TestCostIsHowMuchCanBeAnswered.
//   - Every refusal says what was found and what is allowed:
//     TestEachBoundSaysWhatWasFound.
//   - No refusal of a variable or literal names a type of Go:
//     TestVariablesAreOfTheirTypes.
//
// This package imports resolvers/plan, which computes the cost, plain for it,
// resolvers/rows, and resolvers/rate, out of which each operation is paid.
package limits
