// Package balance is a small HTTP balancer for tries and tests: several API
// nodes behind one address. It is no product; put a real one before strangers.
//
//  1. Only nodes whose /readyz says so get requests, in turn. A node that stops
//     being ready keeps what it has. Where none is ready, nodes that answer no
//     probe in time get them, which may just be busy. Proof:
//     TestRequestsGoToTheReadyNodesInTurn, TestABusyNodeIsBetterThanNone.
//  2. A request goes to another node only where the first one refused the
//     connection, so that nothing of it was sent. One that broke off later is
//     answered 502: whoever sent it decides whether to try again. Proof:
//     TestARequestNotSentGoesToAnotherNode, TestARequestSentIsNotRepeated.
//  3. WebSockets and event streams pass, for as long as they last. Proof:
//     TestSocketsAndStreamsPass.
//
// It imports package outage and nothing else of this module.
package balance
