// Package outage logs what fails again and again: the first failure, then how
// many there were, and the end.
//
//  1. Whatever fails however often, the log gets a line at the first failure
//     and then one every ten seconds at most, with the number of failures since
//     the line before and the latest of them. Proof:
//     TestFirstFailureIsToldAndThenCounts.
//  2. The end is told once, with the number of all failures, when something
//     works and nothing has failed for five seconds. Whatever fails and works in
//     turn is one outage. Proof: TestEndIsToldOnce, TestFlappingIsOneOutage.
//
// It imports the standard library only.
package outage
