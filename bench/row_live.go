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

// The limits of the cost of watching.
const (
	maxDeliveryP99 = 250 * time.Millisecond
	idleBytes      = 20 << 10 // heap and stack
	idleGoroutines = 3
)

// The watched subject: nothing else acts on it.
const (
	liveBiz = "live"
	liveID  = "1"
)

// watchPayload is the subscription of every watcher: the counts, as a card shows them.
var watchPayload = []byte(`{"query":"subscription Watch($subjects: [SubjectInput!]!) { interactiveChanged(subjects: $subjects) ` +
	`{ id biz bizId readCount collectCount version freshness likeCount } }","variables":{"subjects":[{"biz":"` + liveBiz + `","bizId":"` + liveID + `"}]}}`)

// liveRow subscribes many watchers to one subject on a separate node. It measures their
// cost at rest, and the time from when a like is sent until all have received it.
func liveRow(ctx context.Context, b *bench, r *row) (err error) {
	node, err := b.site.serve(ctx)
	if node != nil {
		defer func() { err = errors.Join(err, node.stop()) }()
	}
	if err != nil {
		return err
	}
	b.meter.watch(nodeName, node)
	defer b.meter.watch(nodeName, b.node.process)
	before, err := atRest(ctx, node)
	if err != nil {
		return err
	}
	n := b.plan.watchers
	all, err := gather(ctx, node.address, n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, all.close()) }()
	if _, err := all.await(ctx, 0); err != nil {
		return err
	}
	after, err := atRest(ctx, node)
	if err != nil {
		return err
	}
	each := after.since(before, n)
	into := &measured{name: nodeName, shares: map[string]series{}}
	r.of = []*measured{into}
	latencies := hdrhistogram.New(1, deliveryTimeout.Microseconds(), 3)
	err = b.metered(ctx, node, into, func() (int64, error) {
		for i := range b.plan.changes {
			took, err := all.like(ctx, b, node, i)
			if err != nil {
				return 0, err
			}
			latencies.Merge(took)
			into.p50 = append(into.p50, float64(took.ValueAtQuantile(50))/1e3)
			into.p99 = append(into.p99, float64(took.ValueAtQuantile(99))/1e3)
		}
		return latencies.TotalCount(), nil
	})
	if err != nil {
		return err
	}
	p99 := time.Duration(latencies.ValueAtQuantile(99)) * time.Microsecond
	r.met = p99 < maxDeliveryP99 && each.bytes <= idleBytes && each.goroutines <= idleGoroutines
	r.result = fmt.Sprintf("%s of them: delivered p50 %.0f ms, p99 %.0f ms, the last %.0f ms after a like was sent; each idle %.1f KB, %.2f goroutines",
		grouped(float64(n), 0), float64(latencies.ValueAtQuantile(50))/1e3, ms(p99), float64(latencies.Max())/1e3, each.bytes/1024, each.goroutines)
	r.notes = append(r.notes, fmt.Sprintf("%d likes, each sent once all watchers had received the one before. The watchers are anonymous and part of the load, on the same processors. "+
		"A request is a delivered event. Idle: the node's live heap at its last garbage collection, at most, and its stacks.", b.plan.changes))
	return nil
}

// rest is the memory and the number of goroutines of an idle process.
type rest struct{ bytes, goroutines float64 }

func (now rest) since(before rest, n int) rest {
	return rest{(now.bytes - before.bytes) / float64(n), (now.goroutines - before.goroutines) / float64(n)}
}

// collections is how often the garbage collector has to run until stacks are small:
// each run halves unused ones.
const collections = 4

// atRest makes the garbage collector of a node run, by requests that produce garbage,
// and measures what is left.
func atRest(ctx context.Context, p *process) (rest, error) {
	first, err := p.metrics(ctx)
	if err != nil {
		return rest{}, err
	}
	if _, exported := first[metricHeapLive]; !exported {
		return rest{}, fmt.Errorf("%s does not export %s", p.name, metricHeapLive)
	}
	clients := make([]load.Client, 8)
	for i := range clients {
		clients[i] = newGarbageMaker(p)
	}
	for now := first; ; {
		if now[metricCollections] >= first[metricCollections]+collections {
			return rest{now[metricHeapLive] + now[metricStacks], now[metricGoroutines]}, nil
		}
		result, err := load.Closed(ctx, p.address, clients, 200*time.Millisecond)
		if err == nil {
			err = faultsOf(result)
		}
		if err != nil {
			return rest{}, err
		}
		if now, err = p.metrics(ctx); err != nil {
			return rest{}, err
		}
	}
}

// garbageMaker requests as many unknown subjects as allowed.
type garbageMaker struct{ request []byte }

func newGarbageMaker(p *process) *garbageMaker {
	const most = 100
	subjects := make([]map[string]string, most)
	for i := range subjects {
		subjects[i] = map[string]string{"biz": liveBiz, "bizId": "still-" + strconv.Itoa(i)}
	}
	body := mustJSON(map[string]any{
		"query":     `query Stir($subjects: [SubjectInput!]!) { interactives(subjects: $subjects) { id bizId likeCount } }`,
		"variables": map[string]any{"subjects": subjects},
	})
	return &garbageMaker{load.Post(nil, p.address, "/graphql", "", body)}
}

// Next implements load.Client.
func (s *garbageMaker) Next(buf []byte) []byte { return append(buf, s.request...) }

// Done implements load.Client.
func (s *garbageMaker) Done(status int, body []byte) error {
	if status != http.StatusOK || !bytes.HasPrefix(body, []byte(`{"data":{"interactives":[{"id":`)) {
		return fmt.Errorf("status %d with %.200s", status, body)
	}
	return nil
}

// crowd is the watchers of the watched subject.
type crowd struct {
	of       []*load.Watch
	receipts chan receipt
	over     chan struct{} // closed when nobody listens any more
	readers  sync.WaitGroup
	likes    []int64 // the latest count that each has received; -1 if none yet
}

// receipt is what one watcher received, and when.
type receipt struct {
	watcher int
	likes   int64
	at      time.Time
	err     error
}

// deliveryTimeout is how long a change may take to reach all watchers.
const deliveryTimeout = 30 * time.Second

// gather connects n watchers.
func gather(ctx context.Context, address string, n int) (*crowd, error) {
	c := &crowd{receipts: make(chan receipt, n), over: make(chan struct{}), likes: make([]int64, n)}
	for i := range n {
		one, err := load.Subscribe(ctx, address, []byte("{}"), watchPayload)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("watcher %d: %w", i, err), c.close())
		}
		c.of, c.likes[i] = append(c.of, one), -1
		c.readers.Go(func() { c.listen(i, one) })
	}
	return c, nil
}

// close closes all watchers and waits for their goroutines.
func (c *crowd) close() error {
	close(c.over)
	var err error
	for _, one := range c.of {
		err = errors.Join(err, one.Close())
	}
	c.readers.Wait()
	return err
}

// listen passes on what one watcher receives.
func (c *crowd) listen(who int, one *load.Watch) {
	for {
		text, err := one.Next()
		heard := receipt{watcher: who, at: time.Now(), err: err}
		if err == nil {
			heard.likes, heard.err = likesIn(text)
		}
		select {
		case c.receipts <- heard:
		case <-c.over:
			return
		}
		if heard.err != nil {
			return
		}
	}
}

// likesIn returns the number of likes in an event. It is the last member.
func likesIn(text []byte) (int64, error) {
	_, after, found := bytes.Cut(text, []byte(`"likeCount":`))
	likes, err := strconv.ParseInt(string(bytes.TrimRight(after, "}")), 10, 64)
	if !found || err != nil || !bytes.Contains(text, []byte(`"freshness":"LIVE"`)) {
		return 0, fmt.Errorf("it received %.200s", text)
	}
	return likes, nil
}

// await waits until all watchers have received the given number of likes, and returns
// when each first did. None may receive a greater number, or a lower one than before.
func (c *crowd) await(ctx context.Context, likes int64) ([]time.Time, error) {
	late := time.NewTimer(deliveryTimeout)
	defer late.Stop()
	at := make([]time.Time, 0, len(c.of))
	for len(at) < len(c.of) {
		select {
		case heard := <-c.receipts:
			switch known := c.likes[heard.watcher]; {
			case heard.err != nil:
				return nil, fmt.Errorf("watcher %d: %w", heard.watcher, heard.err)
			case heard.likes > likes || heard.likes < known:
				return nil, fmt.Errorf("watcher %d received %d likes after %d, and %d were sent", heard.watcher, heard.likes, known, likes)
			case heard.likes == likes && known < likes:
				at = append(at, heard.at)
			}
			c.likes[heard.watcher] = heard.likes
		case <-late.C:
			return nil, fmt.Errorf("within %v, %d of %d watchers received %d likes", deliveryTimeout, len(at), len(c.of), likes)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return at, nil
}

// like likes the subject and waits until all watchers have received it. Times are
// microseconds since the like was sent.
func (c *crowd) like(ctx context.Context, b *bench, node *process, nth int) (*hdrhistogram.Histogram, error) {
	conn, err := load.Dial(ctx, node.address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	through := side{name: nodeName, process: node, people: b.people}
	request, _ := through.like(nil, nil, b.people.viewers+nth, bareLike, liveBiz, liveID)
	sent := time.Now()
	status, body, err := conn.Do(request)
	if err != nil || status != http.StatusOK || !through.isFirst(body) {
		return nil, fmt.Errorf("a like is answered by status %d with %.200s: %w", status, body, err)
	}
	known, err := c.await(ctx, int64(nth)+1)
	if err != nil {
		return nil, err
	}
	took := hdrhistogram.New(1, deliveryTimeout.Microseconds(), 3)
	for _, at := range known {
		_ = took.RecordValue(max(1, at.Sub(sent).Microseconds())) // it is within bounds
	}
	return took, nil
}
