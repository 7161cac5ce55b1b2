// Package plan makes the plan of an operation, once for as long as its document
// is cached: what it costs, which of the viewer's states it shows, and the tree
// of the fields that it selects. Look-ahead, the cost limit, the writer of plain
// answers and the mutation shortcut read the plan; none of them walks selection
// sets.
//
// What a field needs comes from the schema and from a Table with one line for
// each field that needs more than a plain value has. A plan has two parts,
// because they count differently:
//
//   - The cost counts every field that is written, duplicates and those that
//     @skip leaves out included. It is made by one walk when the operation is
//     first checked, and reduced to the lists whose length depends on variables.
//   - The tree (Selection, Field) has the fields that the executor would
//     collect: merged by alias, without those that are left out. It is made when
//     the operation has passed all limits, and again where a condition of @skip
//     or @include has another value than the last time.
//
// # Invariants
//
//   - The cost is how many fields an answer can hold:
//     TestCostIsHowMuchCanBeAnswered of package limits.
//   - The tree holds what the executor collects: TestTreesHoldWhatIsSelected, and
//     TestPlainAnswersAreThoseOfTheExecutor of package resolvers.
//   - Selection sets are walked again only where a condition has changed:
//     TestTreesAreKeptWhileConditionsHold.
//   - Making a plan takes time in proportion to the fields of the operation,
//     fragments filled in, which package limits bounds before any plan is made:
//     TestHostileDocumentsAreAnsweredSoon of package limits.
//
// This package imports storage, plain and resolvers/rows.
package plan
