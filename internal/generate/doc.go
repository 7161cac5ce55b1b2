// Command generate writes package graph from schema.graphqls, federation.graphqls and
// gqlgen.yml, and the methods of storage/calls from storage.Store (make generate). Run it in
// the root of the repository.
//
// For package graph, it runs gqlgen with one plugin:
//
//	schema.graphqls ─┐                ┌─▶ graph/exec.go, models.go   the executor (gqlgen)
//	gqlgen.yml ──────┼─▶ generate ────┤
//	storage, … ──────┘   plain.gotpl  └─▶ graph/plain.go             fields written directly (plugin)
//
// gqlgen binds Go types to the types of the schema by name (autobind in gqlgen.yml). For
// each object, the plugin selects fields without arguments: struct fields, methods
// without an error, and resolvers of single values. It generates a method that appends
// these fields to a response as JSON, without the context and the closure that the
// executor creates for each field (package plain, docs/decisions/0012). The executor
// handles all other fields.
//
// The fields of federation.graphqls are for gateways of Apollo Federation. The schema that
// is served by default lacks them.
//
// # Invariants
//
//   - Generated code is an output and is never edited: make lint regenerates it and fails
//     on any difference (verify-generated).
//   - The generated code writes, byte for byte, what the executor writes:
//     TestPlainAnswersAreThoseOfTheExecutor and
//     TestPlainEventsAreThoseOfTheExecutor of package resolvers.
//   - Lines that gqlgen logs about fields that need a resolver are dropped and counted;
//     all other lines are kept: TestOnlyLinesAboutResolversAreDropped.
//
// This package imports storage and no other package of this module.
package main
