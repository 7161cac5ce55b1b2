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
// The tests belong to the long tier (make test-long). OVATION_SEED repeats the
// order of the faults and what the clients do; OVATION_FAULTS, part of a name,
// chooses faults; OVATION_FAULTS_TIME, a duration, is how long random faults are
// injected. A run that fails keeps the logs of all processes and the journals of
// the clients and prints where.
package faults
