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

func (h HTTP) takesEvents(r *http.Request) bool {
	return h.Streams != nil && r.Method != http.MethodHead && namesEvents(r.Header)
}

// stream answers with an event stream, or with an error's status where there is
// no room for it. What is wrong with the operation is an event: a browser shows
// its page nothing of an answer with an error's status.
func (h HTTP) stream(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor, operation *graphql.OperationContext, errs gqlerror.List) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	rec := recordOf(ctx)
	entered, refused := h.Streams.begin(kindEvents, rec.User, rec.client.Address, func(ending) { cancel() })
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
	out := &eventStream{w: w, control: http.NewResponseController(w), patience: h.Streams.opts.WriteTimeout}
	out.open()
	switch {
	case errs != nil:
		out.last(rec, &graphql.Response{Errors: coded(errs)})
	case watches:
		h.follow(ctx, exec, operation, out)
	default:
		run(ctx, exec, operation, func(response *graphql.Response) bool { return out.last(rec, response) })
	}
}

// follow sends the events of a subscription, and comments while there are
// none. A stream that the server ends is not complete: its client comes back.
func (h HTTP) follow(ctx context.Context, exec graphql.GraphExecutor, operation *graphql.OperationContext, out *eventStream) {
	rec := recordOf(ctx)
	rec.metrics.watching(1)
	defer rec.metrics.watching(-1)
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

// eventStream is an answer that is a stream of events. It is safe for
// concurrent use.
type eventStream struct {
	mu       sync.Mutex
	w        http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
}

// open sends the headers.
func (s *eventStream) open() {
	header := s.w.Header()
	header.Set("Content-Type", mediaEvents+"; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // nginx would keep events back
	header.Set("X-Content-Type-Options", "nosniff")
	_ = s.control.SetReadDeadline(time.Time{}) // of the request, which has been read; a writer without deadlines is as good
	s.w.WriteHeader(http.StatusOK)
	s.write([]byte(":\n\n")) // a comment, so that the client knows it is heard
}

// next sends a response. It returns false where the client is gone.
func (s *eventStream) next(rec *record, response *graphql.Response) bool {
	if len(response.Errors) > 0 && rec.code == "" {
		rec.code = firstCode(response.Errors)
	}
	text := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool holds nothing else
	defer release(text)
	text.WriteString("event: next\ndata: ")
	encode(text, response) // on one line, as JSON is
	text.WriteString("\n\n")
	return s.write(text.Bytes())
}

// complete sends that there are no more responses. Browsers pass over an event
// without data.
func (s *eventStream) complete() bool { return s.write([]byte("event: complete\ndata:\n\n")) }

// last sends the only response.
func (s *eventStream) last(rec *record, response *graphql.Response) bool {
	return s.next(rec, response) && s.complete()
}

func (s *eventStream) write(text []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.control.SetWriteDeadline(time.Now().Add(s.patience)) // a writer without deadlines is as good
	_, err := s.w.Write(text)
	if err == nil {
		err = s.control.Flush()
	}
	return err == nil
}
