package transport

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"ovation/api/codes"
	"ovation/api/rate"
)

// The limits on the errors about one document. They are needed because errors quote parts
// of the document, which the client controls.
const (
	maxRequestErrors = 20
	maxMessageBytes  = 500
)

// Header values shared by all responses. They are never modified.
var (
	headerJSON    = []string{mediaJSON + "; charset=utf-8"}
	headerGraphQL = []string{mediaGraphQL + "; charset=utf-8"}
	headerNoStore = []string{"no-store"}
	headerNoSniff = []string{"nosniff"}
)

// WriteError answers a request with one GraphQL error and no data. The media type is the
// one that the client accepts, or else application/json. An API with its own format
// writes the error itself.
func WriteError(w http.ResponseWriter, r *http.Request, status int, code, message string) {
	if rec := recordOf(r.Context()); rec.API != nil {
		rec.code = code
		rec.API.WriteError(w, r, code, message)
		return
	}
	respond(w, r, status, failure(code, message))
}

// WriteLimited responds that the client must wait before its next request.
func WriteLimited(w http.ResponseWriter, r *http.Request, wait time.Duration) {
	err := rate.Error(wait)
	if recordOf(r.Context()).API != nil {
		WriteError(w, r, http.StatusTooManyRequests, codes.RateLimited, err.Message)
		return
	}
	respondWithout(w, r, &graphql.Response{Errors: gqlerror.List{err}})
}

// failure returns a response that consists of one error.
func failure(code, message string) *graphql.Response {
	extensions := map[string]any{"code": code}
	if code == codes.RateLimited {
		extensions = rate.Extensions(time.Second)
	}
	return &graphql.Response{Errors: gqlerror.List{{Message: message, Extensions: extensions}}}
}

// respond writes a response in the media type that the client accepts, or else as
// application/json.
func respond(w http.ResponseWriter, r *http.Request, status int, response *graphql.Response) {
	recordOf(r.Context()).code = firstCode(response.Errors)
	body := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool holds nothing else
	defer release(body)
	encode(body, response)
	if status == http.StatusTooManyRequests {
		w.Header()["Retry-After"] = []string{strconv.Itoa(rate.RetryAfter(response.Errors[0]))}
	}
	write(w, r, status, body)
}

// write writes a body of JSON in the media type that the client accepts.
func write(w http.ResponseWriter, r *http.Request, status int, body *bytes.Buffer) {
	media, accepted := negotiate(r.Header)
	header := w.Header()
	if header["Content-Type"] = headerJSON; accepted && media == mediaGraphQL {
		header["Content-Type"] = headerGraphQL
	}
	header["Content-Length"] = []string{strconv.Itoa(body.Len())}
	header["Cache-Control"] = headerNoStore
	header["X-Content-Type-Options"] = headerNoSniff
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // the client may have disconnected
}

// encode writes a response as JSON. Data is copied as it is, because the executor has
// encoded it. Encoding it again would parse all of it once more.
func encode(body *bytes.Buffer, response *graphql.Response) {
	body.WriteByte('{')
	if len(response.Errors) > 0 {
		writeMember(body, "errors", response.Errors)
	}
	if len(response.Data) > 0 {
		writeComma(body)
		body.WriteString(`"data":`)
		body.Write(response.Data)
	}
	if len(response.Extensions) > 0 {
		writeMember(body, "extensions", response.Extensions)
	}
	body.WriteByte('}')
}

// writeComma writes a comma, except at the start of an object.
func writeComma(body *bytes.Buffer) {
	if text := body.Bytes(); text[len(text)-1] != '{' {
		body.WriteByte(',')
	}
}

// writeMember writes a member of an object. Values come from this program. A value that
// cannot be encoded is a bug and causes a panic.
func writeMember(body *bytes.Buffer, name string, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	writeComma(body)
	body.WriteString(strconv.Quote(name))
	body.WriteByte(':')
	body.Write(text)
}

// firstCode returns the code that the log and the metrics report for a response.
func firstCode(errs gqlerror.List) string {
	if len(errs) == 0 {
		return codeOK
	}
	if code, ok := errs[0].Extensions["code"].(string); ok {
		return code
	}
	return codes.Internal
}

// coded adds codes to errors found before execution, and truncates the list and the
// messages.
func coded(errs gqlerror.List) gqlerror.List {
	errs = errs[:min(len(errs), maxRequestErrors)]
	for _, err := range errs {
		switch err.Extensions["code"] {
		case nil, errcode.ParseFailed, errcode.ValidationFailed:
			err.Extensions = map[string]any{"code": codes.BadUserInput}
		}
		if len(err.Message) > maxMessageBytes {
			err.Message = strings.ToValidUTF8(err.Message[:maxMessageBytes], "") + " …"
		}
	}
	return errs
}

// statusOf returns the status of a response without data. With mediaJSON, the status is
// 200 for invalid or untrusted documents, for invalid variables and for operations that
// exceed a limit, because clients that use this media type cannot distinguish a GraphQL server's
// 400 from a proxy's.
func statusOf(code, media string) int {
	switch code {
	case codes.BadUserInput, codes.LimitExceeded, codes.UntrustedDocument:
		if media == mediaJSON {
			return http.StatusOK
		}
	}
	return cmp.Or(statuses[code], http.StatusBadRequest)
}

var statuses = map[string]int{
	codes.PersistedQueryNotFound: http.StatusOK, // a step of the protocol; some clients accept no other status
	codes.Unauthenticated:        http.StatusUnauthorized,
	codes.RateLimited:            http.StatusTooManyRequests,
	codes.Unavailable:            http.StatusServiceUnavailable,
	codes.Internal:               http.StatusInternalServerError,
}
