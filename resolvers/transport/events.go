package transport

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

func (h HTTP) acceptsEvents(r *http.Request) bool {
	return h.Streams != nil && r.Method != http.MethodHead && namesEvents(r.Header)
}

// stream answers with an event stream, or with an error status if there are too many
// streams. An invalid operation is reported by an event, because browsers hide the body
// of responses with an error status from the page.
func (h HTTP) stream(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor, operation *graphql.OperationContext, errs gqlerror.List) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	rec := recordOf(ctx)
	entered, refused := h.Streams.begin(kindEvents, rec.User, rec.client.Address, func(closeReason) { cancel() })
	if refused != nil {
		refused.writeTo(w, r)
		return
	}
	defer entered.end()
	watches := errs == nil && operation.Operation.Operation == ast.Subscription
	if watches {
		if refused := entered.subscribe(); refused != nil {
			refused.writeTo(w, r)
			return
		}
		defer entered.unsubscribe()
	}
	defer rec.OnRevoked(cancel)()
	if !rec.Until.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, rec.Until)
		defer cancel()
	}
	out := &eventStream{w: w, control: http.NewResponseController(w), writeTimeout: h.Streams.opts.WriteTimeout}
	out.open()
	defer out.extendDeadline() // net/http writes the end of the body
	switch {
	case errs != nil:
		out.last(rec, &graphql.Response{Errors: coded(errs)})
	case watches:
		h.follow(ctx, exec, operation, out)
	default:
		run(ctx, exec, operation, func(response *graphql.Response) bool { return out.last(rec, response) })
	}
}

// follow sends a subscription's events, with keep-alive comments in between. If the
// server ends the stream, it sends no complete event, so that the client reconnects.
func (h HTTP) follow(ctx context.Context, exec graphql.GraphExecutor, operation *graphql.OperationContext, out *eventStream) {
	rec := recordOf(ctx)
	rec.Metrics.inFlight.Dec()
	defer rec.Metrics.inFlight.Inc()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx, exec, operation, func(response *graphql.Response) bool {
			h.Streams.metrics.responses.Inc()
			return out.next(rec, response)
		})
		if ctx.Err() == nil {
			out.complete()
		}
	}()
	defer func() {
		cancel()
		<-ended
	}()
	quiet := time.NewTicker(h.Streams.pause())
	defer quiet.Stop()
	for {
		select {
		case <-ended:
			return
		case <-quiet.C:
			if !out.write([]byte(":\n\n")) {
				return
			}
		}
	}
}

// eventStream is a response that streams events. It is safe for concurrent use.
type eventStream struct {
	mu           sync.Mutex
	w            http.ResponseWriter
	control      *http.ResponseController
	writeTimeout time.Duration
}

// open sends the headers.
func (s *eventStream) open() {
	header := s.w.Header()
	header.Set("Content-Type", mediaEvents+"; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // otherwise nginx would buffer events
	header.Set("X-Content-Type-Options", "nosniff")
	_ = s.control.SetReadDeadline(time.Time{}) // the request has been read; a writer without deadlines is accepted
	s.w.WriteHeader(http.StatusOK)
	s.write([]byte(":\n\n")) // a comment, which shows the client immediately that the stream is open
}

// next sends a response. It returns false if the client has disconnected.
func (s *eventStream) next(rec *record, response *graphql.Response) bool {
	if len(response.Errors) > 0 && rec.code == "" {
		rec.code = firstCode(response.Errors)
	}
	text := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool holds nothing else
	defer release(text)
	text.WriteString("event: next\ndata: ")
	encode(text, response) // JSON on one line
	text.WriteString("\n\n")
	return s.write(text.Bytes())
}

// complete announces the end of the stream. Browsers ignore events without data.
func (s *eventStream) complete() bool { return s.write([]byte("event: complete\ndata:\n\n")) }

// last sends the only response of a stream and completes the stream.
func (s *eventStream) last(rec *record, response *graphql.Response) bool {
	return s.next(rec, response) && s.complete()
}

// extendDeadline gives the next write, which may come long after the one before, its time.
func (s *eventStream) extendDeadline() {
	_ = s.control.SetWriteDeadline(time.Now().Add(s.writeTimeout)) // a writer without deadlines is fine
}

func (s *eventStream) write(text []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.extendDeadline()
	_, err := s.w.Write(text)
	if err == nil {
		err = s.control.Flush()
	}
	return err == nil
}
