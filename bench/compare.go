package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ovation/bench/load"
)

// variant is one of the two alternatives that a comparison measures.
type variant struct {
	name   string
	system *system
	// newClients returns the clients for a round.
	newClients func(ctx context.Context, round int) ([]load.Client, error)
	// backgroundLoad, if not nil, runs at the same time as the clients.
	backgroundLoad func(ctx context.Context, round int, during time.Duration) error
	// afterRound, if not nil, waits until all work that the round has caused is
	// completed.
	afterRound func(ctx context.Context) error
	// operations, if not nil, is measured instead of clients. It performs operations for
	// the given duration and returns their number.
	operations func(ctx context.Context, during time.Duration) (int64, error)
}

// series holds one value of a measured quantity for each round.
type series []float64

// median returns the middle value, or the mean of the two middle ones.
func (s series) median() float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// measurement holds the measured values for one variant, or for a row that makes no
// comparison.
type measurement struct {
	name       string
	rate       series // requests a second
	p50, p99   series // milliseconds
	serverCPU  series // CPU time of the server alone, in microseconds per request
	mallocs    series // objects allocated by the server, per request
	bytes      series // bytes allocated by the server, per request
	requests   int64
	processors map[string]series // number of processors used by each consumer of CPU time
	workerName string            // the name under which the CPU time of the system's worker is reported
}

func newMeasurement(name string) *measurement {
	return &measurement{name: name, processors: map[string]series{}}
}

// cpuPerRequest returns the CPU time that a consumer used in each round, in microseconds
// per request.
func (m *measurement) cpuPerRequest(name string) (out series) {
	for i, used := range m.processors[name] {
		if i < len(m.rate) {
			out = append(out, used*1e6/m.rate[i])
		}
	}
	return out
}

// measureAlternately measures two variants alternately, after both have warmed up. The
// measurements of one round are adjacent in time.
func (b *bench) measureAlternately(ctx context.Context, variants [2]variant) (measurements [2]*measurement, err error) {
	for i := range variants {
		measurements[i] = newMeasurement(variants[i].name)
		measurements[i].workerName = variants[i].system.workerName
	}
	for round := range b.runPlan.rounds + 1 {
		for k := range variants {
			i := (k + round) % 2 // the order alternates, because the first variant affects the second
			during, into := b.runPlan.segment, measurements[i]
			if round == 0 {
				during, into = b.runPlan.warmUp, newMeasurement("")
			}
			if err := b.measureSegment(ctx, &variants[i], round, during, into); err != nil {
				return measurements, fmt.Errorf("%s: %w", variants[i].name, err)
			}
		}
	}
	return measurements, nil
}

// measureSegment measures one segment of one variant.
func (b *bench) measureSegment(ctx context.Context, c *variant, round int, during time.Duration, into *measurement) error {
	if c.operations != nil {
		began := time.Now()
		n, err := c.operations(ctx, during)
		into.rate, into.requests = append(into.rate, float64(n)/secondsSince(began)), into.requests+n
		return err
	}
	clients, err := c.newClients(ctx, round)
	if err != nil {
		return err
	}
	var result *load.Result
	err = b.withMeter(ctx, c.system.process, into, func() (int64, error) {
		background := make(chan error, 1)
		if c.backgroundLoad == nil {
			background <- nil
		} else {
			go func() { background <- c.backgroundLoad(ctx, round, during) }()
		}
		var err error
		result, err = load.Closed(ctx, c.system.process.address, clients, during)
		if err = errors.Join(err, <-background); err != nil {
			return 0, err
		}
		return result.Requests, replyErrors(result)
	})
	if err != nil {
		return err
	}
	into.rate = append(into.rate, result.Rate())
	into.p50 = append(into.p50, milliseconds(result.Quantile(50)))
	into.p99 = append(into.p99, milliseconds(result.Quantile(99)))
	if c.afterRound != nil {
		return c.afterRound(ctx)
	}
	return nil
}

// withMeter calls run, which executes a load and returns the number of requests. It adds
// the measured cost of the load to the given measurement.
func (b *bench) withMeter(ctx context.Context, p *process, into *measurement, run func() (int64, error)) error {
	before, err := p.readMetrics(ctx)
	if err != nil {
		return err
	}
	used, began := b.meter.read(), time.Now()
	n, err := run()
	if err != nil {
		return err
	}
	elapsed := time.Since(began)
	spent := b.meter.read().since(used)
	after, err := p.readMetrics(ctx)
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
		into.processors[name] = append(into.processors[name], time.Seconds()/elapsed.Seconds())
		if b.meter.pids[name] == p.command.Process.Pid {
			into.serverCPU = append(into.serverCPU, time.Seconds()*1e6/float64(n))
		}
	}
	return nil
}

// replyErrors returns an error if any reply was wrong or missing.
func replyErrors(r *load.Result) error {
	if r.Errors == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d replies were wrong or missing: %q", r.Errors, r.Requests, r.Faults)
}

// rateRatios returns, for each round, the rate in the first measurement divided by the
// rate in the second.
func rateRatios(of, to *measurement) (out series) {
	for i := range min(len(of.rate), len(to.rate)) {
		out = append(out, of.rate[i]/to.rate[i])
	}
	return out
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }
