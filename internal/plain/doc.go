// Package plain writes objects directly as JSON: one pass appends all selected fields to
// one text, whereas a GraphQL executor creates a context, a closure and a value for each
// field. Package resolvers/plan selects the fields. Generated code, specific to each
// type, writes them (graph/plain.go).
//
// Only fields that do not block and are not expected to fail are written this way. If a
// field fails nevertheless (a null in a non-null field, a resolver that returns an error,
// a panic), the text is discarded. The executor then responds as if nothing had been
// written: it handles errors, paths and null propagation.
//
// # Invariant
//
//   - The text is, byte for byte, what the executor would write:
//     TestPlainAnswersAreThoseOfTheExecutor and TestPlainEventsAreThoseOfTheExecutor
//     of package resolvers.
//
// This package imports no other package of this module.
package plain
