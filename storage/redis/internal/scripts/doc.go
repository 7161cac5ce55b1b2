// Package scripts holds the Lua scripts of the mirror and runs them.
//
// Every script is a file in lua with its keys, arguments and reply documented on
// top. It touches one key and may be repeated. A Runner sends calls in pipelines of
// bounded length; where one server holds all keys, up to fifty calls of one script
// are one command (lua/each.lua), since a call of Redis costs as much as most
// scripts do.
//
// # Invariants
//
//   - A script that Redis has lost is sent again: TestLostScriptsAreSentAgain.
//   - A key that holds no hash is deleted and counted, and affects no other key of
//     the same pipeline: TestMalformedValueIsReplacedFromTheDatabase,
//     TestMalformedValueFailsNoOther.
//   - The number of calls that others have to wait for is bounded: TestRoundTrips.
//
// The tests are those of package redis. It imports outage and the client of Redis.
package scripts
