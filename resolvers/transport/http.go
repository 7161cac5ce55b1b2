package transport

import (
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/api/codes"
)

// HTTP answers an operation with one response, as specified by GraphQL over HTTP: POST
// with a JSON body, and GET for queries. If the client accepts text/event-stream, a
// subscription is answered by a stream of events (the distinct connections mode of
// graphql-sse). Other operations are answered by a stream only if the client accepts
// nothing else. A POST of a JSON array is a batch, which is answered by the array of its
// responses.
//
// HTTP supports every request, so that every request gets a GraphQL response. Add it
// after all other transports.
type HTTP struct {
	// Streams limits event streams. If it is nil, there are none.
	Streams *Streams
	// MaxBatch is the maximum number of operations in a batch. If it is 0, batches are
	// refused.
	MaxBatch int
}

var _ graphql.Transport = HTTP{}

// Supports returns true.
func (HTTP) Supports(*http.Request) bool { return true }

// Do answers a request.
func (h HTTP) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	defer answerPanic(w, r)
	params, batch, refused := h.read(w, r)
	switch {
	case refused != nil:
		WriteError(w, r, refused.status, refused.code, refused.message)
		return
	case batch != nil:
		h.answerBatch(w, r, exec, batch)
		return
	}
	operation, errs := exec.CreateOperationContext(r.Context(), params)
	recordOf(r.Context()).setOperation(operation, params)
	_, plain := negotiate(r.Header)
	subscription := errs == nil && operation.Operation.Operation == ast.Subscription
	mutation := errs == nil && operation.Operation.Operation == ast.Mutation
	switch {
	case mutation && r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		WriteError(w, r, http.StatusMethodNotAllowed, codes.BadUserInput, "mutations must be sent by POST")
	case errs != nil && firstCode(errs) == codes.RateLimited:
		respondWithout(w, r, &graphql.Response{Errors: errs}) // also for an event stream, as none has begun
	case (subscription || !plain) && h.acceptsEvents(r):
		h.stream(w, r, exec, operation, errs)
	case errs != nil:
		// Do not use exec.DispatchError: the middleware would treat the operation as
		// executed.
		respondWithout(w, r, &graphql.Response{Errors: coded(errs)})
	case subscription:
		WriteError(w, r, http.StatusBadRequest, codes.BadUserInput,
			"subscriptions need a WebSocket (graphql-transport-ws) or Server-Sent Events (Accept: text/event-stream)")
	default:
		run(r.Context(), exec, operation, func(response *graphql.Response) bool {
			if len(response.Data) == 0 {
				response.Errors = coded(response.Errors)
				respondWithout(w, r, response)
			} else {
				respond(w, r, http.StatusOK, response)
			}
			return true
		})
	}
}

// read parses the operation of a request, or the operations of a batch.
func (h HTTP) read(w http.ResponseWriter, r *http.Request) (params *graphql.RawParams, batch []*graphql.RawParams, refused *refusal) {
	_, accepted := negotiate(r.Header)
	accepted = accepted || h.acceptsEvents(r)
	get := r.Method == http.MethodGet || r.Method == http.MethodHead
	if !get && r.Method != http.MethodPost {
		w.Header().Set("Allow", "GET, HEAD, POST")
		return nil, nil, refuse(http.StatusMethodNotAllowed, "send operations by POST, or queries by GET")
	}
	if !accepted {
		return nil, nil, refuse(http.StatusNotAcceptable, "the Accept header allows none of the media types of a response: %s, %s, %s", mediaGraphQL, mediaJSON, mediaEvents)
	}
	start := graphql.Now()
	if get {
		params, refused = readGet(r)
	} else {
		params, batch, refused = h.readPost(w, r)
	}
	if refused != nil {
		return nil, nil, refused
	}
	if params != nil {
		params.Headers = r.Header
		params.ReadTime = graphql.TraceTiming{Start: start, End: graphql.Now()}
	}
	return params, batch, nil
}

// respondWithout answers a request for which nothing was executed.
func respondWithout(w http.ResponseWriter, r *http.Request, response *graphql.Response) {
	if len(response.Errors) == 0 {
		response = failure(codes.Internal, "the server has no response to this request")
	}
	media, _ := negotiate(r.Header)
	respond(w, r, statusOf(firstCode(response.Errors), media), response)
}
