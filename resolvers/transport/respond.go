package transport

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"ovation/resolvers/persisted"
	"ovation/resolvers/rate"
)

// How many errors of one document are told, and how much of each: they repeat
// parts of the document, which is the client's to choose.
const (
	maxRequestErrors = 20
	maxMessageBytes  = 500
)

// The values of headers, which every response shares. Nobody changes them.
var (
	headerJSON    = []string{mediaJSON + "; charset=utf-8"}
	headerGraphQL = []string{mediaGraphQL + "; charset=utf-8"}
	headerNoStore = []string{"no-store"}
	headerNoSniff = []string{"nosniff"}
)

// WriteError answers a request with one GraphQL error and no data. The media
// type is the one the client accepts, application/json where it accepts none.
func WriteError(w http.ResponseWriter, r *http.Request, status int, code, message string) {
	respond(w, r, status, failure(code, message))
}

// failure is a response that says why there is no other.
func failure(code, message string) *graphql.Response {
	extensions := map[string]any{"code": code}
	if code == codeRateLimited {
		extensions = rate.Extensions(time.Second)
	}
	return &graphql.Response{Errors: gqlerror.List{{Message: message, Extensions: extensions}}}
}

// respond answers a request with a response.
func respond(w http.ResponseWriter, r *http.Request, status int, response *graphql.Response) {
	recordOf(r.Context()).code = firstCode(response.Errors)
	body := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool holds nothing else
	defer release(body)
	encode(body, response)

	media, accepted := negotiate(r.Header)
	header := w.Header()
	if header["Content-Type"] = headerJSON; accepted && media == mediaGraphQL {
		header["Content-Type"] = headerGraphQL
	}
	header["Content-Length"] = []string{strconv.Itoa(body.Len())}
	header["Cache-Control"] = headerNoStore
	header["X-Content-Type-Options"] = headerNoSniff
	if status == http.StatusTooManyRequests {
		header["Retry-After"] = []string{strconv.Itoa(rate.RetryAfter(response.Errors[0]))}
	}
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // the client may be gone
}

// encode writes a response as JSON. Data goes out as it is: the executor has
// encoded it, and encoding it once more would read through all of it for
// nothing.
func encode(body *bytes.Buffer, response *graphql.Response) {
	body.WriteByte('{')
	if len(response.Errors) > 0 {
		member(body, "errors", response.Errors)
	}
	if len(response.Data) > 0 {
		separate(body)
		body.WriteString(`"data":`)
		body.Write(response.Data)
	}
	if len(response.Extensions) > 0 {
		member(body, "extensions", response.Extensions)
	}
	body.WriteByte('}')
}

// separate writes a comma, but at the beginning of an object.
func separate(body *bytes.Buffer) {
	if text := body.Bytes(); text[len(text)-1] != '{' {
		body.WriteByte(',')
	}
}

// member writes a member of an object. Its values are made by this
// program; one that cannot be encoded is a fault that the recovery answers.
func member(body *bytes.Buffer, name string, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	separate(body)
	body.WriteString(strconv.Quote(name))
	body.WriteByte(':')
	body.Write(text)
}

// firstCode is what the log and the metrics say of a response.
func firstCode(errs gqlerror.List) string {
	if len(errs) == 0 {
		return codeOK
	}
	if code, ok := errs[0].Extensions["code"].(string); ok {
		return code
	}
	return codeInternal
}

// coded gives errors that were found before execution their codes, and cuts
// off what is too much of them.
func coded(errs gqlerror.List) gqlerror.List {
	errs = errs[:min(len(errs), maxRequestErrors)]
	for _, err := range errs {
		switch err.Extensions["code"] {
		case nil, errcode.ParseFailed, errcode.ValidationFailed:
			err.Extensions = map[string]any{"code": codeBadUserInput}
		}
		if len(err.Message) > maxMessageBytes {
			err.Message = strings.ToValidUTF8(err.Message[:maxMessageBytes], "") + " …"
		}
	}
	return errs
}

// statusOf is the status of a response without data. What is wrong with a
// document or its variables is told with 200 to clients of mediaJSON, which
// could not tell a GraphQL server's 400 from a proxy's.
func statusOf(code, media string) int {
	switch code {
	case persisted.CodeNotFound:
		return http.StatusOK // a step of the protocol; some clients look at nothing else
	case codeBadUserInput, codeLimitExceeded:
		if media == mediaJSON {
			return http.StatusOK
		}
		return http.StatusBadRequest
	case codeUnauthenticated:
		return http.StatusUnauthorized
	case codeRateLimited:
		return http.StatusTooManyRequests
	case codeUnavailable:
		return http.StatusServiceUnavailable
	case codeInternal:
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}
