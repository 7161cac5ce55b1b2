package transport

import (
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// HTTP answers an operation with one response, as the GraphQL over HTTP
// specification says: POST with a JSON body, and GET for queries. It takes
// every request, so that none is left without a GraphQL answer: add it after
// all other transports.
type HTTP struct{}

var _ graphql.Transport = HTTP{}

// Supports is true.
func (HTTP) Supports(*http.Request) bool { return true }

// Do answers a request.
func (HTTP) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	defer answerPanic(w, r)
	params, refused := read(w, r)
	if refused != nil {
		WriteError(w, r, refused.status, refused.code, refused.message)
		return
	}
	operation, errs := exec.CreateOperationContext(r.Context(), params)
	recordOf(r.Context()).see(operation, params)
	if errs != nil {
		// Not by way of exec.DispatchError: what goes around responses would
		// take the operation for one that is executed.
		respondWithout(w, r, &graphql.Response{Errors: coded(errs)})
		return
	}
	switch kind := operation.Operation.Operation; {
	case kind == ast.Subscription:
		WriteError(w, r, http.StatusBadRequest, codeBadUserInput,
			"subscriptions are not answered by a plain request: use a WebSocket (graphql-transport-ws) or Server-Sent Events (Accept: text/event-stream)")
		return
	case kind == ast.Mutation && r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		WriteError(w, r, http.StatusMethodNotAllowed, codeBadUserInput, "mutations need POST")
		return
	}
	responses, ctx := exec.DispatchOperation(r.Context(), operation)
	switch response := responses(ctx); {
	case response == nil:
		// The executor has nothing to say once the context has ended: the
		// client is gone, or the time for the request is up.
		WriteError(w, r, http.StatusServiceUnavailable, codeUnavailable, "the request was given up before it was answered")
	case len(response.Data) == 0:
		response.Errors = coded(response.Errors)
		respondWithout(w, r, response)
	default:
		respond(w, r, http.StatusOK, response)
	}
}

// read reads the operation that a request asks for.
func read(w http.ResponseWriter, r *http.Request) (*graphql.RawParams, *refusal) {
	_, accepted := negotiate(r.Header)
	get := r.Method == http.MethodGet || r.Method == http.MethodHead
	if !get && r.Method != http.MethodPost {
		w.Header().Set("Allow", "GET, HEAD, POST")
		return nil, refuse(http.StatusMethodNotAllowed, "send operations by POST, or queries by GET")
	}
	if !accepted {
		return nil, refuse(http.StatusNotAcceptable, "the answer comes as %s or %s; the Accept header takes neither", mediaGraphQL, mediaJSON)
	}
	start := graphql.Now()
	var params *graphql.RawParams
	var refused *refusal
	if get {
		params, refused = readGet(r)
	} else {
		params, refused = readPost(w, r)
	}
	if refused != nil {
		return nil, refused
	}
	params.Headers = r.Header
	params.ReadTime = graphql.TraceTiming{Start: start, End: graphql.Now()}
	return params, nil
}

// respondWithout answers a request of which nothing was executed.
func respondWithout(w http.ResponseWriter, r *http.Request, response *graphql.Response) {
	if len(response.Errors) == 0 {
		response.Errors = gqlerror.List{{Message: "there is no answer", Extensions: map[string]any{"code": codeInternal}}}
	}
	media, _ := negotiate(r.Header)
	respond(w, r, statusOf(firstCode(response.Errors), media), response)
}
