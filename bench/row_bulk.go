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

// The targets of the two bulk rows, per second.
const (
	workerTarget = 50_000
	importTarget = 100_000
)

const backlogTime = 3 * time.Minute // for the worker to persist the backlog

// workerRow puts likes into the queue while no worker runs, and applies them to Redis
// as a node does, then starts a worker.
func workerRow(ctx context.Context, b *bench, r *row) error {
	into := &measured{name: "ovation work", shares: map[string]series{}}
	r.of = []*measured{into}
	var before int
	if err := b.site.database.QueryRow(ctx, `SELECT count(*) FROM user_reaction`).Scan(&before); err != nil {
		return fmt.Errorf("count stored reactions: %w", err)
	}
	for round := range b.plan.worker {
		if err := b.stopWorker(); err != nil {
			return err
		}
		n, err := b.fillQueue(ctx, uint64(round))
		if err != nil {
			return err
		}
		if err := b.startWorker(ctx); err != nil {
			return err
		}
		if err := b.emptyQueue(ctx, float64(n), into); err != nil {
			return err
		}
		if err := b.drain(ctx, &b.node); err != nil {
			return err
		}
	}
	r.met = into.rate.median() >= workerTarget
	r.result = perSecond(into.rate, "actions")
	r.notes = append(r.notes, fmt.Sprintf("%d likes in messages of %d wait in the queue, each of a user and a subject that Redis knows. Initially the table has %d reactions; bench/GROWTH.md measures larger tables.", b.plan.backlog, messageSize, before))
	return b.check(ctx, &b.node)
}

// fillQueue publishes likes and applies them to Redis.
func (b *bench) fillQueue(ctx context.Context, round uint64) (n int, err error) {
	quiet := slog.New(slog.DiscardHandler)
	queue, err := amqp.Open(ctx, amqp.Options{URL: b.site.variables[rabbitmqURL], Prefix: b.site.prefix, Partitions: partitions, Logger: quiet})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, queue.Close()) }()
	database, err := postgres.Open(ctx, postgres.Options{URL: b.site.variables[postgresURL], Logger: quiet})
	if err != nil {
		return 0, err
	}
	copied, err := redis.Open(ctx, redis.Options{URL: b.site.variables[redisURL], Database: database, Prefix: b.site.prefix, Logger: quiet})
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
		message := storage.Message{ID: fmt.Sprintf("%s-%d-%d", b.site.prefix, round, n), Actions: actions}
		if _, err := queue.Publish(ctx, lane, message); err != nil {
			return err
		}
		return copied.Apply(ctx, actions, storage.Queued, nil)
	}
	for i := range b.plan.backlog {
		action, ok := b.drawLike(i, random)
		if !ok {
			return n, errors.New("everybody likes everything by now")
		}
		lane := worker.PartitionOf(action.Subject, partitions)
		if lanes[lane] = append(lanes[lane], action); len(lanes[lane]) == messageSize {
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

// drawLike returns a like of the next reader, and records it.
func (b *bench) drawLike(i int, random *rand.Rand) (storage.Action, bool) {
	p := b.people
	user := p.viewers + i%readers
	subject := p.fresh(user, random)
	if subject < 0 {
		return storage.Action{}, false
	}
	p.ack(user, subject)
	return storage.Action{
		User:    storage.User{Tenant: storage.DefaultTenant, UserID: p.names[user]},
		Subject: storage.Subject{Tenant: storage.DefaultTenant, Biz: biz, BizID: p.subjects.names[subject]},
		Kind:    storage.KindReaction, Reaction: storage.Like, Version: storage.Micros(time.Now()),
	}, true
}

// emptyQueue measures from the first batch that the worker has persisted to
// the last.
func (b *bench) emptyQueue(ctx context.Context, n float64, into *measured) error {
	var first, last quoted
	var began time.Time
	var used usage
	err := until(ctx, backlogTime, "the worker has persisted what waits", func() (bool, error) {
		now, err := b.worker.metrics(ctx)
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
	took := time.Since(began)
	done := last[metricActions] - first[metricActions]
	into.requests += int64(done)
	into.rate = append(into.rate, done/took.Seconds())
	into.mallocs = append(into.mallocs, (last[metricMallocs]-first[metricMallocs])/done)
	into.bytes = append(into.bytes, (last[metricBytes]-first[metricBytes])/done)
	for name, time := range b.meter.read().since(used) {
		into.shares[name] = append(into.shares[name], time.Seconds()/took.Seconds())
		if name == workerName {
			into.cpu = append(into.cpu, time.Seconds()*1e6/done)
		}
	}
	return nil
}

var imported = regexp.MustCompile(`rows +\d+ in ([0-9.]+) s`)

// importRow imports several copies of the data into empty tables.
func importRow(ctx context.Context, b *bench, r *row) error {
	path := b.site.file("repeated.csv")
	n, err := b.data.write(path, b.plan.copies)
	if err != nil {
		return fmt.Errorf("write the data: %w", err)
	}
	into := &measured{name: "ovation import", shares: map[string]series{}}
	r.of = []*measured{into}
	for range b.plan.imports {
		if err := b.importOnce(ctx, path, n, into); err != nil {
			return err
		}
	}
	r.met = into.rate.median() >= importTarget
	r.result = perSecond(into.rate, "rows")
	r.notes = append(r.notes, fmt.Sprintf("%d rows (the data %d times, each time with other users) from a CSV file into empty tables, with Redis kept up to date; counts are compared and verified.", n, b.plan.copies))
	return nil
}

func (b *bench) importOnce(ctx context.Context, path string, n int, into *measured) (err error) {
	s, err := newSite(ctx, b.site.binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	used, began := b.meter.read(), time.Now()
	said, err := s.run(ctx, "import", "--map=deskdrop", path)
	if err != nil {
		return err
	}
	for name, time := range b.meter.read().since(used) {
		into.shares[name] = append(into.shares[name], time.Seconds()/since(began))
	}
	found := imported.FindStringSubmatch(said)
	if found == nil {
		return fmt.Errorf("the import does not say how long it took: %s", said)
	}
	seconds, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		return err
	}
	into.rate = append(into.rate, float64(n)/seconds)
	into.requests += int64(n)
	if err := b.data.check(ctx, s, int64(b.plan.copies)); err != nil {
		return err
	}
	_, err = s.verify(ctx)
	return err
}

func since(t time.Time) float64 { return time.Since(t).Seconds() }

// check compares the sums of all counts with the data.
func (d *dataset) check(ctx context.Context, s *site, copies int64) error {
	var want counts
	var comments, added int64
	liked, collected := map[pair]bool{}, map[pair]bool{}
	for i := range d.rows {
		of := pair{d.rows[i][3], d.rows[i][2]}
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
		return fmt.Errorf("%d comments are stored and %d were imported", added, comments*copies)
	}
	if err == nil && got != want {
		err = fmt.Errorf("%+v are counted and %+v were imported", got, want)
	}
	return err
}
