// Package persisted implements automatic persisted queries by Apollo's protocol: a client
// sends the SHA-256 of a document in place of its text. If the hash is unknown, the
// server returns the error PersistedQueryNotFound. The client then sends the text and the
// hash once. After that, the hash suffices.
//
// It also implements trusted documents: those that the owner of a site has listed in
// manifests, which a request may name by an id, and beside which others may be refused.
//
// # Invariants
//
//   - A hash stands only for the text that has this hash, regardless of what a client
//     sends or a Store contains: TestAHashStandsForItsText.
//   - Only documents that the executor accepts are kept: TestOnlyValidDocumentsAreKept.
//   - Documents are bounded in number and bytes, in memory and in the Store:
//     TestDocumentsAreBounded, and TestPersistedQueriesAreBounded in storage/redis.
//   - A failing Store costs a client one more request and fails no query:
//     TestAFailingStoreFailsNoQuery.
//   - Tenants share no documents. Otherwise a tenant could use a hash to find out whether
//     another tenant sends a certain document, which may contain ids, and could evict the
//     documents of all other tenants: TestTenantsShareNoDocuments.
//   - An invalid manifest changes nothing, and its error says what is wrong where:
//     TestBadManifestsAreRefused.
//   - With TrustedOptions.Only, nothing but a trusted document is executed:
//     TestOnlyTrustedDocumentsAreExecuted.
//   - A reload fails no request: TestManifestsAreReloadedUnderRequests.
//
// This package imports api/codes, api/viewer, api/quota and
// api/rate.
package persisted
