// Package scripts holds the Lua scripts of the mirror and runs them.
//
// Every script is a file in lua that begins with the documentation of its keys, arguments
// and reply. It accesses one key and is idempotent. A Runner sends calls in pipelines of
// bounded length. If one server holds all keys, up to fifty calls of one script are sent
// as one command (lua/each.lua), since sending a command costs as much as running most
// scripts.
//
// # Invariants
//
//   - A script that Redis has lost is sent again: TestLostScriptsAreSentAgain.
//   - A key that is not a hash is deleted and counted, and affects no other key of the
//     same pipeline: TestMalformedValueIsReplacedFromTheDatabase,
//     TestMalformedValueFailsNoOther.
//   - The number of calls that can delay others is bounded: TestRoundTrips.
//
// The tests are in package redis. This package imports outage and breaker.
package scripts
