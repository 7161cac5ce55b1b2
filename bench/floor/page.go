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
	maxRequest = 64 << 10 // bytes
	localLife  = 10 * time.Minute
	callTime   = 5 * time.Second // of a call to Redis, after which the request fails
)

// server answers the two requests.
type server struct {
	redis     rueidis.Client
	keys      string // prefix of all keys
	publisher *confirmPublisher
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// countsKey is the key of a subject's hash, with the fields r, l and c; statesKey is the
// key of a user's hash, with a field for each subject, whose value is l, c, lc or cl.
func (s *server) countsKey(id string) string   { return s.keys + "s:" + id }
func (s *server) statesKey(user string) string { return s.keys + "u:" + user }

// request is a parsed request. The buffer is for the reply.
type request struct {
	user   string
	ids    []string
	buffer *bytes.Buffer
}

// handle parses a request and passes it to answer.
func handle(answer func(context.Context, http.ResponseWriter, request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		buffer := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool holds nothing else
		defer func() { buffer.Reset(); buffers.Put(buffer) }()
		user, ids, err := read(buffer, w, r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), callTime)
		defer cancel()
		answer(ctx, w, request{user, ids, buffer})
	}
}

// page answers with the counts of subjects and the viewer's states.
func (s *server) page(ctx context.Context, w http.ResponseWriter, a request) {
	user, ids, buffer := a.user, a.ids, a.buffer
	commands := make([]rueidis.CacheableTTL, len(ids))
	for i, id := range ids {
		commands[i] = rueidis.CT(s.redis.B().Hmget().Key(s.countsKey(id)).Field("r", "l", "c").Cache(), localLife)
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
		body, err = appendTexts(body,
			text{`","reads":`, &of[0]}, text{`,"likes":`, &of[1]}, text{`,"collections":`, &of[2]}, text{`,"own":"`, &states[i]})
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		body = append(body, `"}`...)
	}
	body = append(body, `]}`...)
	answer(w, body)
	_, _ = buffer.Write(body) // so that the grown buffer returns to the pool
}

// text is a value from Redis and what precedes it in a response.
type text struct {
	name  string
	value *rueidis.RedisMessage
}

// appendTexts appends values as received from Redis, and nothing for nil.
func appendTexts(to []byte, texts ...text) ([]byte, error) {
	for _, t := range texts {
		value, err := t.value.ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return to, err
		}
		to = append(append(to, t.name...), value...)
	}
	return to, nil
}

// read reads a request: the user, and the ids of subjects.
func read(body *bytes.Buffer, w http.ResponseWriter, r *http.Request) (user string, ids []string, err error) {
	if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, maxRequest)); err != nil {
		return "", nil, err
	}
	const names = 3 // the first three texts are "user", the name of the user, and "ids" or "id"
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
		return "", nil, fmt.Errorf("%.100q names no user and subjects", body.String())
	}
	return texts[1], texts[names:], nil
}

// answer sends a reply.
func answer(w http.ResponseWriter, body []byte) {
	header := w.Header()
	header["Content-Type"] = contentType
	header["Content-Length"] = []string{strconv.Itoa(len(body))}
	_, _ = w.Write(body) // the client may be gone
}

var contentType = []string{"application/json"}
