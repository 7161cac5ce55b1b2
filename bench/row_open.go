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
	maxDrainTime  = time.Second // from the last reply until everything is persisted
)

// measureOpen sends likes at a fixed rate. A few additional likes measure the delay until
// other users see a like. Then measureOpen sends likes to the floor at the same rate. If
// the floor cannot sustain the rate, the rate is too high for the machine.
func measureOpen(ctx context.Context, b *bench, r *row) error {
	state, err := b.installation.readState(ctx, b.users)
	if err != nil {
		return err
	}
	prober, err := newProber(ctx, &b.node)
	if err != nil {
		return err
	}
	defer prober.close()
	ovationResult, drainTime, err := b.measureOpenLoad(ctx, r, &b.node, b.runPlan.openDuration, prober.run, func(l *likeClient) { l.withCount, l.initialState = true, state })
	if err != nil {
		return err
	}
	floorResult, _, err := b.measureOpenLoad(ctx, r, &b.floor, b.runPlan.openDuration/floorLoadDivisor, noProbe, func(*likeClient) {})
	if err != nil {
		return fmt.Errorf("the floor: %w", err)
	}
	if err := replyErrors(floorResult); err != nil {
		return fmt.Errorf("the floor: %w", err)
	}
	visibleP99 := time.Duration(prober.visibleAfter.ValueAtQuantile(99)) * time.Microsecond
	r.met = ovationResult.Quantile(99) <= floorResult.Quantile(99)*3/2 && ovationResult.Errors == 0 && visibleP99 < maxVisibleP99 && drainTime < maxDrainTime
	r.result = fmt.Sprintf("p50 %.2f ms, p99 %.2f ms, p99.9 %.1f ms, max %.1f ms; %d errors; seen by others p50 %.1f ms, p99 %.1f ms, max %.1f ms; all persisted after %.0f ms. The floor: p50 %.2f ms, p99 %.2f ms",
		milliseconds(ovationResult.Quantile(50)), milliseconds(ovationResult.Quantile(99)), milliseconds(ovationResult.Quantile(99.9)), milliseconds(ovationResult.Quantile(100)), ovationResult.Errors,
		float64(prober.visibleAfter.ValueAtQuantile(50))/1e3, milliseconds(visibleP99), float64(prober.visibleAfter.Max())/1e3, milliseconds(drainTime),
		milliseconds(floorResult.Quantile(50)), milliseconds(floorResult.Quantile(99)))
	r.notes = append(r.notes, fmt.Sprintf("%d likes over %d connections in %.0f s, due at random times; each also asks for likeCount and liked. The time until others see a like was measured %d times. The floor receives bare likes, for %.0f s.",
		ovationResult.Requests, openLoopConnections, ovationResult.Elapsed.Seconds(), prober.visibleAfter.TotalCount(), floorResult.Elapsed.Seconds()))
	for _, fault := range ovationResult.Faults {
		r.notes = append(r.notes, "An error: "+fault)
	}
	return errors.Join(b.checkLikes(ctx, &b.node), b.checkLikes(ctx, &b.floor))
}

// floorLoadDivisor is the duration of the load on Ovation divided by the duration of the
// load on the floor.
const floorLoadDivisor = 3

func noProbe(context.Context, float64) error { return nil }

// measureOpenLoad sends likes to the system s. In the meantime, it runs the function
// probe, until the load ends. The result drainTime is the time from the end of the load
// until all likes were persisted.
func (b *bench) measureOpenLoad(
	ctx context.Context, r *row, s *system, during time.Duration, probe func(context.Context, float64) error, with func(*likeClient),
) (result *load.Result, drainTime time.Duration, err error) {
	clients := s.newLikeClients(openLoopConnections, b.seed, with)
	warm := rand.New(rand.NewPCG(b.seed, 2))   //nolint:gosec // it is meant to be the same each time
	random := rand.New(rand.NewPCG(b.seed, 3)) //nolint:gosec // it is meant to be the same each time
	if _, err := load.Open(ctx, s.process.address, clients, openRate, b.runPlan.warmUp, warm); err != nil {
		return nil, 0, err
	}
	into := newMeasurement(s.name)
	into.workerName = s.workerName
	r.measurements = append(r.measurements, into)
	err = b.withMeter(ctx, s.process, into, func() (int64, error) {
		probing, enough := context.WithCancel(ctx)
		probed := make(chan error, 1)
		go func() { probed <- probe(probing, b.runPlan.probeRate) }()
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
	into.rate, into.p50, into.p99 = series{result.Rate()}, series{milliseconds(result.Quantile(50))}, series{milliseconds(result.Quantile(99))}
	return result, time.Since(ended), err
}

// prober measures the delay until other users see a like. It likes subjects that no other
// user likes, and polls the like count of each as an anonymous viewer.
type prober struct {
	system             *system
	likeConn, readConn *load.Conn
	visibleAfter       *hdrhistogram.Histogram // delays since the acknowledgement, in microseconds
}

const (
	probeTimeout = 10 * time.Second
	// probePollInterval is the pause between two requests for a count. It limits the load
	// that the requests add. A measured delay is too long by at most this pause.
	probePollInterval = 2 * time.Millisecond
)

func newProber(ctx context.Context, s *system) (p *prober, err error) {
	p = &prober{system: s, visibleAfter: hdrhistogram.New(1, probeTimeout.Microseconds(), 3)}
	if p.likeConn, err = load.Dial(ctx, s.process.address); err != nil {
		return nil, err
	}
	if p.readConn, err = load.Dial(ctx, s.process.address); err != nil {
		return nil, errors.Join(err, p.likeConn.Close())
	}
	return p, nil
}

func (p *prober) close() { _, _ = p.likeConn.Close(), p.readConn.Close() }

// run measures the delays of likes until ctx is done. It calls probe at most perSecond
// times a second.
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
			return fmt.Errorf("measure when a like is visible: %w", err)
		}
	}
}

// probe measures the delay of one like. It first requests the count, so that the node
// caches the count before the like and must be notified of the change.
func (p *prober) probe(id string) error {
	const probes = "probe"
	if count, err := p.readLikeCount(probes, id); err != nil {
		return err
	} else if count != 0 {
		return fmt.Errorf("got %d likes before the first, want 0", count)
	}
	request, _ := p.system.appendLike(nil, nil, p.system.users.viewerCount, likeMutation, probes, id)
	status, body, err := p.likeConn.Do(request)
	if err != nil {
		return err
	}
	if status != http.StatusOK || !p.system.isFirstLikeReply(body) {
		return fmt.Errorf("status %d with %.200s", status, body)
	}
	for acknowledged := time.Now(); ; time.Sleep(probePollInterval) {
		count, err := p.readLikeCount(probes, id)
		elapsed := time.Since(acknowledged)
		switch {
		case err != nil:
			return err
		case count == 1:
			return p.visibleAfter.RecordValue(max(1, elapsed.Microseconds()))
		case elapsed > probeTimeout:
			return fmt.Errorf("the like was not visible to others within %v", probeTimeout)
		}
	}
}

func (p *prober) readLikeCount(biz, id string) (int64, error) {
	const query = `query Count($biz: String!, $id: ID!) { interactive(biz: $biz, bizId: $id) { likeCount } }`
	status, body, err := p.readConn.Do(load.Post(nil, p.system.process.address, "/graphql", "", mustJSON(map[string]any{
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
