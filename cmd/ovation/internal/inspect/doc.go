// Package inspect serves the data page of ovation dev. It provides what the GraphQL API
// does not offer: the totals of a tenant, its hottest subjects, and the latest change to
// each state of a subject. Counts, lists and the states of one user come from the GraphQL
// API.
//
// It exposes private data, such as dislikes and reads, and is for development only.
//
//   - It accepts only requests that may use development headers:
//     TestOnlyDevelopersAreAnswered. A request returns data of its own tenant only:
//     TestATenantSeesItself.
//   - It is read-only and bounded: lists have at most maxFirst entries, and the store
//     reads whole tables for only one request at a time: TestListsAreBounded.
//
// This package imports storage and api/viewer.
package inspect
