package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"ovation/resolvers/viewer"
	"ovation/storage"
)

const (
	maxRequest  = 64 << 10 // bytes
	maxSubjects = 100
	callTime    = 5 * time.Second // for Redis; nothing else would answer
)

// server answers for the two requests.
type server struct {
	auth  *viewer.Authenticator
	redis rueidis.Client
	keys  string
	show  string // the script
	out   *outlet
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// begin reads a request: who asks, and for what.
func (s *server) begin(w http.ResponseWriter, r *http.Request, body *bytes.Buffer) (user storage.User, subjects []storage.Subject, ok bool) {
	is, err := s.auth.Authenticate(r)
	user = is.User
	if err != nil || user.Anonymous() {
		http.Error(w, "no viewer: send a token", http.StatusUnauthorized)
		return user, nil, false
	}
	_, err = body.ReadFrom(http.MaxBytesReader(w, r.Body, maxRequest))
	if err == nil {
		subjects, err = parse(body.Bytes(), user.Tenant)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return user, nil, false
	}
	return user, subjects, true
}

var errForm = errors.New(`the body must be {"subjects":[{"biz":…,"bizId":…},…]} or {"biz":…,"bizId":…}`)

// parse finds the subjects in a body: names and values without escapes, in
// this order, which is all that the benchmark sends.
func parse(body []byte, tenant string) ([]storage.Subject, error) {
	subjects := make([]storage.Subject, 0, 20)
	rest := body
	for {
		var biz, id []byte
		var found bool
		if biz, rest, found = next(rest, `"biz":"`); !found {
			break
		}
		if id, rest, found = next(rest, `"bizId":"`); !found {
			return nil, errForm
		}
		subject := storage.Subject{Tenant: tenant, BizID: string(id)}
		if n := len(subjects); n > 0 && subjects[n-1].Biz == string(biz) {
			subject.Biz = subjects[n-1].Biz
		} else {
			subject.Biz = string(biz)
		}
		if err := subject.Validate(); err != nil {
			return nil, err
		}
		if bytes.IndexByte(id, '{') >= 0 || bytes.IndexByte(id, '}') >= 0 {
			return nil, errors.New("ids with braces have keys of another form, which this server does not write")
		}
		subjects = append(subjects, subject)
		if len(subjects) > maxSubjects || subject.Biz != subjects[0].Biz {
			return nil, fmt.Errorf("at most %d subjects of one biz", maxSubjects)
		}
	}
	if len(subjects) == 0 {
		return nil, errForm
	}
	return subjects, nil
}

func next(text []byte, name string) (value, rest []byte, found bool) {
	_, text, found = bytes.Cut(text, []byte(name))
	if !found {
		return nil, nil, false
	}
	return bytes.Cut(text, []byte{'"'})
}

// answer sends a reply.
func answer(w http.ResponseWriter, body []byte) {
	header := w.Header()
	header["Content-Type"] = contentType
	header["Cache-Control"] = cacheControl
	header["Content-Length"] = []string{strconv.Itoa(len(body))}
	_, _ = w.Write(body) //nolint:gosec // it is JSON, and says so; the client may be gone
}

var (
	contentType  = []string{"application/json; charset=utf-8"}
	cacheControl = []string{"no-store"}
)

// failed tells that Redis or the queue has failed, or that something is not warm.
func failed(w http.ResponseWriter, err error) {
	http.Error(w, err.Error(), http.StatusServiceUnavailable)
}
