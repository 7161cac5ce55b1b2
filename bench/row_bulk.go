package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"strconv"
	"time"

	"ovation/storage"
	"ovation/storage/postgres"
	"ovation/storage/redis"
	"ovation/worker"
	"ovation/worker/amqp"
)

// The minimum rates of the two bulk rows, per second.
const (
	minWorkerRate = 50_000
	minImportRate = 100_000
)

const backlogTimeout = 3 * time.Minute // for the worker to persist the backlog

// measureWorker queues likes while no worker runs, and applies them to Redis as a node
// does. Then it starts and measures a worker.
func measureWorker(ctx context.Context, b *bench, r *row) error {
	into := newMeasurement("ovation work")
	r.measurements = []*measurement{into}
	var before int
	if err := b.installation.database.QueryRow(ctx, `SELECT count(*) FROM user_reaction`).Scan(&before); err != nil {
		return fmt.Errorf("count stored reactions: %w", err)
	}
	for round := range b.runPlan.workerRounds {
		if err := b.measureBacklog(ctx, uint64(round), into); err != nil {
			return err
		}
	}
	r.met = into.rate.median() >= minWorkerRate
	r.result = formatRate(into.rate, "actions")
	r.notes = append(r.notes, fmt.Sprintf("%d likes in messages of %d wait in the queue, each of a user and a subject that Redis knows. Initially the table has %d reactions; bench/GROWTH.md measures larger tables.", b.runPlan.backlogActions, actionsPerMessage, before))
	return b.checkLikes(ctx, &b.node)
}

// measureBacklog queues likes while no worker runs, and then starts and measures a worker.
// The number of the round must not be used twice.
func (b *bench) measureBacklog(ctx context.Context, round uint64, into *measurement) error {
	if err := b.stopWorker(); err != nil {
		return err
	}
	n, err := b.fillQueue(ctx, round)
	if err != nil {
		return err
	}
	if err := b.startWorker(ctx); err != nil {
		return err
	}
	if err := b.measureDrain(ctx, float64(n), into); err != nil {
		return err
	}
	return b.drain(ctx, &b.node)
}

const (
	minEventsRatio     = 0.85 // minimum ratio of the rate with events to that without
	firstRoundOfEvents = 100  // measureWorker uses lower numbers
	eventsVariable     = "OVATION_EVENTS"
)

// measureEvents compares a worker that logs events with one that does not. Both persist the
// same number of likes, in turn.
func measureEvents(ctx context.Context, b *bench, r *row) error {
	of := [2]*measurement{newMeasurement("with events"), newMeasurement("without")}
	defer delete(b.installation.variables, eventsVariable)
	b.installation.variables["OVATION_EVENTS_EXCHANGE"] = "false"
	defer delete(b.installation.variables, "OVATION_EVENTS_EXCHANGE")
	for round := range b.runPlan.workerRounds {
		for i, with := range []string{"true", "false"} {
			b.installation.variables[eventsVariable] = with
			if err := b.measureBacklog(ctx, uint64(firstRoundOfEvents+2*round+i), of[i]); err != nil {
				return err
			}
		}
	}
	r.evaluateRates(of, minEventsRatio)
	r.notes = append(r.notes, fmt.Sprintf("%d likes in messages of %d wait in the queue before each run; nothing reads the log meanwhile.", b.runPlan.backlogActions, actionsPerMessage))
	return b.checkLikes(ctx, &b.node)
}

// fillQueue publishes likes, applies them to Redis and returns their number.
func (b *bench) fillQueue(ctx context.Context, round uint64) (n int, err error) {
	quiet := slog.New(slog.DiscardHandler)
	queue, err := amqp.Open(ctx, amqp.Options{URL: b.installation.variables[rabbitmqURL], Prefix: b.installation.prefix, Partitions: partitions, Logger: quiet})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, queue.Close()) }()
	database, err := postgres.Open(ctx, postgres.Options{URL: b.installation.variables[postgresURL], Logger: quiet})
	if err != nil {
		return 0, err
	}
	copied, err := redis.Open(ctx, redis.Options{URL: b.installation.variables[redisURL], Database: database, Prefix: b.installation.prefix, Logger: quiet})
	if err != nil {
		return 0, errors.Join(err, database.Close())
	}
	defer func() { err = errors.Join(err, copied.Close()) }()

	random := rand.New(rand.NewPCG(b.seed, 100+round)) //nolint:gosec // it is meant to be the same each time
	lanes := make([][]storage.Action, partitions)
	flush := func(lane int) error {
		actions := lanes[lane]
		lanes[lane] = nil
		if len(actions) == 0 {
			return nil
		}
		n += len(actions)
		message := storage.Message{ID: fmt.Sprintf("%s-%d-%d", b.installation.prefix, round, n), Actions: actions}
		if _, err := queue.Publish(ctx, lane, message); err != nil {
			return err
		}
		return copied.Apply(ctx, actions, storage.Queued, nil)
	}
	for i := range b.runPlan.backlogActions {
		action, ok := b.nextLike(i, random)
		if !ok {
			return n, errors.New("the readers have liked nearly all subjects")
		}
		lane := worker.PartitionOf(action.Subject, partitions)
		if lanes[lane] = append(lanes[lane], action); len(lanes[lane]) == actionsPerMessage {
			if err := flush(lane); err != nil {
				return n, err
			}
		}
	}
	for lane := range lanes {
		if err := flush(lane); err != nil {
			return n, err
		}
	}
	return n, nil
}

// nextLike draws a like for the i-th reader, and records it as acknowledged. It returns
// false if the reader has liked nearly every subject.
func (b *bench) nextLike(i int, random *rand.Rand) (storage.Action, bool) {
	p := b.users
	user := p.viewerCount + i%readerCount
	subject := p.drawUnliked(user, random)
	if subject < 0 {
		return storage.Action{}, false
	}
	p.recordAcked(user, subject)
	return storage.Action{
		User:    storage.User{Tenant: storage.DefaultTenant, UserID: p.names[user]},
		Subject: storage.Subject{Tenant: storage.DefaultTenant, Biz: biz, BizID: p.subjects.names[subject]},
		Kind:    storage.KindReaction, Reaction: storage.Like, Version: storage.Micros(time.Now()),
	}, true
}

// measureDrain measures the worker while it empties the queue, from the first persisted
// batch until n actions are persisted.
func (b *bench) measureDrain(ctx context.Context, n float64, into *measurement) error {
	var first, last metricValues
	var began time.Time
	var used cpuUsage
	err := poll(ctx, backlogTimeout, "the worker has persisted the backlog", func() (bool, error) {
		now, err := b.worker.readMetrics(ctx)
		if err != nil {
			return false, err
		}
		if first == nil {
			if now[metricActions] > 0 {
				first, began, used = now, time.Now(), b.meter.read()
			}
			return false, nil
		}
		last = now
		return now[metricActions] >= n, nil
	})
	if err != nil {
		return err
	}
	elapsed := time.Since(began)
	done := last[metricActions] - first[metricActions]
	into.requests += int64(done)
	into.rate = append(into.rate, done/elapsed.Seconds())
	into.mallocs = append(into.mallocs, (last[metricMallocs]-first[metricMallocs])/done)
	into.bytes = append(into.bytes, (last[metricBytes]-first[metricBytes])/done)
	for name, time := range b.meter.read().since(used) {
		into.processors[name] = append(into.processors[name], time.Seconds()/elapsed.Seconds())
		if name == workerName {
			into.serverCPU = append(into.serverCPU, time.Seconds()*1e6/done)
		}
	}
	return nil
}

var importTimePattern = regexp.MustCompile(`rows +\d+ in ([0-9.]+) s`)

// measureImport imports several copies of the data into empty tables.
func measureImport(ctx context.Context, b *bench, r *row) error {
	path := b.installation.path("repeated.csv")
	n, err := b.data.write(path, b.runPlan.importCopies)
	if err != nil {
		return fmt.Errorf("write the data: %w", err)
	}
	into := newMeasurement("ovation import")
	r.measurements = []*measurement{into}
	for range b.runPlan.importRounds {
		if err := b.importOnce(ctx, path, n, into); err != nil {
			return err
		}
	}
	r.met = into.rate.median() >= minImportRate
	r.result = formatRate(into.rate, "rows")
	r.notes = append(r.notes, fmt.Sprintf("%d rows (the data %d times, each time with other users) from a CSV file into empty tables, with Redis kept up to date; counts are compared and verified.", n, b.runPlan.importCopies))
	return nil
}

func (b *bench) importOnce(ctx context.Context, path string, n int, into *measurement) (err error) {
	s, err := newInstallation(ctx, b.installation.binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	used, began := b.meter.read(), time.Now()
	output, err := s.run(ctx, "import", "--map=deskdrop", path)
	if err != nil {
		return err
	}
	for name, time := range b.meter.read().since(used) {
		into.processors[name] = append(into.processors[name], time.Seconds()/secondsSince(began))
	}
	found := importTimePattern.FindStringSubmatch(output)
	if found == nil {
		return fmt.Errorf("the import did not print its duration: %s", output)
	}
	seconds, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		return err
	}
	into.rate = append(into.rate, float64(n)/seconds)
	into.requests += int64(n)
	if err := b.data.checkImported(ctx, s, int64(b.runPlan.importCopies)); err != nil {
		return err
	}
	_, err = s.verify(ctx)
	return err
}

func secondsSince(t time.Time) float64 { return time.Since(t).Seconds() }

// checkImported compares the sum of each count, and the number of comments, with those in
// the imported copies of the data.
func (d *dataset) checkImported(ctx context.Context, s *installation, copies int64) error {
	var want counts
	var comments, added int64
	liked, collected := map[stateKey]bool{}, map[stateKey]bool{}
	for i := range d.rows {
		of := stateKey{d.rows[i][3], d.rows[i][2]}
		switch d.rows[i][1] {
		case "VIEW":
			want.reads++
		case "LIKE":
			liked[of] = true
		case "BOOKMARK":
			collected[of] = true
		case "COMMENT CREATED":
			comments++
		}
	}
	want = counts{want.reads * copies, int64(len(liked)) * copies, 0, int64(len(collected)) * copies}
	var got counts
	err := s.database.QueryRow(ctx, `SELECT sum(read_count)::bigint, sum(like_count)::bigint, sum(dislike_count)::bigint, sum(collect_count)::bigint,
		(SELECT count(*) FROM comment) FROM interactive`).
		Scan(&got.reads, &got.likes, &got.dislikes, &got.collections, &added)
	if err == nil && added != comments*copies {
		return fmt.Errorf("%d comments are stored, want %d as imported", added, comments*copies)
	}
	if err == nil && got != want {
		err = fmt.Errorf("the counts are %+v, want %+v as imported", got, want)
	}
	return err
}
