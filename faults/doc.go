// Package faults holds no code but a test: the whole of the distributed way to
// run, as processes, while its parts are killed, stopped and cut off.
//
// The test starts Postgres, Redis and RabbitMQ of its own (scripts/services),
// two nodes and two workers, each behind links (TCP proxies) that can hang or
// hold back a single message. Clients act on both nodes all the while, check
// each reply and remember what was acknowledged. In the end everything that
// was acknowledged is in Postgres, everything is counted once, the nodes show
// just that, and the queues are empty (invariants I1 to I6 of package storage).
//
// `make test` kills each part once, `make test-faults` runs all faults, and
// OVATION_FAULTS a part of them. A run
// prints its seed; OVATION_FAULTS_SEED repeats the order of its faults and what
// its clients do. When it fails it keeps the logs of all processes and the
// journals of the clients and tells where.
package faults
