// Package dependency puts a breaker and limits in front of Redis and the database.
//
// A Backend stands for one of them. Calls are rejected while its breaker is open; polls,
// which call the Backend regardless (Try), close the breaker. A Class bounds the calls of
// one kind to a Backend, in number and in time, so that one kind cannot starve another.
//
// # Invariants (tests of package redis)
//
//   - An outage and its end are logged once: TestOutageIsLoggedOnce.
//   - A dependency that hangs is not called: TestHangingRedisIsNotCalled,
//     TestHangingDatabaseIsNotCalled. One stall is no outage: TestOneStallDoesNotOpen of
//     package breaker.
//   - Classes share no slots. A call that exceeds the timeout of its class does not count
//     as a failure of the Backend: TestHangingListsLeaveReadsTheirSlots,
//     TestListsHaveTheirOwnTimeout.
//   - A cancelled call is not counted as a failure: TestCancelledCallsAreNoFailures.
package dependency
