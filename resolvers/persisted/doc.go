// Package persisted implements automatic persisted queries by Apollo's protocol: a
// client sends the SHA-256 of a document in place of its text. If the server does not
// know the hash, it answers with the error PersistedQueryNotFound, the client sends
// text and hash once, and from then on the hash suffices.
//
// # Invariants
//
//   - A hash stands for the text that it is the hash of, whatever a client sends or a
//     Store contains: TestAHashStandsForItsText.
//   - Only documents that the executor accepts are kept: TestOnlyValidDocumentsAreKept.
//   - Documents are bounded in number and bytes, in memory and in the Store:
//     TestDocumentsAreBounded, and TestPersistedQueriesAreBounded in storage/redis.
//   - A failing Store costs a client one more request and fails no query:
//     TestAFailingStoreFailsNoQuery.
//   - Tenants share nothing. Otherwise a tenant could find out by its hash whether
//     another one sends a certain document, which may contain ids, and evict the
//     documents of all others: TestTenantsShareNoDocuments.
//
// This package imports resolvers/viewer.
package persisted
