package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"ovation/bench/load"
)

// askTime bounds requesting many pages once.
const askTime = 3 * time.Minute

// ask requests every page of a book once. Every reply must be correct.
func (g *growth) ask(ctx context.Context, at *process, all *book, clients int) (*load.Result, error) {
	result, err := load.Closed(ctx, at.address, all.pagers(clients, true), askTime)
	switch {
	case err != nil:
		return nil, err
	case result.Errors > 0:
		return nil, faultsOf(result)
	case result.Requests != int64(len(all.requests)):
		return nil, fmt.Errorf("in %v only %d of %d pages were asked for", askTime, result.Requests, len(all.requests))
	}
	return result, nil
}

// greet makes a fresh node open its connections, through requests of unknown users for
// unknown subjects.
func (g *growth) greet(ctx context.Context) error {
	const strangers, greetings = 50, 200
	names := make([]string, 0, strangers)
	for i := range strangers {
		names = append(names, fmt.Sprintf("stranger-%d", i))
	}
	nothing := &drawer{}
	visits := make([]page, greetings)
	for i := range visits {
		visits[i].viewer = i % strangers
		for range pageSize {
			visits[i].subjects = append(visits[i].subjects, len(nothing.names))
			nothing.names = append(nothing.names, fmt.Sprintf("nothing-%d", len(nothing.names)))
		}
	}
	p, err := newCrowd(names, nothing, g.site.secret)
	if err == nil {
		_, err = g.ask(ctx, g.node.process, g.node.book(p, &truth{}, visits), growthClients)
	}
	return err
}

// pages measures pages that were never requested before, then the same ones again.
func (g *growth) pages(ctx context.Context, of *grown, kind pageKind) error {
	drawn := of.draw(kind)
	into := &asked{kind, newMeasured("the first time"), newMeasured("again")}
	of.pages = append(of.pages, into)
	for range g.plan.rounds {
		if err := g.fresh(ctx); err != nil {
			return err
		}
		if err := g.greet(ctx); err != nil {
			return fmt.Errorf("what is not there: %w", err)
		}
		all := g.node.book(g.people, g.stored, drawn)
		err := g.timed(ctx, into.cold, func() (*load.Result, error) {
			return g.ask(ctx, g.node.process, all, growthClients)
		})
		if err != nil {
			return fmt.Errorf("for the first time: %w", err)
		}
		err = g.timed(ctx, into.warm, func() (*load.Result, error) {
			result, err := load.Closed(ctx, g.node.process.address, all.pagers(growthClients, false), g.plan.segment)
			if err != nil {
				return nil, err
			}
			return result, faultsOf(result)
		})
		if err != nil {
			return fmt.Errorf("again: %w", err)
		}
	}
	g.sayf("pages of %d: %s ms the first time, %s ms again", kind.size, spread(into.cold.p50, 2), spread(into.warm.p50, 2))
	return nil
}

func newMeasured(who string) *measured { return &measured{name: who, shares: map[string]series{}} }

// timed measures one load.
func (g *growth) timed(ctx context.Context, into *measured, what func() (*load.Result, error)) error {
	var result *load.Result
	err := g.metered(ctx, g.node.process, into, func() (n int64, err error) {
		if result, err = what(); err != nil {
			return 0, err
		}
		return result.Requests, nil
	})
	if err != nil {
		return err
	}
	into.rate = append(into.rate, result.Rate())
	into.p50 = append(into.p50, ms(result.Quantile(50)))
	into.p99 = append(into.p99, ms(result.Quantile(99)))
	return nil
}

// writes measures likes, and a worker that starts with many of them in the queue.
func (g *growth) writes(ctx context.Context, of *grown) error {
	if err := g.fresh(ctx); err != nil {
		return err
	}
	if err := g.startWorker(ctx); err != nil {
		return err
	}
	visits := make([]page, readers) // every user who likes has viewed a page before
	for i := range visits {
		visits[i] = page{g.people.viewers + i, []int{i % of.subjects}}
	}
	if _, err := g.ask(ctx, g.node.process, g.node.book(g.people, g.stored, visits), 2*growthClients); err != nil {
		return fmt.Errorf("look before liking: %w", err)
	}
	if err := g.checkpoint(ctx); err != nil {
		return err
	}
	for i, clients := range []int{growthClients, growthMany} {
		likes := &written{measured: newMeasured("likes"), clients: clients}
		if err := g.likesOf(ctx, likes, g.seed+uint64(100*i)); err != nil {
			return fmt.Errorf("likes: %w", err)
		}
		of.likes = append(of.likes, likes)
	}
	of.work = &written{measured: newMeasured("ovation work")}
	for round := range g.plan.worker {
		if err := g.backlog(ctx, uint64(round), of.work); err != nil {
			return fmt.Errorf("worker: %w", err)
		}
	}
	g.sayf("likes: %s ms; worker: %s", spread(of.likes[0].p50, 2), perSecond(of.work.rate, "actions"))
	return nil
}

// checkpoint makes Postgres write the dirty pages that filling the tables has left, so
// that it does not do so during a measurement. Without permission it does nothing.
func (g *growth) checkpoint(ctx context.Context) error {
	const forbidden = "42501"
	_, err := g.site.database.Exec(ctx, `CHECKPOINT`)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == forbidden {
		g.sayf("Postgres does not let this user order a checkpoint")
		return nil
	}
	return err
}

// likesOf measures likes while a worker persists them, after a round to warm up.
func (g *growth) likesOf(ctx context.Context, of *written, seed uint64) error {
	for round := range g.plan.rounds + 1 {
		during, into := g.plan.segment, of.measured
		if round == 0 {
			during, into = g.plan.warm, newMeasured("")
		}
		before, err := g.site.logged(ctx)
		if err != nil {
			return err
		}
		acked := g.people.acked.Load()
		err = g.timed(ctx, into, func() (*load.Result, error) {
			clients := g.node.likers(of.clients, seed+uint64(round), func(*liker) {})
			result, err := load.Closed(ctx, g.node.process.address, clients, during)
			if err != nil {
				return nil, err
			}
			return result, faultsOf(result)
		})
		if err != nil {
			return err
		}
		if err := g.drain(ctx, &g.node); err != nil {
			return err
		}
		after, err := g.site.logged(ctx)
		if err != nil {
			return err
		}
		if round > 0 {
			of.log = append(of.log, float64(after-before)/float64(g.people.acked.Load()-acked))
		}
	}
	return nil
}

// backlog fills the queue and has a worker empty it.
func (g *growth) backlog(ctx context.Context, round uint64, into *written) error {
	if err := g.stopWorker(); err != nil {
		return err
	}
	n, err := g.fillQueue(ctx, round)
	if err != nil {
		return err
	}
	before, err := g.site.logged(ctx)
	if err != nil {
		return err
	}
	if err := g.startWorker(ctx); err != nil {
		return err
	}
	if err := g.emptyQueue(ctx, float64(n), into.measured); err != nil {
		return err
	}
	if err := g.drain(ctx, &g.node); err != nil {
		return err
	}
	after, err := g.site.logged(ctx)
	into.log = append(into.log, float64(after-before)/float64(n))
	return err
}
