package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"ovation/storage"
)

// localLife is how long counts stay in the client's cache, unless they change.
const localLife = 10 * time.Minute

// errCold: the benchmark asks for nothing before it is warm.
var errCold = errors.New("not in Redis: the reference knows only what is warm")

// item is one subject of a page.
type item struct {
	counts              [countsEnd]int64
	liked, collected    string // the states, empty for none
	likedAt, collectdAt int64  // their versions
}

// What counts there are, as Redis has them.
const (
	version = iota
	reads
	likes
	dislikes
	collections
	countsEnd
)

// page answers with the counts of subjects and what the viewer did.
func (s *server) page(w http.ResponseWriter, r *http.Request) {
	buffer := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool holds nothing else
	defer func() { buffer.Reset(); buffers.Put(buffer) }()
	user, subjects, ok := s.begin(w, r, buffer)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTime)
	defer cancel()
	items := make([]item, len(subjects))
	err := s.counts(ctx, subjects, items)
	if err == nil {
		err = s.own(ctx, user, subjects, items)
	}
	if err != nil {
		failed(w, err)
		return
	}
	buffer.Reset()
	body := append(buffer.AvailableBuffer(), `{"data":{"interactives":[`...)
	for i := range items {
		if i > 0 {
			body = append(body, ',')
		}
		body = items[i].write(body, &subjects[i])
	}
	body = append(body, `]}}`...)
	answer(w, body)
	_, _ = buffer.Write(body) // so that what has grown goes back to the pool
}

func (s *server) countsKey(of *storage.Subject) string {
	return s.keys + ":c:{" + of.Tenant + ":" + of.Biz + ":" + of.BizID + "}"
}

func (s *server) windowKey(user *storage.User, biz string) string {
	return s.keys + ":w:{" + user.Tenant + ":u:" + user.UserID + "}:" + biz
}

// counts reads counts through the client's cache.
func (s *server) counts(ctx context.Context, subjects []storage.Subject, items []item) error {
	commands := make([]rueidis.CacheableTTL, len(subjects))
	for i := range subjects {
		commands[i] = rueidis.CT(s.redis.B().Hmget().Key(s.countsKey(&subjects[i])).Field("v", "r", "l", "d", "c").Cache(), localLife)
	}
	for i, reply := range s.redis.DoMultiCache(ctx, commands...) {
		if err := items[i].takeCounts(reply); err != nil {
			return err
		}
	}
	return nil
}

func (it *item) takeCounts(reply rueidis.RedisResult) error {
	values, err := reply.ToArray()
	if err != nil {
		return fmt.Errorf("read counts: %w", err)
	}
	for k := range values {
		if values[k].IsNil() {
			return errCold
		}
		if it.counts[k], err = values[k].AsInt64(); err != nil {
			return fmt.Errorf("read counts: %w", err)
		}
	}
	return nil
}

// own reads the viewer's states, after the counts, and puts them in.
func (s *server) own(ctx context.Context, user storage.User, subjects []storage.Subject, items []item) error {
	fields := make([]string, 0, 3+2*len(subjects))
	fields = append(fields, "~b", "~f", "~r")
	for i := range subjects {
		fields = append(fields, "r"+subjects[i].BizID, "c"+subjects[i].BizID)
	}
	key := s.windowKey(&user, subjects[0].Biz)
	values, err := s.redis.Do(ctx, s.redis.B().Hmget().Key(key).Field(fields...).Build()).ToArray()
	if err != nil {
		return fmt.Errorf("read states: %w", err)
	}
	if len(values) != len(fields) || values[0].IsNil() || values[1].IsNil() {
		return errCold
	}
	for i := range items {
		of := values[3+2*i : 5+2*i]
		known, err := items[i].takeStates(of)
		if err == nil && !known { // counts are older than what is remembered of the states
			if err = s.again(ctx, &subjects[i], &items[i]); err == nil {
				known, err = items[i].takeStates(of)
			}
		}
		if err == nil && !known {
			err = errCold
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// again reads counts past the client's cache.
func (s *server) again(ctx context.Context, subject *storage.Subject, it *item) error {
	*it = item{}
	return it.takeCounts(s.redis.Do(ctx, s.redis.B().Hmget().Key(s.countsKey(subject)).Field("v", "r", "l", "d", "c").Build()))
}

// takeStates reads the entries of a reaction and a collection. It returns
// false, and has done nothing, where it is not known what the counts include.
func (it *item) takeStates(values []rueidis.RedisMessage) (known bool, err error) {
	var entries [2]entry
	var included [2]byte
	for k := range entries {
		if values[k].IsNil() {
			continue // the window is full: there is none
		}
		text, err := values[k].ToString()
		if err != nil {
			return false, fmt.Errorf("read states: %w", err)
		}
		if entries[k], err = parseEntry(text); err != nil {
			return false, err
		}
		if included[k], known = entries[k].included(it.counts[version]); !known {
			return false, nil
		}
	}
	it.replace(included[0], -1)
	it.replace(entries[0].share(), 1)
	it.counts[collections] += int64(entries[1].share()) - int64(included[1])
	if entries[0].share() > 0 {
		it.liked, it.likedAt = entries[0].state, entries[0].version
	}
	if entries[1].share() > 0 {
		it.collected, it.collectdAt = entries[1].state, entries[1].version
	}
	return true, nil
}

func (it *item) replace(share byte, by int64) {
	switch share {
	case 1:
		it.counts[likes] += by
	case 2:
		it.counts[dislikes] += by
	}
}

// entry is what a window holds of one state.
type entry struct {
	version        int64
	state, history string
}

func parseEntry(text string) (e entry, err error) {
	number, rest, _ := strings.Cut(text, " ")
	_, rest, _ = strings.Cut(rest, " ") // whether it is shown
	_, rest, _ = strings.Cut(rest, " ") // when it was touched
	var whole bool
	if e.state, e.history, whole = strings.Cut(rest, " "); !whole {
		return e, fmt.Errorf("%q is no entry of a window", text)
	}
	if e.version, err = strconv.ParseInt(number, 10, 64); err != nil {
		return e, fmt.Errorf("%q is no entry of a window", text)
	}
	return e, nil
}

// share is what counts include of the state: 1 for a like or a collection, 2
// for a dislike, else 0.
func (e *entry) share() byte {
	switch {
	case e.state == "" || e.state == "-":
		return 0
	case e.state[0] == '=':
		return 1
	}
	return e.state[0] - '0'
}

// included is what counts of a version include, and false where that is not
// known.
func (e *entry) included(at int64) (share byte, known bool) {
	rest := e.history
	for rest != "" {
		var pair string
		pair, rest, _ = strings.Cut(rest, ",")
		number, of, _ := strings.Cut(pair, ":")
		v, err := strconv.ParseInt(number, 10, 64)
		if err != nil || v > at || len(of) != 1 {
			break
		}
		share, known = of[0]-'0', true
	}
	return share, known
}

// write appends the subject as JSON. Neither ids of the benchmark nor anything
// else needs an escape.
func (it *item) write(to []byte, subject *storage.Subject) []byte {
	to = append(to, `{"biz":"`...)
	to = append(to, subject.Biz...)
	to = append(to, `","bizId":"`...)
	to = append(to, subject.BizID...)
	to = append(to, '"')
	for k, name := range [...]string{reads: `,"readCount":`, likes: `,"likeCount":`, dislikes: `,"dislikeCount":`, collections: `,"collectCount":`} {
		if name != "" {
			to = append(to, name...)
			to = strconv.AppendInt(to, it.counts[k], 10)
		}
	}
	to = append(to, `,"liked":`...)
	switch it.liked {
	case "":
		to = append(to, `null`...)
	case "1":
		to = appendTime(append(to, `{"reaction":"LIKE","at":"`...), it.likedAt)
	default:
		to = appendTime(append(to, `{"reaction":"DISLIKE","at":"`...), it.likedAt)
	}
	to = append(to, `,"collected":`...)
	if it.collected == "" {
		to = append(to, `null`...)
	} else {
		to = appendTime(append(to, `{"at":"`...), it.collectdAt)
	}
	return append(to, '}')
}

// appendTime ends an object with a time.
func appendTime(to []byte, version int64) []byte {
	to = storage.Time(version).AppendFormat(to, time.RFC3339Nano)
	return append(to, `"}`...)
}
