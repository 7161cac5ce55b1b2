package transport

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// operation is one of a socket that goes on.
type operation struct {
	id     string
	cancel context.CancelFunc
	ended  chan struct{} // closed when nothing of it is left

	// Guarded by socket.mu.
	subscription bool
	settled      bool // the client has completed it, or is about to learn that it is over
}

// begin begins an operation.
func (s *socket) begin(said message) *ending {
	if s.ctx == nil {
		return &unauthorized
	}
	params, why := said.params()
	if why != nil {
		return why
	}
	s.mu.Lock()
	earlier := s.operations[said.id]
	if earlier != nil && !earlier.settled {
		s.mu.Unlock()
		return &ending{closeSubscriberExists, fmt.Sprintf("Subscriber for %s already exists", said.id)}
	}
	s.mu.Unlock()
	if earlier != nil {
		<-earlier.ended // what it still sends must not be taken for this one's
	}
	ctx, cancel := context.WithCancel(s.ctx)
	o := &operation{id: said.id, cancel: cancel, ended: make(chan struct{})}
	if !s.add(o) {
		cancel()
		response := failure(codeLimitExceeded, fmt.Sprintf("this connection has %d operations, which is the most at the same time", s.streams.opts.MaxPerSocket))
		s.send(func(out *bytes.Buffer) { errorsMessage(out, o.id, response.Errors) })
		return nil
	}
	rec := s.rec
	go s.operate(ctx, rec, o, params) // finish waits for it
	return nil
}

func (s *socket) add(o *operation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.operations) >= s.streams.opts.MaxPerSocket {
		return false
	}
	s.operations[o.id] = o
	s.running.Add(1)
	return true
}

// complete ends an operation that the client wants no more of. One that is over
// already, or never was, is no fault: messages may cross.
func (s *socket) complete(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.operations[id]; o != nil {
		o.settled = true
		o.cancel()
	}
}

// settle notes that the client is about to learn that an operation is over, and
// may use its id again. It returns false where the client does not want to
// know.
func (s *socket) settle(o *operation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	settled := o.settled
	o.settled = true
	return !settled
}

// operate executes an operation and sends what comes of it. Its context does not
// bound the sending: a write that is cut short would end the connection.
//
//nolint:contextcheck // as just said
func (s *socket) operate(ctx context.Context, rec record, o *operation, params *graphql.RawParams) {
	defer s.running.Done()
	defer s.remove(o)
	ctx, own := begin(graphql.StartOperationTrace(ctx), rec)
	sent := 0
	defer func() { own.end(ctx, slog.Int("responses", sent)) }()
	refused := false
	s.execute(ctx, o, params, func(response *graphql.Response) bool {
		if ctx.Err() != nil {
			return false
		}
		if own.code == "" && len(response.Errors) > 0 {
			own.code = firstCode(response.Errors)
		}
		if len(response.Data) == 0 {
			refused = true
			return s.settle(o) && s.send(func(out *bytes.Buffer) { errorsMessage(out, o.id, coded(response.Errors)) })
		}
		sent++
		if o.subscription { // which it knows by now
			s.streams.metrics.sent()
		}
		return s.send(func(out *bytes.Buffer) { nextMessage(out, o.id, response) })
	})
	if !refused && ctx.Err() == nil && s.settle(o) {
		s.send(func(out *bytes.Buffer) { emptyMessage(out, typeComplete, o.id) })
	}
}

func (s *socket) remove(o *operation) {
	o.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.operations, o.id)
	close(o.ended)
}

// execute gives the responses of an operation.
func (s *socket) execute(ctx context.Context, o *operation, params *graphql.RawParams, give func(*graphql.Response) bool) {
	defer rescue(ctx, give)
	own := recordOf(ctx)
	operation, errs := s.exec.CreateOperationContext(ctx, params)
	own.see(operation, params)
	if errs != nil {
		give(&graphql.Response{Errors: errs})
		return
	}
	if operation.Operation.Operation == ast.Subscription {
		if !s.streams.subscribe() {
			give(tooManySubscriptions())
			return
		}
		defer s.streams.unsubscribe()
		own.metrics.watching(1)
		defer own.metrics.watching(-1)
		if !s.watches(o) {
			return
		}
	}
	run(ctx, s.exec, operation, give)
}

// watches notes that an operation is a subscription, which is not waited for
// when the server stops. It returns false where that is so already.
func (s *socket) watches(o *operation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.subscription = true
	return !s.over
}
