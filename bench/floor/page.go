package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

const (
	maxRequestBytes = 64 << 10
	cacheTTL        = 10 * time.Minute
	redisTimeout    = 5 * time.Second // limit on the duration of a request's calls to Redis; a slower request fails
)

// server answers requests for a page and for a like.
type server struct {
	redis     rueidis.Client
	keyPrefix string // prefix of all keys
	publisher *confirmPublisher
}

var bufferPool = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// countsKey returns the key of a subject's hash, which has the fields r, l and c.
// statesKey returns the key of a user's hash, which has a field for each subject. The
// value of each such field is l, c or lc.
func (s *server) countsKey(id string) string   { return s.keyPrefix + "s:" + id }
func (s *server) statesKey(user string) string { return s.keyPrefix + "u:" + user }

// request is a parsed request, with a buffer for its reply.
type request struct {
	user   string
	ids    []string
	buffer *bytes.Buffer
}

// handle returns a handler that parses a request and passes it to answer.
func handle(answer func(context.Context, http.ResponseWriter, request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		buffer := bufferPool.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool holds nothing else
		defer func() { buffer.Reset(); bufferPool.Put(buffer) }()
		user, ids, err := readRequest(buffer, w, r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), redisTimeout)
		defer cancel()
		answer(ctx, w, request{user, ids, buffer})
	}
}

// page handles POST /page: it returns the counts of subjects and the viewer's states.
func (s *server) page(ctx context.Context, w http.ResponseWriter, a request) {
	user, ids, buffer := a.user, a.ids, a.buffer
	commands := make([]rueidis.CacheableTTL, len(ids))
	for i, id := range ids {
		commands[i] = rueidis.CT(s.redis.B().Hmget().Key(s.countsKey(id)).Field("r", "l", "c").Cache(), cacheTTL)
	}
	counts := s.redis.DoMultiCache(ctx, commands...)
	states, err := s.redis.Do(ctx, s.redis.B().Hmget().Key(s.statesKey(user)).Field(ids...).Build()).ToArray()
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	buffer.Reset()
	body := append(buffer.AvailableBuffer(), `{"items":[`...)
	for i := range ids {
		of, err := counts[i].ToArray()
		if err != nil || len(of) != 3 {
			http.Error(w, fmt.Sprintf("%d counts: %v", len(of), err), http.StatusServiceUnavailable)
			return
		}
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, `{"id":"`...)
		body = append(body, ids[i]...)
		body, err = appendMembers(body,
			jsonMember{`","reads":`, &of[0]}, jsonMember{`,"likes":`, &of[1]}, jsonMember{`,"collections":`, &of[2]}, jsonMember{`,"own":"`, &states[i]})
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		body = append(body, `"}`...)
	}
	body = append(body, `]}`...)
	writeReply(w, body)
	_, _ = buffer.Write(body) // so that the grown buffer returns to the pool
}

// jsonMember is a value from Redis, and the text that precedes the value in a response.
type jsonMember struct {
	name  string
	value *rueidis.RedisMessage
}

// appendMembers appends the name and the value of each member. Values are copied as
// received; nil is copied as the empty string.
func appendMembers(to []byte, members ...jsonMember) ([]byte, error) {
	for _, t := range members {
		value, err := t.value.ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return to, err
		}
		to = append(append(to, t.name...), value...)
	}
	return to, nil
}

// readRequest parses a request. It returns the name of the user and the ids of the
// subjects.
func readRequest(body *bytes.Buffer, w http.ResponseWriter, r *http.Request) (user string, ids []string, err error) {
	if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, maxRequestBytes)); err != nil {
		return "", nil, err
	}
	const names = 3 // the first three strings are "user", the user's name, and "ids" or "id"
	texts := make([]string, 0, names+20)
	rest := body.Bytes()
	for {
		_, after, found := bytes.Cut(rest, []byte{'"'})
		if !found {
			break
		}
		text, after, closed := bytes.Cut(after, []byte{'"'})
		if !closed {
			break
		}
		texts, rest = append(texts, string(text)), after
	}
	if len(texts) <= names || texts[0] != "user" {
		return "", nil, fmt.Errorf("%.100q does not name a user and subjects", body.String())
	}
	return texts[1], texts[names:], nil
}

// writeReply writes a JSON reply.
func writeReply(w http.ResponseWriter, body []byte) {
	header := w.Header()
	header["Content-Type"] = contentType
	header["Content-Length"] = []string{strconv.Itoa(len(body))}
	_, _ = w.Write(body) // the client may have disconnected
}

var contentType = []string{"application/json"}
