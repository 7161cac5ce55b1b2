package transport

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"ovation/resolvers/rate"
)

// operation is one of a socket that goes on. While a subscription has nothing to
// tell, it has no goroutine (see Park).
type operation struct {
	s      *socket
	id     string
	ctx    context.Context
	cancel context.CancelFunc
	rec    *record
	ended  chan struct{} // closed when nothing of it is left

	// Of the goroutine that executes it.
	responses graphql.ResponseHandler // of a subscription
	parking   parking
	sent      int
	refused   bool

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
	o := &operation{s: s, id: said.id, ended: make(chan struct{})}
	if !s.add(o) {
		response := failure(codeLimitExceeded, fmt.Sprintf("this connection has %d operations, which is the most at the same time", s.streams.opts.MaxPerSocket))
		s.send(func(out *bytes.Buffer) { errorsMessage(out, o.id, response.Errors) })
		return nil
	}
	go o.start(params) // finish waits for it
	return nil
}

// add makes room for an operation, unless there is none.
func (s *socket) add(o *operation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.operations) >= s.streams.opts.MaxPerSocket {
		return false
	}
	ctx, cancel := context.WithCancel(s.ctx)
	measured := &recorded{context.WithValue(ctx, parkingKey{}, &o.parking), s.rec}
	measured.begin()
	o.rec, o.ctx, o.cancel = &measured.record, graphql.StartOperationTrace(measured), cancel
	s.operations[o.id] = o
	s.running.Add(1)
	return true
}

// complete ends an operation that the client wants no more of. One that is over
// already, or never was, is no fault: messages may cross.
func (s *socket) complete(id string) {
	s.mu.Lock()
	o := s.operations[id]
	if o != nil {
		o.settled = true
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

// prepare executes a query or a mutation, and begins a subscription. It returns
// whether there is more to come.
func (o *operation) prepare(params *graphql.RawParams) bool {
	defer rescue(o.ctx, o.give)
	if wait := o.rec.payer.Take(rate.PerRequest); wait > 0 {
		o.rec.see(nil, params)
		o.give(&graphql.Response{Errors: gqlerror.List{rate.Error(wait)}})
		return false
	}
	operation, errs := o.s.exec.CreateOperationContext(o.ctx, params)
	o.rec.see(operation, params)
	switch {
	case errs != nil:
		o.give(&graphql.Response{Errors: errs})
	case operation.Operation.Operation != ast.Subscription:
		run(o.ctx, o.s.exec, operation, o.give)
	default:
		if refused := o.s.watches(o); refused != nil {
			o.give(failure(refused.code, refused.message))
			return false
		}
		o.responses, o.ctx = o.s.exec.DispatchOperation(o.ctx, operation)
		return true
	}
	return false
}

// watches makes room for a subscription, unless there is none. It is not waited
// for when the server stops.
func (s *socket) watches(o *operation) *refusal {
	if refused := s.stream.subscribe(); refused != nil {
		return refused
	}
	o.rec.metrics.watching(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	o.subscription = true
	if s.over {
		o.cancel()
	}
	return nil
}

// follow sends the responses of a subscription. When there is none for now it
// leaves, to be called again.
func (o *operation) follow() {
	if !o.tell() {
		o.finish()
	}
}

// tell sends what there is to send. It returns whether more is to come; then
// nothing here may touch the operation any more.
func (o *operation) tell() bool {
	defer rescue(o.ctx, o.give)
	for {
		response := o.responses(o.ctx)
		switch {
		case response == parked:
			o.parking.await(func() { go o.follow() })
			return true
		case response == nil, !o.give(response), len(response.Data) == 0:
			return false
		}
	}
}

// give sends a response. It returns false where no other is wanted.
func (o *operation) give(response *graphql.Response) bool {
	if o.ctx.Err() != nil {
		return false
	}
	if o.rec.code == "" && len(response.Errors) > 0 {
		o.rec.code = firstCode(response.Errors)
	}
	if len(response.Data) == 0 {
		o.refused = true
		if o.settle() {
			o.s.send(func(out *bytes.Buffer) { errorsMessage(out, o.id, coded(response.Errors)) })
		}
		return false
	}
	o.sent++
	if o.subscription { // which it knows by now
		o.s.streams.metrics.responses.Inc()
	}
	return o.s.send(func(out *bytes.Buffer) { nextMessage(out, o.id, response) })
}

// settle notes that the client is about to learn that the operation is over, and
// may use its id again. It returns false where the client does not want to
// know.
func (o *operation) settle() bool {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	settled := o.settled
	o.settled = true
	return !settled
}

// finish tells the client that the operation is complete, if it is to know, and
// leaves nothing of it.
func (o *operation) finish() {
	s := o.s
	defer s.running.Done()
	if !o.refused && o.ctx.Err() == nil && o.settle() {
		s.send(func(out *bytes.Buffer) { emptyMessage(out, typeComplete, o.id) })
	}
	o.cancel()
	if o.subscription {
		s.stream.unsubscribe()
		o.rec.metrics.watching(-1)
	}
	o.rec.end(o.ctx, slog.Int("responses", o.sent))
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.operations, o.id)
	close(o.ended)
}
