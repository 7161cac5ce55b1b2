package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"ovation/bench/load"
)

// requestAllTimeout is the maximum time that requestAll may take.
const requestAllTimeout = 3 * time.Minute

// requestAll requests every page of a workload once. Every reply must be correct.
func (g *growth) requestAll(ctx context.Context, at *process, all *workload, clients int) (*load.Result, error) {
	result, err := load.Closed(ctx, at.address, all.newPageClients(clients, true), requestAllTimeout)
	switch {
	case err != nil:
		return nil, err
	case result.Errors > 0:
		return nil, replyErrors(result)
	case result.Requests != int64(len(all.requests)):
		return nil, fmt.Errorf("only %d of %d pages were requested within %v", result.Requests, len(all.requests), requestAllTimeout)
	}
	return result, nil
}

// warmUpConnectionPools makes a new node open its connections. To do so, it requests
// unknown subjects as unknown users.
func (g *growth) warmUpConnectionPools(ctx context.Context) error {
	const strangers, greetings = 50, 200
	names := make([]string, 0, strangers)
	for i := range strangers {
		names = append(names, fmt.Sprintf("stranger-%d", i))
	}
	nothing := &sampler{}
	visits := make([]page, greetings)
	for i := range visits {
		visits[i].viewer = i % strangers
		for range pageSize {
			visits[i].subjects = append(visits[i].subjects, len(nothing.names))
			nothing.names = append(nothing.names, fmt.Sprintf("nothing-%d", len(nothing.names)))
		}
	}
	p, err := newUserPool(names, nothing, g.installation.secret)
	if err == nil {
		_, err = g.requestAll(ctx, g.node.process, g.node.newWorkload(p, &databaseState{}, visits), growthClients)
	}
	return err
}

// measureColdAndWarm measures pages that were never requested before, then the same pages
// again.
func (g *growth) measureColdAndWarm(ctx context.Context, of *sizeResult, kind pageKind) error {
	drawn := of.coldPages(kind)
	into := &pageResult{kind, newMeasurement("the first time"), newMeasurement("again")}
	of.pages = append(of.pages, into)
	for range g.runPlan.rounds {
		if err := g.restartEmpty(ctx); err != nil {
			return err
		}
		if err := g.warmUpConnectionPools(ctx); err != nil {
			return fmt.Errorf("request unknown subjects: %w", err)
		}
		all := g.node.newWorkload(g.users, g.initialState, drawn)
		err := g.measureLoad(ctx, into.cold, func() (*load.Result, error) {
			return g.requestAll(ctx, g.node.process, all, growthClients)
		})
		if err != nil {
			return fmt.Errorf("for the first time: %w", err)
		}
		err = g.measureLoad(ctx, into.warm, func() (*load.Result, error) {
			result, err := load.Closed(ctx, g.node.process.address, all.newPageClients(growthClients, false), g.runPlan.segment)
			if err != nil {
				return nil, err
			}
			return result, replyErrors(result)
		})
		if err != nil {
			return fmt.Errorf("again: %w", err)
		}
	}
	g.progressf("pages of %d: %s ms the first time, %s ms again", kind.size, formatSpread(into.cold.p50, 2), formatSpread(into.warm.p50, 2))
	return nil
}

// measureLoad calls run, which executes a load, and adds the measured values to the given
// measurement.
func (g *growth) measureLoad(ctx context.Context, into *measurement, run func() (*load.Result, error)) error {
	var result *load.Result
	err := g.withMeter(ctx, g.node.process, into, func() (n int64, err error) {
		if result, err = run(); err != nil {
			return 0, err
		}
		return result.Requests, nil
	})
	if err != nil {
		return err
	}
	into.rate = append(into.rate, result.Rate())
	into.p50 = append(into.p50, milliseconds(result.Quantile(50)))
	into.p99 = append(into.p99, milliseconds(result.Quantile(99)))
	return nil
}

// measureWrites measures likes, and then a worker that starts with many likes in the
// queue.
func (g *growth) measureWrites(ctx context.Context, of *sizeResult) error {
	if err := g.restartEmpty(ctx); err != nil {
		return err
	}
	if err := g.startWorker(ctx); err != nil {
		return err
	}
	visits := make([]page, readerCount) // every reader requests a page before it sends likes
	for i := range visits {
		visits[i] = page{g.users.viewerCount + i, []int{i % of.subjects}}
	}
	if _, err := g.requestAll(ctx, g.node.process, g.node.newWorkload(g.users, g.initialState, visits), 2*growthClients); err != nil {
		return fmt.Errorf("view pages before liking: %w", err)
	}
	if err := g.checkpoint(ctx); err != nil {
		return err
	}
	for i, clients := range []int{growthClients, growthManyClients} {
		likes := &likeResult{measurement: newMeasurement("likes"), clients: clients}
		if err := g.measureLikeCost(ctx, likes, g.seed+uint64(100*i)); err != nil {
			return fmt.Errorf("likes: %w", err)
		}
		of.likes = append(of.likes, likes)
	}
	of.worker = &likeResult{measurement: newMeasurement("ovation work")}
	for round := range g.runPlan.workerRounds {
		if err := g.measureBacklog(ctx, uint64(round), of.worker); err != nil {
			return fmt.Errorf("worker: %w", err)
		}
	}
	g.progressf("likes: %s ms; worker: %s", formatSpread(of.likes[0].p50, 2), formatRate(of.worker.rate, "actions"))
	return nil
}

// checkpoint makes Postgres write the pages that became dirty while the tables were
// filled. Otherwise Postgres would write them during a measurement. If the user has no
// permission for CHECKPOINT, the function only prints a line of progress.
func (g *growth) checkpoint(ctx context.Context) error {
	const forbidden = "42501"
	_, err := g.installation.database.Exec(ctx, `CHECKPOINT`)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == forbidden {
		g.progressf("Postgres does not let this user order a checkpoint")
		return nil
	}
	return err
}

// measureLikeCost measures likes while a worker persists them. The first round only warms
// up.
func (g *growth) measureLikeCost(ctx context.Context, of *likeResult, seed uint64) error {
	for round := range g.runPlan.rounds + 1 {
		during, into := g.runPlan.segment, of.measurement
		if round == 0 {
			during, into = g.runPlan.warmUp, newMeasurement("")
		}
		before, err := g.installation.walPosition(ctx)
		if err != nil {
			return err
		}
		acked := g.users.acked.Load()
		err = g.measureLoad(ctx, into, func() (*load.Result, error) {
			clients := g.node.newLikeClients(of.clients, seed+uint64(round), func(*likeClient) {})
			result, err := load.Closed(ctx, g.node.process.address, clients, during)
			if err != nil {
				return nil, err
			}
			return result, replyErrors(result)
		})
		if err != nil {
			return err
		}
		if err := g.drain(ctx, &g.node); err != nil {
			return err
		}
		after, err := g.installation.walPosition(ctx)
		if err != nil {
			return err
		}
		if round > 0 {
			of.walBytes = append(of.walBytes, float64(after-before)/float64(g.users.acked.Load()-acked))
		}
	}
	return nil
}

// measureBacklog fills the queue and measures a worker that empties it.
func (g *growth) measureBacklog(ctx context.Context, round uint64, into *likeResult) error {
	if err := g.stopWorker(); err != nil {
		return err
	}
	n, err := g.fillQueue(ctx, round)
	if err != nil {
		return err
	}
	before, err := g.installation.walPosition(ctx)
	if err != nil {
		return err
	}
	if err := g.startWorker(ctx); err != nil {
		return err
	}
	if err := g.measureDrain(ctx, float64(n), into.measurement); err != nil {
		return err
	}
	if err := g.drain(ctx, &g.node); err != nil {
		return err
	}
	after, err := g.installation.walPosition(ctx)
	into.walBytes = append(into.walBytes, float64(after-before)/float64(n))
	return err
}
