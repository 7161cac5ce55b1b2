package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"ovation/bench/load"
)

// The targets of the row.
const (
	maxVisibleP99 = 100 * time.Millisecond
	emptyTime     = time.Second // from the last reply until everything is persisted
)

// openRow sends likes at a fixed rate, and measures with a few additional likes when
// other users see them. Then the floor receives the same rate: a rate that the floor
// cannot sustain either is too high for the machine.
func openRow(ctx context.Context, b *bench, r *row) error {
	t, err := b.site.readTruth(ctx, b.people)
	if err != nil {
		return err
	}
	prober, err := newProber(ctx, &b.node)
	if err != nil {
		return err
	}
	defer prober.close()
	ours, empty, err := b.openLoad(ctx, r, &b.node, b.plan.open, prober.run, func(l *liker) { l.shown, l.base = true, t })
	if err != nil {
		return err
	}
	theirs, _, err := b.openLoad(ctx, r, &b.floor, b.plan.open/openShare, nobodyProbes, func(*liker) {})
	if err != nil {
		return fmt.Errorf("the floor: %w", err)
	}
	if err := faultsOf(theirs); err != nil {
		return fmt.Errorf("the floor: %w", err)
	}
	seen := time.Duration(prober.seen.ValueAtQuantile(99)) * time.Microsecond
	r.met = ours.Quantile(99) <= theirs.Quantile(99)*3/2 && ours.Errors == 0 && seen < maxVisibleP99 && empty < emptyTime
	r.result = fmt.Sprintf("p50 %.2f ms, p99 %.2f ms, p99.9 %.1f ms, max %.1f ms; %d errors; seen by others p50 %.1f ms, p99 %.1f ms, max %.1f ms; all persisted after %.0f ms. The floor: p50 %.2f ms, p99 %.2f ms",
		ms(ours.Quantile(50)), ms(ours.Quantile(99)), ms(ours.Quantile(99.9)), ms(ours.Quantile(100)), ours.Errors,
		float64(prober.seen.ValueAtQuantile(50))/1e3, ms(seen), float64(prober.seen.Max())/1e3, ms(empty),
		ms(theirs.Quantile(50)), ms(theirs.Quantile(99)))
	r.notes = append(r.notes, fmt.Sprintf("%d likes over %d connections in %.0f s, due at random times; each also asks for likeCount and liked. The time until others see a like was measured %d times. The floor receives bare likes, for %.0f s.",
		ours.Requests, openClients, ours.Elapsed.Seconds(), prober.seen.TotalCount(), theirs.Elapsed.Seconds()))
	for _, fault := range ours.Faults {
		r.notes = append(r.notes, "An error: "+fault)
	}
	return errors.Join(b.check(ctx, &b.node), b.check(ctx, &b.floor))
}

// openShare is the factor by which the load on the floor is shorter.
const openShare = 3

func nobodyProbes(context.Context, float64) error { return nil }

// openLoad sends the load to a side while probe runs. It also returns how long after
// the end everything was persisted.
func (b *bench) openLoad(
	ctx context.Context, r *row, s *side, during time.Duration, probe func(context.Context, float64) error, with func(*liker),
) (result *load.Result, empty time.Duration, err error) {
	clients := s.likers(openClients, b.seed, with)
	warm := rand.New(rand.NewPCG(b.seed, 2))   //nolint:gosec // it is meant to be the same each time
	random := rand.New(rand.NewPCG(b.seed, 3)) //nolint:gosec // it is meant to be the same each time
	if _, err := load.Open(ctx, s.process.address, clients, openRate, b.plan.warm, warm); err != nil {
		return nil, 0, err
	}
	into := &measured{name: s.name, shares: map[string]series{}, worker: s.worker}
	r.of = append(r.of, into)
	err = b.metered(ctx, s.process, into, func() (int64, error) {
		probing, enough := context.WithCancel(ctx)
		probed := make(chan error, 1)
		go func() { probed <- probe(probing, b.plan.probes) }()
		var err error
		result, err = load.Open(ctx, s.process.address, clients, openRate, during, random)
		enough()
		if err = errors.Join(err, <-probed); err != nil {
			return 0, err
		}
		return result.Requests, nil
	})
	if err != nil {
		return nil, 0, err
	}
	ended := time.Now()
	err = b.drain(ctx, s)
	into.rate, into.p50, into.p99 = series{result.Rate()}, series{ms(result.Quantile(50))}, series{ms(result.Quantile(99))}
	return result, time.Since(ended), err
}

// prober likes subjects that no other user likes, and polls, as another user, until the
// like is counted.
type prober struct {
	side        *side
	like, watch *load.Conn
	seen        *hdrhistogram.Histogram // from the acknowledgement, in microseconds
}

const (
	probeTimeout = 10 * time.Second
	// probePause is the pause between two reads of a count, so that the reads are no
	// load in themselves. The measured delay is at most this much too long.
	probePause = 2 * time.Millisecond
)

func newProber(ctx context.Context, s *side) (p *prober, err error) {
	p = &prober{side: s, seen: hdrhistogram.New(1, probeTimeout.Microseconds(), 3)}
	if p.like, err = load.Dial(ctx, s.process.address); err != nil {
		return nil, err
	}
	if p.watch, err = load.Dial(ctx, s.process.address); err != nil {
		return nil, errors.Join(err, p.like.Close())
	}
	return p, nil
}

func (p *prober) close() { _, _ = p.like.Close(), p.watch.Close() }

// run probes until the context ends.
func (p *prober) run(ctx context.Context, perSecond float64) error {
	tick := time.NewTicker(time.Duration(float64(time.Second) / perSecond))
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if err := p.probe(strconv.Itoa(n)); err != nil {
			return fmt.Errorf("watch a like: %w", err)
		}
	}
}

// probe measures one like. It reads the count before, so that the node has cached it
// and must learn of the change.
func (p *prober) probe(id string) error {
	const probes = "probe"
	if count, err := p.count(probes, id); err != nil || count != 0 {
		return fmt.Errorf("%d likes before the first: %w", count, err)
	}
	request, _ := p.side.like(nil, nil, p.side.people.viewers, bareLike, probes, id)
	status, body, err := p.like.Do(request)
	if err != nil || status != http.StatusOK || !p.side.isFirst(body) {
		return fmt.Errorf("status %d with %.200s: %w", status, body, err)
	}
	for acknowledged := time.Now(); ; time.Sleep(probePause) {
		count, err := p.count(probes, id)
		took := time.Since(acknowledged)
		switch {
		case err != nil:
			return err
		case count == 1:
			return p.seen.RecordValue(max(1, took.Microseconds()))
		case took > probeTimeout:
			return fmt.Errorf("it was not seen within %v", probeTimeout)
		}
	}
}

func (p *prober) count(biz, id string) (int64, error) {
	const query = `query Count($biz: String!, $id: ID!) { interactive(biz: $biz, bizId: $id) { likeCount } }`
	status, body, err := p.watch.Do(load.Post(nil, p.side.process.address, "/graphql", "", mustJSON(map[string]any{
		"query": query, "operationName": "Count", "variables": map[string]any{"biz": biz, "id": id},
	})))
	if err != nil {
		return 0, err
	}
	var got struct {
		Data struct{ Interactive *struct{ LikeCount int64 } }
	}
	if err := json.Unmarshal(body, &got); err != nil || got.Data.Interactive == nil { //nolint:musttag // names differ in case alone
		return 0, fmt.Errorf("status %d with %.200s", status, body)
	}
	return got.Data.Interactive.LikeCount, nil
}
