// Package accounts registers users, logs them in and keeps their profiles. It is for
// sites without a user base of their own; other sites sign their own tokens.
//
// # Invariants
//
//   - A password is stored as an argon2id hash with its parameters. A login replaces a
//     hash whose parameters are lower than the current parameters:
//     TestHashesHoldTheirParameters, TestLogInRaisesParameters.
//   - New passwords are not among the most frequent ones, and meet the site's minimum
//     length: TestCommonPasswordsAreRefused, TestNewPasswordsMeetTheSitesMinimum.
//   - A wrong password and an unknown name cause the same error and the same work:
//     TestUnknownNamesTakeAsLongAsWrongPasswords.
//   - Failed attempts are limited by name and by address, successful logins by both
//     together, and all of them by IPv6 network: TestWrongPasswordsAreLimited,
//     TestAttemptsOfAnAddressAreLimited, TestLoginsOfAPairAreLimited,
//     TestGuessesFromA48AreLimited.
//   - Guesses of others do not lock out a user at an address from which the user has
//     logged in before: TestKnownPairsAreNotLockedOut,
//     TestGuessesOfOthersAtAnAddressLockOutNobody.
//   - A request that is refused before a hash is computed does not pay for it:
//     TestRefusedRequestsDoNotPayForHashes.
//   - At most Config.MaxHashes hashes are computed at a time, one processor stays free, the
//     number of waiting callers is bounded, and none of them take all places:
//     TestHashesAreBounded, TestAProcessorStaysFreeOfHashing,
//     TestNoAddressTakesAllPlaces.
//   - Names are unique regardless of case, width and compatibility forms:
//     TestNamesAreFolded.
//   - Revoked tokens are refused on every node that reads the database, within a
//     second: TestNodesLearnOfRevocations.
//   - A revoked token stays revoked when the lifetime of tokens is shortened:
//     TestAShorterTTLRevivesNoTokens.
//   - A revocation that the database loses in a failover stays in effect on the nodes that
//     know it, and they restore it: TestLostRevocationsAreRestored,
//     TestLogInRestoresALostRevocation. A clock that is behind delays no revocation:
//     TestRevocationsByAClockThatIsBehindAreFollowed.
//   - No password, hash or token appears in an error or in the log:
//     TestErrorsHoldNoSecret.
//
// This package imports storage, api/viewer for tokens, api/rate for
// limits, and outage.
package accounts
