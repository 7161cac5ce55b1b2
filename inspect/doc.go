// Package inspect serves the data page of ovation dev. It provides what the GraphQL API
// does not offer: the totals of a store, its hottest subjects, and all actions on one subject.
// Counts, lists and the actions of one user come from the GraphQL API.
//
// It exposes private data, such as dislikes and reads, and is for development only:
//
//   - It answers only requests that may use development headers:
//     TestOnlyDevelopersAreAnswered. A tenant sees only itself: TestATenantSeesItself.
//   - It is read-only and bounded: lists have at most maxFirst entries, and the
//     store reads whole tables for one request at a time: TestListsAreBounded.
//
// This package imports storage and resolvers/viewer.
package inspect
