// Package scripts holds the Lua scripts of the mirror and runs them.
//
// Every script is a file in the folder lua. The file begins with a description of the
// script's keys, arguments and reply. A script accesses a single key and is idempotent. A
// Runner sends calls in pipelines of bounded length. If one server holds all keys, up to
// fifty calls of one script are sent as one command (lua/each.lua), since sending a
// command costs as much as running most scripts.
//
// # Invariants
//
//   - A script that Redis has lost is sent again: TestLostScriptsAreSentAgain.
//   - A key that does not hold a hash is deleted and counted as malformed. It affects no
//     other key of the same pipeline: TestMalformedValueIsReplacedFromTheDatabase,
//     TestMalformedValueFailsNoOther.
//   - The number of calls that are sent together is bounded, since they delay other
//     clients: TestRoundTrips.
//
// The tests are in package redis. This package imports outage and breaker.
package scripts
