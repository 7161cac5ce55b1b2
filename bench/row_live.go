package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"ovation/bench/load"
)

// The targets of the row: the delay until a watcher receives a change, and the cost of an
// idle watcher.
const (
	maxDeliveryP99    = 250 * time.Millisecond
	maxIdleBytes      = 20 << 10 // heap and stack
	maxIdleGoroutines = 3
)

// The watched subject. No other row of the report acts on it.
const (
	watchedBiz = "live"
	watchedID  = "1"
)

// subscribePayload is the subscription of every watcher. It requests the counts that a
// page shows.
var subscribePayload = []byte(`{"query":"subscription Watch($subjects: [SubjectInput!]!) { interactiveChanged(subjects: $subjects) ` +
	`{ id biz bizId readCount collectCount version freshness likeCount } }","variables":{"subjects":[{"biz":"` + watchedBiz + `","bizId":"` + watchedID + `"}]}}`)

// measureLive subscribes many watchers to one subject on a separate node. It measures the
// cost of the idle watchers. Then it sends several likes, and measures the time from
// sending each like until each watcher has received the new count.
func measureLive(ctx context.Context, b *bench, r *row) (err error) {
	node, err := b.installation.startNode(ctx)
	if node != nil {
		defer func() { err = errors.Join(err, node.stop()) }()
	}
	if err != nil {
		return err
	}
	b.meter.track(nodeName, node)
	defer b.meter.track(nodeName, b.node.process)
	before, err := measureIdle(ctx, node)
	if err != nil {
		return err
	}
	n := b.runPlan.watchers
	all, err := connectWatchers(ctx, node.address, n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, all.close()) }()
	if _, err := all.awaitLikes(ctx, 0); err != nil {
		return err
	}
	after, err := measureIdle(ctx, node)
	if err != nil {
		return err
	}
	each := after.perWatcher(before, n)
	into := newMeasurement(nodeName)
	r.measurements = []*measurement{into}
	latencies := hdrhistogram.New(1, deliveryTimeout.Microseconds(), 3)
	err = b.withMeter(ctx, node, into, func() (int64, error) {
		for i := range b.runPlan.changes {
			elapsed, err := all.likeAndAwait(ctx, b, node, i)
			if err != nil {
				return 0, err
			}
			latencies.Merge(elapsed)
			into.p50 = append(into.p50, float64(elapsed.ValueAtQuantile(50))/1e3)
			into.p99 = append(into.p99, float64(elapsed.ValueAtQuantile(99))/1e3)
		}
		return latencies.TotalCount(), nil
	})
	if err != nil {
		return err
	}
	p99 := time.Duration(latencies.ValueAtQuantile(99)) * time.Microsecond
	r.met = p99 < maxDeliveryP99 && each.bytes <= maxIdleBytes && each.goroutines <= maxIdleGoroutines
	r.result = fmt.Sprintf("%s of them: delivered p50 %.0f ms, p99 %.0f ms, the last %.0f ms after a like was sent; each idle %.1f KB, %.2f goroutines",
		formatNumber(float64(n), 0), float64(latencies.ValueAtQuantile(50))/1e3, milliseconds(p99), float64(latencies.Max())/1e3, each.bytes/1024, each.goroutines)
	r.notes = append(r.notes, fmt.Sprintf("%d likes, each sent once all watchers had received the one before. The watchers are anonymous and part of the load, on the same processors. "+
		"A request is a delivered event. Idle: the node's live heap at its last garbage collection, at most, and its stacks.", b.runPlan.changes))
	return nil
}

// idleUsage holds the memory in use, in bytes, and the number of goroutines of an idle
// process.
type idleUsage struct{ bytes, goroutines float64 }

func (now idleUsage) perWatcher(before idleUsage, n int) idleUsage {
	return idleUsage{(now.bytes - before.bytes) / float64(n), (now.goroutines - before.goroutines) / float64(n)}
}

// idleCollections is the number of garbage collections after which stacks are small: each
// collection halves unused stacks.
const idleCollections = 4

// measureIdle sends requests that produce garbage until the garbage collector of the
// process has run often enough. Then it measures the live memory and the goroutines.
func measureIdle(ctx context.Context, p *process) (idleUsage, error) {
	first, err := p.readMetrics(ctx)
	if err != nil {
		return idleUsage{}, err
	}
	if _, exported := first[metricHeapLive]; !exported {
		return idleUsage{}, fmt.Errorf("%s does not export %s", p.name, metricHeapLive)
	}
	clients := make([]load.Client, 8)
	for i := range clients {
		clients[i] = newGarbageClient(p)
	}
	for now := first; ; {
		if now[metricCollections] >= first[metricCollections]+idleCollections {
			return idleUsage{now[metricHeapLive] + now[metricStacks], now[metricGoroutines]}, nil
		}
		result, err := load.Closed(ctx, p.address, clients, 200*time.Millisecond)
		if err == nil {
			err = replyErrors(result)
		}
		if err != nil {
			return idleUsage{}, err
		}
		if now, err = p.readMetrics(ctx); err != nil {
			return idleUsage{}, err
		}
	}
}

// garbageClient sends requests that each name the maximum number of subjects, all of them
// unknown, to produce garbage.
type garbageClient struct{ request []byte }

func newGarbageClient(p *process) *garbageClient {
	const most = 100
	subjects := make([]map[string]string, most)
	for i := range subjects {
		subjects[i] = map[string]string{"biz": watchedBiz, "bizId": "still-" + strconv.Itoa(i)}
	}
	body := mustJSON(map[string]any{
		"query":     `query Stir($subjects: [SubjectInput!]!) { interactives(subjects: $subjects) { id bizId likeCount } }`,
		"variables": map[string]any{"subjects": subjects},
	})
	return &garbageClient{load.Post(nil, p.address, "/graphql", "", body)}
}

// Next implements load.Client.
func (s *garbageClient) Next(buf []byte) []byte { return append(buf, s.request...) }

// Done implements load.Client.
func (s *garbageClient) Done(status int, body []byte) error {
	if status != http.StatusOK || !bytes.HasPrefix(body, []byte(`{"data":{"interactives":[{"id":`)) {
		return fmt.Errorf("status %d with %.200s", status, body)
	}
	return nil
}

// watcherGroup holds the watchers of one subject.
type watcherGroup struct {
	subscriptions []*load.Subscription
	receipts      chan receipt
	closed        chan struct{} // closed when receipts are no longer read
	listeners     sync.WaitGroup
	latestCounts  []int64 // by watcher; -1 before the first count
}

// receipt is a count that a watcher received, with its time of arrival, or the error that
// ended the watcher's stream.
type receipt struct {
	watcher int
	likes   int64
	at      time.Time
	err     error
}

// deliveryTimeout is how long a change may take to reach all watchers.
const deliveryTimeout = 30 * time.Second

// connectWatchers connects n watchers.
func connectWatchers(ctx context.Context, address string, n int) (*watcherGroup, error) {
	group := &watcherGroup{receipts: make(chan receipt, n), closed: make(chan struct{}), latestCounts: make([]int64, n)}
	for i := range n {
		one, err := load.Subscribe(ctx, address, []byte("{}"), subscribePayload)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("watcher %d: %w", i, err), group.close())
		}
		group.subscriptions, group.latestCounts[i] = append(group.subscriptions, one), -1
		group.listeners.Go(func() { group.forward(i, one) })
	}
	return group, nil
}

// close closes all watchers and waits for their goroutines.
func (c *watcherGroup) close() error {
	close(c.closed)
	var err error
	for _, one := range c.subscriptions {
		err = errors.Join(err, one.Close())
	}
	c.listeners.Wait()
	return err
}

// forward sends every count that the watcher receives to the channel receipts. It returns
// after an error, or when the group is closed.
func (c *watcherGroup) forward(watcher int, one *load.Subscription) {
	for {
		text, err := one.Next()
		received := receipt{watcher: watcher, at: time.Now(), err: err}
		if err == nil {
			received.likes, received.err = parseLikeCount(text)
		}
		select {
		case c.receipts <- received:
		case <-c.closed:
			return
		}
		if received.err != nil {
			return
		}
	}
}

// parseLikeCount returns the number of likes, which is the last member of an event. It
// returns an error if the event's freshness is not LIVE.
func parseLikeCount(text []byte) (int64, error) {
	_, after, found := bytes.Cut(text, []byte(`"likeCount":`))
	likes, err := strconv.ParseInt(string(bytes.TrimRight(after, "}")), 10, 64)
	if !found || err != nil || !bytes.Contains(text, []byte(`"freshness":"LIVE"`)) {
		return 0, fmt.Errorf("unexpected event %.200s", text)
	}
	return likes, nil
}

// awaitLikes waits until every watcher has received the given number of likes. It returns
// the times at which the watchers first received that number. It returns an error if a
// watcher receives a greater number, or a lower number than before.
func (c *watcherGroup) awaitLikes(ctx context.Context, likes int64) ([]time.Time, error) {
	timeout := time.NewTimer(deliveryTimeout)
	defer timeout.Stop()
	at := make([]time.Time, 0, len(c.subscriptions))
	for len(at) < len(c.subscriptions) {
		select {
		case received := <-c.receipts:
			switch known := c.latestCounts[received.watcher]; {
			case received.err != nil:
				return nil, fmt.Errorf("watcher %d: %w", received.watcher, received.err)
			case received.likes > likes || received.likes < known:
				return nil, fmt.Errorf("watcher %d received %d likes after %d, but %d were sent", received.watcher, received.likes, known, likes)
			case received.likes == likes && known < likes:
				at = append(at, received.at)
			}
			c.latestCounts[received.watcher] = received.likes
		case <-timeout.C:
			return nil, fmt.Errorf("within %v, %d of %d watchers received %d likes", deliveryTimeout, len(at), len(c.subscriptions), likes)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return at, nil
}

// likeAndAwait likes the subject and waits until all watchers have received the new
// count. It returns a histogram of the watchers' delays, in microseconds since the like
// was sent.
func (c *watcherGroup) likeAndAwait(ctx context.Context, b *bench, node *process, nth int) (*hdrhistogram.Histogram, error) {
	conn, err := load.Dial(ctx, node.address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	through := system{name: nodeName, process: node, users: b.users}
	request, _ := through.appendLike(nil, nil, b.users.viewerCount+nth, likeMutation, watchedBiz, watchedID)
	sent := time.Now()
	status, body, err := conn.Do(request)
	if err != nil {
		return nil, fmt.Errorf("like: %w", err)
	}
	if status != http.StatusOK || !through.isFirstLikeReply(body) {
		return nil, fmt.Errorf("like: status %d with %.200s", status, body)
	}
	known, err := c.awaitLikes(ctx, int64(nth)+1)
	if err != nil {
		return nil, err
	}
	elapsed := hdrhistogram.New(1, deliveryTimeout.Microseconds(), 3)
	for _, at := range known {
		_ = elapsed.RecordValue(max(1, at.Sub(sent).Microseconds())) // the value is within bounds
	}
	return elapsed, nil
}
