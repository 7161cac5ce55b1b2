// Package dependency puts a breaker and limits in front of Redis and the database.
//
// A Backend stands for Redis or the database. Its calls are rejected while its breaker is
// open. Polls call the Backend regardless (Try), and close the breaker once they succeed.
// A Class limits the number and the duration of the calls of one kind to a Backend, so
// that calls of one kind cannot starve those of another.
//
// # Invariants (tests of package redis)
//
//   - An outage and its end are logged once: TestOutageIsLoggedOnce.
//   - A dependency that hangs is not called: TestHangingRedisIsNotCalled,
//     TestHangingDatabaseIsNotCalled. A single stall is not an outage:
//     TestOneStallDoesNotOpen of package breaker.
//   - Classes share no slots. A call that exceeds the timeout of its class does not count
//     as a failure of the Backend: TestHangingListsLeaveReadsTheirSlots,
//     TestListsHaveTheirOwnTimeout.
//   - A cancelled call is not counted as a failure: TestCancelledCallsAreNoFailures.
package dependency
