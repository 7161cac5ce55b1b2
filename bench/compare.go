package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ovation/bench/load"
)

// contender is one of the two sides of a comparison.
type contender struct {
	name string
	side *side
	// ready returns the clients of a round.
	ready func(ctx context.Context, round int) ([]load.Client, error)
	// concurrent, if not nil, is a load that runs at the same time.
	concurrent func(ctx context.Context, round int, during time.Duration) error
	// after, if not nil, waits until everything that was begun is done.
	after func(ctx context.Context) error
	// replacement, if not nil, is measured in place of clients: it works for the given time
	// and returns the number of its operations.
	replacement func(ctx context.Context, during time.Duration) (int64, error)
}

// series are the measurements of one quantity, one for each round.
type series []float64

// median returns the middle value, or the mean of the two middle ones.
func (s series) median() float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// measured is the result of one contender, or of a row that has only one.
type measured struct {
	name     string
	rate     series // requests a second
	p50, p99 series // milliseconds
	cpu      series // of the server alone, microseconds for each request
	mallocs  series // of the server, for each request
	bytes    series // allocated by the server, for each request
	requests int64
	shares   map[string]series // shares of the machine's CPU time, by consumer
	worker   string            // the name under which the CPU time of its worker is reported
}

// cost returns the CPU time that name took in each round, in microseconds per request.
func (m *measured) cost(name string) (out series) {
	for i, share := range m.shares[name] {
		if i < len(m.rate) {
			out = append(out, share*1e6/m.rate[i])
		}
	}
	return out
}

// compare measures two contenders alternately, after both have warmed up. The
// measurements of one round are adjacent in time.
func (b *bench) compare(ctx context.Context, two [2]contender) (of [2]*measured, err error) {
	for i := range two {
		of[i] = &measured{name: two[i].name, shares: map[string]series{}, worker: two[i].side.worker}
	}
	for round := range b.plan.rounds + 1 {
		for k := range two {
			i := (k + round) % 2 // they take turns in going first: the first affects the second
			during, into := b.plan.segment, of[i]
			if round == 0 {
				during, into = b.plan.warm, &measured{shares: map[string]series{}}
			}
			if err := b.measureOnce(ctx, &two[i], round, during, into); err != nil {
				return of, fmt.Errorf("%s: %w", two[i].name, err)
			}
		}
	}
	return of, nil
}

// measureOnce measures one segment of one contender.
func (b *bench) measureOnce(ctx context.Context, c *contender, round int, during time.Duration, into *measured) error {
	if c.replacement != nil {
		began := time.Now()
		n, err := c.replacement(ctx, during)
		into.rate, into.requests = append(into.rate, float64(n)/since(began)), into.requests+n
		return err
	}
	clients, err := c.ready(ctx, round)
	if err != nil {
		return err
	}
	var result *load.Result
	err = b.metered(ctx, c.side.process, into, func() (int64, error) {
		beside := make(chan error, 1)
		if c.concurrent == nil {
			beside <- nil
		} else {
			go func() { beside <- c.concurrent(ctx, round, during) }()
		}
		var err error
		result, err = load.Closed(ctx, c.side.process.address, clients, during)
		if err = errors.Join(err, <-beside); err != nil {
			return 0, err
		}
		return result.Requests, faultsOf(result)
	})
	if err != nil {
		return err
	}
	into.rate = append(into.rate, result.Rate())
	into.p50 = append(into.p50, ms(result.Quantile(50)))
	into.p99 = append(into.p99, ms(result.Quantile(99)))
	if c.after != nil {
		return c.after(ctx)
	}
	return nil
}

// metered measures the cost of a load. what runs the load and returns the number of its
// requests.
func (b *bench) metered(ctx context.Context, p *process, into *measured, what func() (int64, error)) error {
	before, err := p.metrics(ctx)
	if err != nil {
		return err
	}
	used, began := b.meter.read(), time.Now()
	n, err := what()
	if err != nil {
		return err
	}
	took := time.Since(began)
	spent := b.meter.read().since(used)
	after, err := p.metrics(ctx)
	if err != nil {
		return err
	}
	if n == 0 {
		return errors.New("no request was answered")
	}
	into.requests += n
	of := func(name string) float64 { return (after[name] - before[name]) / float64(n) }
	into.mallocs = append(into.mallocs, of(metricMallocs))
	into.bytes = append(into.bytes, of(metricBytes))
	for name, time := range spent {
		into.shares[name] = append(into.shares[name], time.Seconds()/took.Seconds())
		if b.meter.pids[name] == p.command.Process.Pid {
			into.cpu = append(into.cpu, time.Seconds()*1e6/float64(n))
		}
	}
	return nil
}

// faultsOf returns an error if there were wrong replies.
func faultsOf(r *load.Result) error {
	if r.Errors == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d replies were wrong or missing: %q", r.Errors, r.Requests, r.Faults)
}

// ratios returns the ratio of the two rates in each round.
func ratios(of, to *measured) (out series) {
	for i := range min(len(of.rate), len(to.rate)) {
		out = append(out, of.rate[i]/to.rate[i])
	}
	return out
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }
