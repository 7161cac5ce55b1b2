package balance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"ovation/internal/outage"
)

const (
	// ProbeEvery is the interval at which a node is probed. To stop without losing a
	// request, a node must first report that it is not ready, and then serve for longer
	// than this interval.
	ProbeEvery   = 100 * time.Millisecond
	probeTimeout = 2 * time.Second // a node that takes longer to answer is silent
)

// errNoNode is returned if no node can receive a request.
var errNoNode = errors.New("no node is ready")

// Balancer is a handler that passes requests on to nodes. Call Close when it is no longer
// needed.
type Balancer struct {
	proxy     httputil.ReverseProxy
	transport *http.Transport
	probes    sync.WaitGroup
	ctx       context.Context // context of the probes
	stop      context.CancelFunc
	next      atomic.Uint64

	mu    sync.RWMutex
	nodes []*node
}

type node struct {
	host  string
	state atomic.Int32
}

// The states of a node.
const (
	unready int32 = iota // reports that it is not ready, or refuses connections
	silent               // the last probe timed out
	ready
)

// New returns a balancer without nodes; call Add to add them. The balancer logs how many
// requests it could not pass on.
func New(log *slog.Logger) *Balancer {
	ctx, stop := context.WithCancel(context.Background())
	b := &Balancer{
		// No proxy is used, because the nodes are on this machine. The balancer closes an
		// idle connection before the node does (after ReadTimeout, 15 s). Otherwise,
		// a request would be lost if it were sent while the node closes the connection.
		transport: &http.Transport{MaxIdleConnsPerHost: 1024, IdleConnTimeout: 2 * time.Second},
		ctx:       ctx, stop: stop,
	}
	refused := outage.New(log, "requests are not passed on", "requests are passed on again")
	b.proxy = httputil.ReverseProxy{
		Rewrite:       (*httputil.ProxyRequest).SetXForwarded, // Host is kept, because nodes compare origins with it
		Transport:     b,
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ModifyResponse: func(*http.Response) error {
			refused.Worked()
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			refused.Failed("path", r.URL.Path, "error", err)
			status := http.StatusBadGateway
			if errors.Is(err, errNoNode) {
				status = http.StatusServiceUnavailable
			}
			http.Error(w, err.Error(), status)
		},
	}
	return b
}

// Add adds a node, given by a URL such as http://127.0.0.1:8081. The node receives
// requests once it is ready. Nodes that have stopped need not be removed.
func (b *Balancer) Add(at string) error {
	parsed, err := url.Parse(at)
	if err != nil || parsed.Scheme != "http" || parsed.Host == "" {
		return fmt.Errorf("%q is not the URL of a node: write http://host:port", at)
	}
	n := &node{host: parsed.Host}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.nodes = append(b.nodes, n)
	b.probes.Go(func() { b.probe(n) })
	return nil
}

// Ready returns the number of nodes that are ready.
func (b *Balancer) Ready() int { return len(b.nodesIn(ready)) }

// Close ends the probes. Later requests reach no node. Close may be called more than
// once.
func (b *Balancer) Close() {
	b.stop()
	b.probes.Wait()
	b.transport.CloseIdleConnections()
}

// ServeHTTP passes a request on, without any timeout.
func (b *Balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w) // errors are ignored, because some writers have no deadlines
	_, _ = control.SetReadDeadline(time.Time{}), control.SetWriteDeadline(time.Time{})
	b.proxy.ServeHTTP(w, r)
}

// RoundTrip sends each request to the next of the ready nodes, in turn. If the node
// refuses the connection, RoundTrip tries the node after it. If no node is ready,
// RoundTrip tries the silent nodes, whose last probe timed out, in the same way. It
// returns errNoNode if no node is ready or silent.
func (b *Balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	err := errNoNode
	nodes, turn := b.nodesIn(ready), b.next.Add(1)
	if len(nodes) == 0 {
		nodes = b.nodesIn(silent)
	}
	for i := range nodes {
		n := nodes[(turn+uint64(i))%uint64(len(nodes))]
		try := r.WithContext(r.Context())
		try.URL = &url.URL{Scheme: "http", Host: n.host, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
		if r.Body != nil && r.Body != http.NoBody {
			try.Body = bodyOf(r)
		}
		var answer *http.Response
		if answer, err = b.transport.RoundTrip(try); err == nil {
			return answer, nil
		}
		var dial *net.OpError
		if !errors.As(err, &dial) || dial.Op != "dial" || r.Context().Err() != nil {
			break // a part of the request may have been sent
		}
		n.state.Store(unready) // until the next probe
	}
	return nil, err
}

// bodyOf returns the body of r for one attempt to send it. Closing the returned body does
// not close r.Body.
//
// If the length of the body is known, r.Body is not read beyond that length. The reason
// is that the transport reads once more after the last byte, to check that nothing
// follows. By then, the node may have begun to respond, and the server closes r.Body when
// a response begins. If the extra read reached r.Body, it would then fail, and the
// transport would cut off the response.
func bodyOf(r *http.Request) io.ReadCloser {
	if r.ContentLength < 0 {
		return io.NopCloser(r.Body)
	}
	return io.NopCloser(io.LimitReader(r.Body, r.ContentLength))
}

// nodesIn returns the nodes that are in the given state.
func (b *Balancer) nodesIn(state int32) (nodes []*node) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, n := range b.nodes {
		if n.state.Load() == state {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// probe polls a node until the balancer is closed, and records the state of the node.
func (b *Balancer) probe(n *node) {
	tick := time.NewTicker(ProbeEvery)
	defer tick.Stop()
	defer n.state.Store(unready)
	client := http.Client{Transport: b.transport, Timeout: probeTimeout}
	for b.ctx.Err() == nil {
		request := (&http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: n.host, Path: "/readyz"}}).WithContext(b.ctx)
		answer, err := client.Do(request)
		if err == nil {
			_, _ = io.Copy(io.Discard, answer.Body) // so that the connection can be reused
			_ = answer.Body.Close()
		}
		var timeout net.Error
		switch {
		case err == nil && answer.StatusCode == http.StatusOK:
			n.state.Store(ready)
		case errors.As(err, &timeout) && timeout.Timeout():
			n.state.CompareAndSwap(ready, silent) // a node that reported that it is not ready stays unready
		default:
			n.state.Store(unready)
		}
		select {
		case <-tick.C:
		case <-b.ctx.Done():
		}
	}
}
