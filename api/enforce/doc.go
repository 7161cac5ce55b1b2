// Package enforce applies the site's policy (package storage/policy) to the requests of
// users. It decorates what all APIs share, so that GraphQL and /douyin cannot differ: the
// recorder, comments and declarations refuse what is not allowed before anything is
// written, and the store hides counts and likers from viewers who may not see them.
//
// Hidden counts are zeros with the freshness storage.Hidden. A hidden like is absent: from
// the likers of a subject, from the likes of a user, and when it is looked up by its id.
// The author of the subject sees counts and likers, every user sees their own likes, and
// so does a viewer whose token has the scope that the policy names.
//
// # Invariants
//
//   - Each setting holds in each API: TestConfigIsEnforcedByEveryAPI of cmd/ovation.
//   - What is refused changes nothing: the same test.
//   - Pages without hidden likes lead to all others, in order, once:
//     TestPagesWithoutHiddenLikes.
//   - Every method of storage.Store that returns counts or likes is decorated; the test
//     lists those that need no decoration: TestEveryLookupIsDecided.
//   - An operation sees one policy from its beginning to its end:
//     TestReloadsLoseNoRequest of cmd/ovation.
//
// This package imports storage, storage/policy, worker, api/codes, api/rate,
// api/viewer and no other package of this module.
package enforce
