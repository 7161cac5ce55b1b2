// Package faults contains tests only. They run the distributed mode as separate
// processes, and kill, stop and disconnect its parts under load.
//
// Each test starts its own Postgres, Redis and RabbitMQ (scripts/services, or a cluster
// with a spare for each server), two nodes and two workers. Each process connects to the
// services through links: TCP proxies that can stop all traffic or hold back a single
// message. A cluster has no links. During all faults, clients send reactions,
// collections, follows, reads, comments and messages to both nodes. They check each reply
// and record it in a journal.
//
//	clients ─▶ nodes, workers ─▶ links ─▶ Postgres, Redis, RabbitMQ
//	   │           ▲ kill          ▲ stop     ▲ kill, stop, fail over
//	   ▼           └────────── phases ────────┘
//	journal ────── drainAndCompare: compare with Postgres, nodes and queues
//
// # Invariants
//
//   - After the faults, invariants I1 to I6 of package storage hold. Every acknowledged
//     action is in Postgres, every row is counted exactly once, the nodes return the
//     stored states and counts, every list and total agrees with the rows, and the queues
//     are empty: TestLongFaultsLoseNothing for each fault, TestLongRandomFaults for
//     random sequences of faults.
//   - The same holds when a server in a cluster fails and its spare takes over:
//     TestLongRandomFailovers, TestLongFailoverToADisconnectedStandby.
//   - During a fault, queries never fail, except at a killed node. A mutation fails only
//     with UNAVAILABLE. It may fail before the breakers have opened, while processes
//     reconnect, while several services are unavailable, and, if it needs Postgres, while
//     Postgres is unavailable. Breakers bound the delay: the same tests.
//   - Every change is an event, which a webhook and a queue at the exchange of events get at
//     least once, those of a subject in their order. Folded, they give the content of
//     Postgres: the same tests.
//
// Comments and messages are not queued: while Postgres is unavailable, requests that read
// or change them may fail with UNAVAILABLE. If it is unknown whether a comment or a
// message was added, the client repeats the request with the same requestId.
//
// # Running
//
// The tests belong to the long tier (make test-faults, make test-long). OVATION_SEED
// determines the order of the faults and the actions of the clients. OVATION_FAULTS
// selects faults by a part of their name. OVATION_FAULTS_TIME is the duration of the
// tests with random faults. A failed run keeps the logs of all processes and the
// journals, and prints their location.
//
// # Files
//
//	faults_test.go, failover_test.go               the faults, and the tests that inject them
//	site_test.go, process_test.go                  the installation and its processes
//	services_test.go, cluster_test.go              the services, single or in a cluster
//	link_test.go                                   the TCP proxy
//	client_test.go, own_*_test.go                  requests of the clients
//	expectation_test.go                            the expected replies
//	phase_test.go, pauses_test.go                  errors and delays during each fault
//	settle_test.go, lists_test.go, totals_test.go  the comparison at the end
//	events_test.go                                 consumers of events, and their comparison
//
// The tests import storage, storage/postgres, storage/storagetest, api/viewer,
// internal/testing/port and internal/testing/seed of this module.
package faults
