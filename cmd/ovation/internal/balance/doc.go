// Package balance is the HTTP load balancer that `ovation stack` and tests use. It puts
// several API nodes behind one address. It is not meant for production.
//
// # Invariants
//
//   - Requests are distributed, round robin, over the nodes whose /readyz reports that
//     they are ready. A node that stops being ready finishes its requests in progress. If
//     no node is ready, requests go to the nodes whose probes timed out, because such
//     nodes may merely be busy: TestRequestsGoToTheReadyNodesInTurn,
//     TestABusyNodeIsBetterThanNone.
//   - A request is sent to another node only if the first node refused the connection; in
//     that case, no part of the request was delivered. A request that fails later is
//     answered with 502; the client decides whether to retry:
//     TestARequestNotSentGoesToAnotherNode, TestARequestSentIsNotRepeated.
//   - WebSockets and event streams are passed through without a time limit:
//     TestSocketsAndStreamsPass.
//   - A response that has begun arrives complete, even if it begins before the balancer
//     has read the end of the request: TestEarlyResponseIsForwardedWhole. If a node
//     answers before most of the request has been sent, for example to refuse an upload,
//     the balancer may cut off the response.
//
// This package imports outage and no other package of this module.
package balance
