// Package plain writes objects straight out as JSON: one pass that appends each
// selected field to one text, where a GraphQL executor has a context, a closure
// and a value for each. Which fields, package resolvers/plan says. The fields
// themselves are written by generated code (graph/plain.go), which knows
// the types.
//
// Only what cannot fail and cannot wait is written so. Whatever is out of the
// ordinary (a null where there must be none, a resolver that returns an error, a
// panic) makes the text be thrown away, and the executor answers as if nothing
// had been written: it is the one who knows errors, paths and the spreading of
// nulls.
//
// # Invariant
//
//   - What is written is, byte for byte, what the executor writes:
//     TestPlainAnswersAreThoseOfTheExecutor and TestPlainEventsAreThoseOfTheExecutor
//     of package resolvers.
//
// It imports nothing of this module.
package plain
