package douyin

import (
	"context"
	"fmt"
	"io"
	"math"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"ovation/api/viewer"
	"ovation/storage"
)

const (
	maxBodyBytes  = 64 << 10 // except for uploads
	maxParameters = 32
)

type callKey struct{}

// call is a request.
type call struct {
	endpoint *endpoint // nil if there is no endpoint of this name
	name     string    // of the endpoint
	values   map[string]string
	refused  error // why the parameters are invalid; nil if they are valid

	writer  http.ResponseWriter
	request *http.Request
}

func newCall(r *http.Request) *call {
	name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, Path), "/")
	return &call{endpoint: endpoints[name], name: name}
}

// callOf returns the call that the handler of New has put into the context of a request.
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// operation returns the name of the request for the log and the metrics. It is one of a
// fixed set of names, so that clients cannot add names.
func (c *call) operation() string {
	if c.endpoint == nil {
		return Path
	}
	return Path + c.name + "/"
}

func (c *call) kind() string {
	switch {
	case c.endpoint == nil:
		return ""
	case c.endpoint.method == http.MethodGet:
		return "query"
	}
	return "mutation"
}

// read reads the parameters in the URL and, except for an upload, the form fields in the
// body. A parameter may be repeated with the same value.
func (c *call) read(r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		c.refused = &storage.InvalidError{Field: "the URL", Reason: "has parameters that cannot be read"}
		return
	}
	c.values = map[string]string{}
	if c.merge(query); c.refused == nil && !IsUpload(r) {
		fields, err := readForm(r)
		if c.refused = err; err == nil {
			c.merge(fields)
		}
	}
}

func (c *call) merge(given url.Values) {
	for name, values := range given {
		for _, value := range values {
			if before, known := c.values[name]; known && before != value {
				c.refused = &storage.InvalidError{Field: shortened(name), Reason: "is given several times with different values"}
				return
			}
			c.values[name] = value
		}
	}
	if len(c.values) > maxParameters {
		c.refused = errParameters
	}
}

// shortened truncates and quotes a name chosen by the client, for use in a message.
func shortened(name string) string { return strconv.QuoteToASCII(name[:min(len(name), 32)]) }

var (
	errParameters = &storage.InvalidError{Field: "parameters", Reason: fmt.Sprintf("must be at most %d", maxParameters)}
	errBody       = &storage.InvalidError{Field: "the body", Reason: "is not a form that can be read"}
	errLongBody   = &storage.InvalidError{Field: "the body", Reason: fmt.Sprintf("must have at most %d KiB", maxBodyBytes>>10)}
)

// readForm reads the fields of a form. Bodies of other types are ignored.
func readForm(r *http.Request) (url.Values, error) {
	if r.ContentLength > maxBodyBytes {
		return nil, errLongBody
	}
	body := &io.LimitedReader{R: r.Body, N: maxBodyBytes + 1}
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	var fields url.Values
	var err error
	switch strings.ToLower(strings.TrimSpace(media)) {
	case "application/x-www-form-urlencoded":
		var text []byte
		if text, err = io.ReadAll(body); err == nil && body.N > 0 {
			fields, err = url.ParseQuery(string(text))
		}
	case "multipart/form-data":
		r.Body = io.NopCloser(body) // the server closes its own
		var parts *multipart.Reader
		if parts, err = r.MultipartReader(); err == nil {
			fields, err = readParts(parts)
		}
	}
	switch {
	case body.N <= 0:
		return nil, errLongBody
	case err != nil:
		return nil, errBody
	}
	return fields, nil
}

func readParts(parts *multipart.Reader) (url.Values, error) {
	fields := url.Values{}
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		if err == io.EOF { //nolint:errorlint // a form that ends early wraps it
			return fields, nil
		}
		if err != nil || n > maxParameters {
			return nil, errBody
		}
		text, err := io.ReadAll(part)
		if err != nil {
			return nil, errBody
		}
		fields.Add(part.FormName(), string(text))
	}
}

// requireViewer returns the viewer, who must be signed in.
func requireViewer(ctx context.Context) (storage.User, error) {
	user := viewer.FromContext(ctx)
	if user.Anonymous() {
		return user, errNotLoggedIn
	}
	return user, nil
}

// has reports whether a parameter is present and neither empty nor 0.
func (c *call) has(name string) bool { return c.values[name] != "" && c.values[name] != "0" }

// id returns a parameter that is an id, or 0 if it is absent.
func (c *call) id(name string) (int64, error) {
	if !c.has(name) {
		return 0, nil
	}
	n, ok := number(c.values[name])
	if !ok || n == 0 {
		return 0, &storage.InvalidError{Field: name, Reason: "must be the decimal number of an id"}
	}
	return n, nil
}

// requiredID returns a required parameter that is an id.
func (c *call) requiredID(name string) (int64, error) {
	n, err := c.id(name)
	if err == nil && n == 0 {
		err = &storage.InvalidError{Field: name, Reason: "is missing"}
	}
	return n, err
}

// user returns the user that a parameter names, or the viewer if the parameter is absent.
func (c *call) user(name string, me storage.User) (storage.User, error) {
	n, err := c.id(name)
	if err != nil || n == 0 {
		return me, err
	}
	return storage.AccountUser(me.Tenant, n), nil
}

// action returns the request's parameter action_type, which must not be less than 1 or
// greater than most. The value 1 performs the endpoint's action, and 2, if supported,
// undoes it.
func (c *call) action(most int64) (int64, error) {
	n, ok := number(c.values["action_type"])
	if !ok || n < 1 || n > most {
		reason := "must be 1"
		if most == 2 {
			reason = "must be 1 or 2"
		}
		return 0, &storage.InvalidError{Field: "action_type", Reason: reason}
	}
	return n, nil
}

// maxSeconds separates times in seconds, which are below it, from times in milliseconds.
const maxSeconds = 100_000_000_000

// time parses a parameter that is a time in seconds or milliseconds since 1970. It
// returns the beginning and the end of that second or millisecond, in milliseconds since
// 1970, or 0 and 0 if the parameter is absent.
func (c *call) time(name string) (begin, end int64, err error) {
	n, ok := number(c.values[name])
	switch {
	case !c.has(name), ok && n == 0:
		return 0, 0, nil
	case !ok:
		return 0, 0, &storage.InvalidError{Field: name, Reason: "must be a time in seconds or milliseconds since 1970"}
	case n < maxSeconds:
		return n * 1000, (n + 1) * 1000, nil
	}
	return n, n + 1, nil
}

// number parses a non-negative integer below 2^53. Clients that store numbers as doubles
// may use an exponent.
func number(text string) (int64, bool) {
	if len(text) > 32 || strings.Trim(text, "0123456789.eE+") != "" {
		return 0, false
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, n >= 0 && n < storage.MaxCommentID
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f < 0 || f >= storage.MaxCommentID || f != math.Trunc(f) {
		return 0, false
	}
	return int64(f), true
}

// count adds the result of a request to the metrics if the request is an upload.
func (c *call) count(f *api, result string) {
	if f.Videos != nil && IsUpload(c.request) {
		f.Videos.Count(result)
	}
}
