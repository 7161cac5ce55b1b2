package transport

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"

	"ovation/api/codes"
	"ovation/resolvers/persisted"
)

const (
	// MaxBodyBytes is the maximum length of a request's body.
	MaxBodyBytes = 1 << 20
	// maxJSONDepth is the maximum nesting of lists and objects in a body, and in the
	// variables and extensions of a URL.
	maxJSONDepth = 64
	// maxJSONValues is the maximum number of values in a body. A page of 100 subjects has
	// a few hundred.
	maxJSONValues = 10_000
	// maxPooledBytes is the maximum size of a buffer that is reused.
	maxPooledBytes = 64 << 10
)

// refusal is the response to a request that is not executed.
type refusal struct {
	status  int
	code    string
	message string
}

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status, codes.BadUserInput, fmt.Sprintf(format, args...)}
}

// writeTo writes the response. The client may retry after a second.
func (refused *refusal) writeTo(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", "1")
	WriteError(w, r, refused.status, refused.code, refused.message)
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func release(buffer *bytes.Buffer) {
	if buffer.Cap() <= maxPooledBytes {
		buffer.Reset()
		buffers.Put(buffer)
	}
}

// readPost parses the operation, or the batch, in the body of a POST.
func (h HTTP) readPost(w http.ResponseWriter, r *http.Request) (params *graphql.RawParams, batch []*graphql.RawParams, refused *refusal) {
	if refused := checkContentType(r.Header.Get("Content-Type")); refused != nil {
		return nil, nil, refused
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, nil, refuse(http.StatusUnsupportedMediaType, "compressed bodies are not supported: send it without a Content-Encoding")
	}
	if r.ContentLength > MaxBodyBytes {
		return nil, nil, tooLong()
	}
	body := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool holds nothing else
	defer release(body)
	if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, MaxBodyBytes)); err != nil {
		return nil, nil, readRefusal(err)
	}
	if text := bytes.TrimLeft(body.Bytes(), " \t\r\n"); h.MaxBatch > 0 && len(text) > 0 && text[0] == '[' {
		batch, refused = parseBatch(text, h.MaxBatch)
	} else {
		params, refused = parse(text)
	}
	if refused != nil {
		recordOf(r.Context()).payer.Charge(body.Len())
	}
	return params, batch, refused
}

func checkContentType(value string) *refusal {
	if value == mediaJSON { // the usual case
		return nil
	}
	media, parameters, err := mime.ParseMediaType(value)
	switch {
	case err != nil || media != mediaJSON:
		return refuse(http.StatusUnsupportedMediaType, "send the operation as JSON, with the header Content-Type: application/json")
	case !isUTF8(parameters):
		return refuse(http.StatusUnsupportedMediaType, "the body must be in UTF-8")
	}
	return nil
}

func tooLong() *refusal {
	return &refusal{
		http.StatusRequestEntityTooLarge, codes.LimitExceeded,
		fmt.Sprintf("the body is longer than %d bytes", MaxBodyBytes),
	}
}

func readRefusal(err error) *refusal {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLong()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return refuse(http.StatusRequestTimeout, "the body did not arrive in time")
	}
	return refuse(http.StatusBadRequest, "the body was cut off")
}

// parse parses the request object. There is no space before it.
func parse(text []byte) (*graphql.RawParams, *refusal) {
	switch {
	case len(text) == 0:
		return nil, refuse(http.StatusBadRequest, "the body is empty; send a JSON object with the member \"query\"")
	case text[0] == '[':
		return nil, refuse(http.StatusBadRequest, "batches are not supported: send one operation a request, or several fields in one operation")
	case text[0] != '{':
		return nil, refuse(http.StatusBadRequest, "the body must be a JSON object with the member \"query\"")
	}
	return members("the body", text)
}

// members parses a text that is the request object.
func members(what string, text []byte) (*graphql.RawParams, *refusal) {
	s := newScanner(what, text)
	params := s.request("")
	return params, s.done()
}

// request reads the request object. The suffix is the object's place, for the error about
// a missing query.
func (s *scanner) request(suffix string) *graphql.RawParams {
	params, query := new(graphql.RawParams), false
	var ids [len(persisted.IDMembers)]any
	s.members(func(name string) bool {
		switch name {
		case "query":
			query = s.peek() == '"'
			params.Query = s.stringOrNull(name)
		case "operationName":
			params.OperationName = s.stringOrNull(name)
		case "variables":
			params.Variables = s.objectOrNull(name, s.variable)
		case "extensions":
			params.Extensions = s.objectOrNull(name, s.value)
		default:
			i := slices.Index(persisted.IDMembers[:], name)
			if i >= 0 {
				ids[i] = s.value()
			}
			return i >= 0
		}
		return true
	})
	if params.Query == "" {
		s.identify(params, ids)
	}
	if !query && !persisted.Identified(params) {
		s.refusef(codes.BadUserInput, `"query" is missing%s`, suffix)
	}
	return params
}

// identify adds the id of the document to a request without a text. Beside a text, ids
// have no meaning.
func (s *scanner) identify(params *graphql.RawParams, ids [len(persisted.IDMembers)]any) {
	for i, id := range ids {
		switch id := id.(type) {
		case nil:
			continue
		case string:
			if id != "" {
				persisted.Identify(params, id)
				return
			}
		default:
			s.refusef(codes.BadUserInput, "%q must be a string", persisted.IDMembers[i])
		}
	}
}

// parseBatch parses a list of one to most request objects. The bounds of a body hold for
// all of them together.
func parseBatch(text []byte, most int) (batch []*graphql.RawParams, _ *refusal) {
	s := newScanner("the body", text)
	s.open('[')
	for more := s.peek() != ']'; more; more = s.more() {
		if s.peek() != '{' {
			s.value()
			s.refusef(codes.BadUserInput, "operation %d of the batch must be a JSON object with the member \"query\"", len(batch))
		}
		if len(batch) == most {
			s.refusef(codes.LimitExceeded, "the batch has more than %d operations; send the others in further requests", most)
		}
		if s.failed {
			break
		}
		batch = append(batch, s.request(fmt.Sprintf(" in operation %d of the batch", len(batch))))
	}
	if s.close(']'); len(batch) == 0 {
		s.refusef(codes.BadUserInput, "the batch is empty; send a JSON object with the member \"query\", or a list of them")
	}
	return batch, s.done()
}

// readGet parses the operation in the URL of a GET.
func readGet(r *http.Request) (*graphql.RawParams, *refusal) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "the query part of the URL is malformed")
	}
	for _, name := range append([]string{"query", "operationName", "variables", "extensions"}, persisted.IDMembers[:]...) {
		switch {
		case len(values[name]) > 1:
			return nil, refuse(http.StatusBadRequest, "%q is in the URL more than once", name)
		case !utf8.ValidString(values.Get(name)):
			return nil, refuse(http.StatusBadRequest, "%q is not valid UTF-8", name)
		}
	}
	params := &graphql.RawParams{Query: values.Get("query"), OperationName: values.Get("operationName")}
	for name, into := range map[string]*map[string]any{"variables": &params.Variables, "extensions": &params.Extensions} {
		if text := values.Get(name); text != "" {
			var refused *refusal
			if *into, refused = readObject(name, name, []byte(text)); refused != nil {
				return nil, refused
			}
		}
	}
	for _, name := range persisted.IDMembers {
		if id := values.Get(name); id != "" && params.Query == "" {
			persisted.Identify(params, id)
			break
		}
	}
	if params.Query == "" && !persisted.Identified(params) {
		return nil, refuse(http.StatusBadRequest, `"query" is missing`)
	}
	return params, nil
}

// readObject parses a text that is a JSON object or null.
func readObject(what, name string, text []byte) (map[string]any, *refusal) {
	s := newScanner(what, text)
	object := s.objectOrNull(name, s.value)
	return object, s.done()
}
