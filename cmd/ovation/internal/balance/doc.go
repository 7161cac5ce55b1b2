// Package balance is the HTTP load balancer of `ovation stack` and of tests: it
// puts several API nodes behind one address. It is not meant for production.
//
// # Invariants
//
//   - Requests go, round robin, to the nodes whose /readyz reports ready. A node
//     that stops being ready finishes the requests it has. If no node is ready,
//     requests go to nodes whose probe timed out, because they may only be busy:
//     TestRequestsGoToTheReadyNodesInTurn, TestABusyNodeIsBetterThanNone.
//   - A request is sent to another node only if the first one refused the
//     connection, so that no part of it was delivered. A request that fails later
//     is answered with 502; the client decides whether to retry:
//     TestARequestNotSentGoesToAnotherNode, TestARequestSentIsNotRepeated.
//   - WebSockets and event streams pass through for as long as they last:
//     TestSocketsAndStreamsPass.
//   - A response that has begun arrives complete, even if it begins before the
//     balancer has looked for the end of the request:
//     TestEarlyResponseIsForwardedWhole. If a node answers while most of the
//     request has not been sent yet, as when it refuses an upload, the balancer may
//     cut the response off.
//
// This package imports outage and no other package of this module.
package balance
