// Command generate writes package graph from schema.graphqls and gqlgen.yml
// (make generate). Run it in the root of the repository.
//
// It is gqlgen with one plugin:
//
//	schema.graphqls ─┐                ┌─▶ graph/exec.go, models.go   the executor (gqlgen)
//	gqlgen.yml ──────┼─▶ generate ────┤
//	storage, … ──────┘   plain.gotpl  └─▶ graph/plain.go             fields written directly (plugin)
//
// Go types are bound to the types of the schema by name (autobind in gqlgen.yml).
// For each object the plugin selects the fields that cannot fail and need no
// arguments: struct fields, methods without an error, and resolvers of such values.
// It generates a method that appends them to a response as JSON, without the
// executor's context and closure per field (package plain, docs/decisions/0012). All
// other fields are left to the executor.
//
// # Invariants
//
//   - Generated code is an output: `make lint` regenerates it and fails on any
//     difference (verify-generated).
//   - The generated code writes, byte for byte, what the executor writes:
//     TestPlainAnswersAreThoseOfTheExecutor and
//     TestPlainEventsAreThoseOfTheExecutor of package resolvers.
//
// This package imports no other package of this module.
package main
