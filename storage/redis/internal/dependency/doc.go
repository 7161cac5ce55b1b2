// Package dependency puts a breaker and limits before Redis and the database.
//
// A Part is one of them: calls are refused while its breaker is open, and polls,
// which try it all the same (Try), close it. A Class bounds the calls of one kind to
// a Part, in number and in time, so that one kind does not use up what another
// needs.
//
// # Invariants (tests of package redis)
//
//   - An outage is logged once, and its end: TestOutageIsToldOnce.
//   - A dependency that hangs is left alone: TestHangingPartsCostLittle,
//     TestHangingDatabaseIsLeftAlone, TestOneStallOpensNoBreaker.
//   - Classes share no slots and have time-outs of their own, which say nothing about
//     the Part: TestHangingListsLeaveReadsTheirSlots, TestListsHaveATimeoutOfTheirOwn.
//   - A caller that cancels says nothing about it: TestCallerWhoGoesAwayBlamesNobody.
package dependency
