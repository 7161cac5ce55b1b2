// Package plan computes the plan of an operation once per cached document: its cost, the
// viewer's states that it selects, and the tree of its fields. Prefetching, the cost
// limit, the plain writer (package plain) and the mutation fast path read the plan; none
// of them walks selection sets.
//
// The needs of a field follow from the schema and from a Table. A Table has an entry for
// each field that must be loaded, shows a state of the viewer or costs more than 1. A
// plan has two parts, because they count differently:
//
//   - The cost counts every field that the document contains, including duplicates and
//     fields that @skip leaves out. It is computed by one walk when the operation is
//     first checked. The result is a fixed number and the lists whose length depends on
//     variables.
//   - The tree (Selection, Field) has the fields that the executor would collect: merged
//     by alias, without those that are left out. It is built when the operation has
//     passed all limits. It is rebuilt if the value of a condition of @skip or @include
//     has changed.
//
// # Invariants
//
//   - The number of fields in a response never exceeds the cost:
//     TestCostIsTheMaximumSizeOfTheResponse of package limits.
//   - The tree contains what the executor collects: TestTreesContainTheSelectedFields, and
//     TestPlainAnswersAreThoseOfTheExecutor of package resolvers.
//   - Selection sets are walked again only if a condition has changed:
//     TestTreesAreKeptWhileConditionsHold.
//   - Computing a plan takes time proportional to the fields of the operation with its
//     fragments expanded, which package limits bounds before any plan is computed:
//     TestHostileDocumentsAreAnsweredSoon of package limits.
//
// This package imports storage, plain and resolvers/rows.
package plan
