package transport

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"ovation/api/codes"
	"ovation/api/rate"
)

// operation is a running operation of a socket. A subscription that waits for events
// has no goroutine (see Park).
type operation struct {
	s      *socket
	id     string
	ctx    context.Context
	cancel context.CancelFunc
	rec    *record
	ended  chan struct{} // closed when the operation has ended

	// Used only by the goroutine that executes the operation.
	responses graphql.ResponseHandler // of a subscription
	parking   parking
	sent      int
	refused   bool

	// Guarded by socket.mu.
	subscription bool
	completed    bool // the operation is complete for the client, or is about to be
}

// begin starts an operation.
func (s *socket) begin(said message) *closeReason {
	if s.ctx == nil {
		return &unauthorized
	}
	params, why := said.params()
	if why != nil {
		return why
	}
	s.mu.Lock()
	earlier := s.operations[said.id]
	if earlier != nil && !earlier.completed {
		s.mu.Unlock()
		return &closeReason{closeSubscriberExists, fmt.Sprintf("Subscriber for %s already exists", said.id)}
	}
	s.mu.Unlock()
	if earlier != nil {
		<-earlier.ended // its remaining messages must not be mistaken for those of the new operation
	}
	o := &operation{s: s, id: said.id, ended: make(chan struct{})}
	if !s.add(o) {
		response := failure(codes.LimitExceeded, fmt.Sprintf("this connection runs %d operations, the most allowed at the same time; complete one first", s.streams.opts.MaxPerSocket))
		s.send(typeError, o.id, response.Errors)
		return nil
	}
	go o.start(params) // finish waits for it
	return nil
}

// add registers an operation, unless there are too many.
func (s *socket) add(o *operation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.operations) >= s.streams.opts.MaxPerSocket {
		return false
	}
	ctx, cancel := context.WithCancel(s.ctx)
	measured := &recordContext{context.WithValue(ctx, parkingKey{}, &o.parking), s.rec}
	measured.begin()
	o.rec, o.ctx, o.cancel = &measured.record, graphql.StartOperationTrace(measured), cancel
	s.operations[o.id] = o
	s.running.Add(1)
	return true
}

// complete ends an operation at the client's request. An unknown id is not an error,
// because the client's message may cross the operation's last message.
func (s *socket) complete(id string) {
	s.mu.Lock()
	o := s.operations[id]
	if o != nil {
		o.completed = true
	}
	s.mu.Unlock()
	if o != nil {
		o.cancel()
	}
}

// start executes the operation.
func (o *operation) start(params *graphql.RawParams) {
	if o.prepare(params) {
		o.follow()
	} else {
		o.finish()
	}
}

// prepare executes a query or a mutation, or starts a subscription. It reports whether
// responses are still to come.
func (o *operation) prepare(params *graphql.RawParams) bool {
	defer recoverPanic(o.ctx, o.deliver)
	if wait := o.rec.payer.Take(rate.PerRequest); wait > 0 {
		o.rec.setOperation(nil, params)
		o.deliver(&graphql.Response{Errors: gqlerror.List{rate.Error(wait)}})
		return false
	}
	operation, errs := o.s.exec.CreateOperationContext(o.ctx, params)
	o.rec.setOperation(operation, params)
	switch {
	case errs != nil:
		o.deliver(&graphql.Response{Errors: errs})
	case operation.Operation.Operation != ast.Subscription:
		run(o.ctx, o.s.exec, operation, o.deliver)
	default:
		if refused := o.s.watches(o); refused != nil {
			o.deliver(failure(refused.code, refused.message))
			return false
		}
		o.responses, o.ctx = o.s.exec.DispatchOperation(o.ctx, operation)
		return true
	}
	return false
}

// watches reserves a subscription for an operation. When a socket ends, it cancels its
// subscriptions instead of waiting for them.
func (s *socket) watches(o *operation) *refusal {
	if refused := s.stream.subscribe(); refused != nil {
		return refused
	}
	o.rec.Metrics.inFlight.Dec()
	s.mu.Lock()
	defer s.mu.Unlock()
	o.subscription = true
	if s.stopped {
		o.cancel()
	}
	return nil
}

// follow sends the responses of a subscription. If no response is available, follow
// returns and is called again when there is one.
func (o *operation) follow() {
	if !o.sendNext() {
		o.finish()
	}
}

// sendNext sends all available responses. It reports whether more responses are to come.
// If so, the caller must not use the operation any more.
func (o *operation) sendNext() bool {
	defer recoverPanic(o.ctx, o.deliver)
	for {
		response := o.responses(o.ctx)
		switch {
		case response == parked:
			o.parking.await(func() { go o.follow() })
			return true
		case response == nil, !o.deliver(response), len(response.Data) == 0:
			return false
		}
	}
}

// deliver sends a response. It returns false if no more responses are to be sent.
func (o *operation) deliver(response *graphql.Response) bool {
	if o.ctx.Err() != nil {
		return false
	}
	if o.rec.code == "" && len(response.Errors) > 0 {
		o.rec.code = firstCode(response.Errors)
	}
	if len(response.Data) == 0 {
		o.refused = true
		if o.markCompleted() {
			o.s.send(typeError, o.id, coded(response.Errors))
		}
		return false
	}
	o.sent++
	if o.subscription { // set before the first response
		o.s.streams.metrics.responses.Inc()
	}
	return o.s.send(typeNext, o.id, response)
}

// markCompleted records that the operation is about to be complete for the client, which
// may then reuse the id. It returns false if the client has completed the operation
// itself.
func (o *operation) markCompleted() bool {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	before := o.completed
	o.completed = true
	return !before
}

// finish sends the complete message, unless the operation is complete for the client
// already, and frees the operation's resources.
func (o *operation) finish() {
	s := o.s
	defer s.running.Done()
	if !o.refused && o.ctx.Err() == nil && o.markCompleted() {
		s.send(typeComplete, o.id, nil)
	}
	o.cancel()
	if o.subscription {
		s.stream.unsubscribe()
		o.rec.Metrics.inFlight.Inc()
	}
	o.rec.end(o.ctx, slog.Int("responses", o.sent))
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.operations, o.id)
	close(o.ended)
}
