package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"

	"ovation/resolvers/persisted"
)

const (
	// MaxBodyBytes is the longest body of a request.
	MaxBodyBytes = 1 << 20
	// maxJSONDepth is how deep lists and objects may nest in a body, and in
	// the variables and extensions of a URL.
	maxJSONDepth = 64
	// maxJSONValues is how many values there may be. A page of 100 subjects
	// has some hundred.
	maxJSONValues = 10_000
	// keptBytes is the longest buffer that is kept for the next request.
	keptBytes = 64 << 10
)

// refusal is an answer to a request that is not executed.
type refusal struct {
	status  int
	code    string
	message string
}

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status, codeBadUserInput, fmt.Sprintf(format, args...)}
}

// writeTo answers a request that may be sent again in a second.
func (refused *refusal) writeTo(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", "1")
	WriteError(w, r, refused.status, refused.code, refused.message)
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func release(buffer *bytes.Buffer) {
	if buffer.Cap() <= keptBytes {
		buffer.Reset()
		buffers.Put(buffer)
	}
}

// readPost reads the operation from the body of a POST.
func readPost(w http.ResponseWriter, r *http.Request) (*graphql.RawParams, *refusal) {
	if refused := checkContentType(r.Header.Get("Content-Type")); refused != nil {
		return nil, refused
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, refuse(http.StatusUnsupportedMediaType, "the body must be sent as it is, without a Content-Encoding")
	}
	if r.ContentLength > MaxBodyBytes {
		return nil, tooLong()
	}
	body := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool holds nothing else
	defer release(body)
	if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, MaxBodyBytes)); err != nil {
		return nil, unread(err)
	}
	params, refused := parse(body.Bytes())
	if refused != nil {
		recordOf(r.Context()).payer.Charge(body.Len())
	}
	return params, refused
}

func checkContentType(value string) *refusal {
	if value == mediaJSON { // as most clients send it
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
		http.StatusRequestEntityTooLarge, codeLimitExceeded,
		fmt.Sprintf("the body is longer than %d bytes", MaxBodyBytes),
	}
}

func unread(err error) *refusal {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLong()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return refuse(http.StatusRequestTimeout, "the body did not arrive in time")
	}
	return refuse(http.StatusBadRequest, "the body did not arrive whole")
}

func parse(body []byte) (*graphql.RawParams, *refusal) {
	text := bytes.TrimLeft(body, " \t\r\n")
	switch {
	case len(text) == 0:
		return nil, refuse(http.StatusBadRequest, "the body is empty; send a JSON object with the member \"query\"")
	case text[0] == '[':
		return nil, refuse(http.StatusBadRequest, "batches are not supported: send one operation a request, or several fields in one operation")
	case text[0] != '{':
		return nil, refuse(http.StatusBadRequest, "the body must be a JSON object with the member \"query\"")
	}
	return members("the body", body)
}

// members reads the members of the object that asks for an operation. The text
// begins with a brace.
func members(what string, text []byte) (*graphql.RawParams, *refusal) {
	if params := scan(text); params != nil {
		return params, nil
	}
	return decodeMembers(what, text)
}

// decodeMembers is members for whatever scan leaves to it.
func decodeMembers(what string, text []byte) (*graphql.RawParams, *refusal) {
	if refused := bounded(what, text); refused != nil {
		return nil, refused
	}
	var query *string
	var params graphql.RawParams
	refused := object(what, text, map[string]any{
		"query": &query, "operationName": &params.OperationName, "variables": &params.Variables, "extensions": &params.Extensions,
	})
	switch {
	case refused != nil:
		return nil, refused
	case query != nil:
		params.Query = *query
	case !namesDocument(&params):
		return nil, refuse(http.StatusBadRequest, `"query" is missing`)
	}
	return &params, nil
}

// namesDocument reports whether a request names its document by a hash, and so
// may come without its text.
func namesDocument(params *graphql.RawParams) bool {
	_, has := params.Extensions[persisted.Extension]
	return has
}

// object reads those members of an object that are named, each into its place.
// Names are exact, as JSON has it; other members are passed over.
func object(what string, text []byte, into map[string]any) *refusal {
	decoder := newDecoder(text)
	_, err := decoder.Token() // the brace
	for err == nil && decoder.More() {
		var name json.Token
		if name, err = decoder.Token(); err != nil {
			break
		}
		key, _ := name.(string)
		target, ours := into[key]
		switch {
		case !ours:
			target = new(json.RawMessage)
		case target == nil:
			return refuse(http.StatusBadRequest, "%q is in %s more than once", key, what)
		default:
			into[key] = nil
		}
		if err = decoder.Decode(target); err != nil && ours {
			return undecoded(what, key, err)
		}
	}
	if err == nil {
		_, err = decoder.Token() // the other brace
	}
	if err != nil {
		return undecoded(what, "", err)
	}
	return ended(what, decoder)
}

// readGet reads the operation from the URL of a GET.
func readGet(r *http.Request) (*graphql.RawParams, *refusal) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "the query part of the URL is malformed")
	}
	for _, name := range []string{"query", "operationName", "variables", "extensions"} {
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
			if refused := decode(name, []byte(text), into); refused != nil {
				return nil, refused
			}
		}
	}
	if params.Query == "" && !namesDocument(params) {
		return nil, refuse(http.StatusBadRequest, `"query" is missing`)
	}
	return params, nil
}

// decode reads one JSON value and nothing after it. What is wrong with it is
// told without a word of the text itself.
func decode(what string, text []byte, into any) *refusal {
	if refused := bounded(what, text); refused != nil {
		return refused
	}
	decoder := newDecoder(text)
	if err := decoder.Decode(into); err != nil {
		return undecoded(what, what, err)
	}
	return ended(what, decoder)
}

func newDecoder(text []byte) *json.Decoder {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // a float64 would lose digits of large integers
	return decoder
}

func ended(what string, decoder *json.Decoder) *refusal {
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return refuse(http.StatusBadRequest, "%s goes on after the JSON has ended, at byte %d", what, decoder.InputOffset())
	}
	return nil
}

// undecoded tells what is wrong with a member, or with the text around them
// where member is empty.
func undecoded(what, member string, err error) *refusal {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return refuse(http.StatusBadRequest, "%s is not valid JSON: %s, at byte %d", what, syntax.Error(), syntax.Offset)
	}
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		switch member {
		case "query", "operationName", "type", "id":
			return refuse(http.StatusBadRequest, "%q must be a string", member)
		case "variables", "extensions":
			return refuse(http.StatusBadRequest, "%q must be an object or null", member)
		}
	}
	return refuse(http.StatusBadRequest, "%s is not valid JSON: it ends too early", what)
}

// bounded refuses text whose decoding could take much more memory than the
// text itself: every list, object and entry costs some hundred bytes.
func bounded(what string, text []byte) *refusal {
	if !utf8.Valid(text) {
		return refuse(http.StatusBadRequest, "%s is not valid UTF-8", what)
	}
	depth, values := measure(text)
	switch {
	case depth > maxJSONDepth:
		return &refusal{
			http.StatusBadRequest, codeLimitExceeded,
			fmt.Sprintf("%s nests lists and objects %d levels deep; at most %d are allowed", what, depth, maxJSONDepth),
		}
	case values > maxJSONValues:
		return &refusal{
			http.StatusBadRequest, codeLimitExceeded,
			fmt.Sprintf("%s holds more than %d values", what, maxJSONValues),
		}
	}
	return nil
}

// measure returns how deep lists and objects nest and about how many values
// there are. It need not be right about text that is not JSON.
func measure(text []byte) (deepest, values int) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
			values++
		case c == '}' || c == ']':
			depth--
		case c == ',':
			values++
		}
	}
	return deepest, values
}
