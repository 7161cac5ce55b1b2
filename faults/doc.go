// Package faults contains tests only. They run the distributed mode as processes
// and kill, stop and disconnect every part of it under load.
//
// Each test starts Postgres, Redis and RabbitMQ of its own (scripts/services), two
// nodes and two workers. Each process is behind links: TCP proxies that can hang, or
// delay a single message. Clients act on both nodes during all faults, check each
// reply and record what was acknowledged in a journal: reactions, collections,
// follows, reads, comments and messages.
//
//	clients ─▶ link ─▶ nodes, workers ─▶ link ─▶ Postgres, Redis, RabbitMQ
//	   │                   ▲ kill, stop             ▲ kill, stop, fail over
//	   ▼                   └───────── phases ───────┘
//	journal ──────────────── settle: compare with Postgres, nodes and queues
//
// # Invariants
//
// After the faults, invariants I1 to I6 of package storage hold: everything that was
// acknowledged is in Postgres, everything in Postgres is counted exactly once, every
// list and total agrees, the nodes return it, and the queues are empty:
// TestLongFaultsLoseNothing for each fault, TestLongRandomFaults for random sequences
// of faults.
//
// Comments and messages are not queued: while Postgres is unavailable they may fail
// with UNAVAILABLE. Clients repeat a request of unknown outcome with the same
// requestId.
//
// # Running
//
// The tests belong to the long tier (make test-faults, make test-long). OVATION_SEED
// repeats the order of the faults and the actions of the clients. OVATION_FAULTS
// selects faults by a part of their name. OVATION_FAULTS_TIME is the duration for
// which random faults are injected. A failed run keeps the logs of all processes and
// the journals, and prints where.
//
// The files: site_test.go and process_test.go start the site, link_test.go is the
// proxy, client_test.go acts and checks, phase_test.go injects a fault, settle_test.go
// compares in the end, faults_test.go lists the faults.
package faults
