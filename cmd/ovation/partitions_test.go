package main

import (
	"testing"

	"ovation/internal/testing/await"
)

func TestDeadLettersSurviveAChangeOfPartitions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.deadLetter(t, "nobody knows why", "one", "two")
	s.run(t, "partitions", "6").want(t, 0, "There are 6 partitions now")
	s.run(t, "dead", "list").want(t, 0, "one", "two")
	s.run(t, "dead", "replay", "--all").want(t, exitFailed, "0 messages replayed", "the queues do not have 4 partitions: use 6")
	s.variables["OVATION_PARTITIONS"] = "6"
	s.run(t, "dead", "replay", "--all").want(t, 0, "2 messages replayed")
	s.start(t, "work")
	await.That(t, "the replayed likes are stored", func() bool { return s.likes(t) == 1 })
	s.run(t, "dead", "list").want(t, 0, "There are no dead letters")
}

func TestPartitionsNamesMissingVariables(t *testing.T) {
	t.Parallel()
	call(t, environment(), "partitions", "8").want(t, exitUsage, "ovation partitions needs Postgres, Redis and RabbitMQ")
	call(t, environment(), "partitions", "0").want(t, exitUsage, `"0" is not a number from 1 to 256`)
	newSite(t).run(t, "partitions", "8").want(t, exitFailed, "the broker has no queue")
}
