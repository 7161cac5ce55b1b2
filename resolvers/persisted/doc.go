// Package persisted answers automatic persisted queries, by the protocol of
// Apollo: a client sends the SHA-256 of a document in place of its text. If the
// server does not know it, the answer is the error PersistedQueryNotFound, the
// client sends text and hash once, and from then on the hash is enough.
//
// # Invariants
//
//   - A hash stands for the text it is the hash of, whatever a client says or a
//     Store holds: TestAHashStandsForItsText.
//   - Only documents that the executor accepts are kept:
//     TestOnlyValidDocumentsAreKept.
//   - Bounded in number and bytes, in memory here and in the Store:
//     TestDocumentsAreBounded, and TestPersistedQueriesAreBounded in
//     storage/redis.
//   - A Store that fails costs a client its shortcut, never its answer:
//     TestAFailingStoreFailsNoQuery.
//   - Tenants share nothing: otherwise a tenant could find out by its hash
//     whether another one sends a certain document, which may have ids in its
//     text, and crowd out the documents of all: TestTenantsShareNoDocuments.
//
// This package knows resolvers/viewer.
package persisted
