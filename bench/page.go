package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"ovation/bench/load"
	"ovation/storage"
)

// side is one of the two servers that the benchmark compares.
type side struct {
	name    string
	process *process
	floor   bool   // the floor, which has no GraphQL
	worker  string // the name under which the CPU time of its worker is reported
	people  *people
	stored  string // SQL: the users and subjects of its likes in Postgres
	counted string // SQL: the sum of its like counts in Postgres
	before  int64  // how many were counted before anything was measured
	query   string // the mutation of a like, without further fields; bareLike if empty
	authors bool   // a page shows authors and whether the viewer follows them
}

// feedQuery is a client's query for a page, authorsQuery for one with authors.
const (
	feedQuery = `query Feed($subjects: [SubjectInput!]!) { interactives(subjects: $subjects) { ` +
		`biz bizId readCount likeCount dislikeCount collectCount liked { reaction at } collected { at } } }`
	authorsQuery = `query Feed($subjects: [SubjectInput!]!) { interactives(subjects: $subjects) { ` +
		`biz bizId readCount likeCount dislikeCount collectCount liked { reaction at } collected { at } ` +
		`author { userId interactive { followed { at } } } } }`
)

// page is a request of one viewer for some subjects.
type page struct {
	viewer   int
	subjects []int
}

// drawPages draws n pages: viewers weighted by activity, subjects by popularity.
func (p *people) drawPages(random *rand.Rand, users *drawer, n int) []page {
	out := make([]page, n)
	for i := range out {
		out[i].viewer = users.draw(random)
		taken := newSet(len(p.subjects.names))
		for len(out[i].subjects) < pageSize {
			if subject := p.subjects.draw(random); !taken.has(subject) {
				taken.add(subject)
				out[i].subjects = append(out[i].subjects, subject)
			}
		}
	}
	return out
}

// page returns the request for a page.
func (s *side) page(p *people, of *page) []byte {
	if s.floor {
		ids := make([]string, len(of.subjects))
		for i, subject := range of.subjects {
			ids[i] = p.subjects.names[subject]
		}
		body := fmt.Sprintf(`{"user":%q,"ids":%s}`, p.names[of.viewer], mustJSON(ids))
		return load.Post(nil, s.process.address, "/page", "", []byte(body))
	}
	type input struct {
		Biz   string `json:"biz"`
		BizID string `json:"bizId"`
	}
	inputs := make([]input, len(of.subjects))
	for i, subject := range of.subjects {
		inputs[i] = input{biz, p.subjects.names[subject]}
	}
	token, query := p.tokens[of.viewer], feedQuery
	if s.authors {
		query = authorsQuery
	}
	return load.Post(nil, s.process.address, "/graphql", token, mustJSON(map[string]any{
		"query": query, "operationName": "Feed", "variables": map[string]any{"subjects": inputs},
	}))
}

func mustJSON(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // it is made of strings
	}
	return text
}

// reply returns the expected reply while nothing changes.
func (s *side) reply(t *truth, p *people, of *page) []byte {
	if s.floor {
		return floorReply(t, p, of)
	}
	var out bytes.Buffer
	out.WriteString(`{"data":{"interactives":[`)
	for i, subject := range of.subjects {
		if i > 0 {
			out.WriteByte(',')
		}
		id := p.subjects.names[subject]
		c, key := t.counts[id], pair{p.names[of.viewer], id}
		fmt.Fprintf(&out, `{"biz":%q,"bizId":%q,"readCount":%d,"likeCount":%d,"dislikeCount":%d,"collectCount":%d,"liked":`,
			biz, id, c.reads, c.likes, c.dislikes, c.collections)
		if at, is := t.liked[key]; is {
			fmt.Fprintf(&out, `{"reaction":"LIKE","at":%q}`, storage.Time(at).Format(time.RFC3339Nano))
		} else {
			out.WriteString(`null`)
		}
		if at, is := t.collected[key]; is {
			fmt.Fprintf(&out, `,"collected":{"at":%q}`, storage.Time(at).Format(time.RFC3339Nano))
		} else {
			out.WriteString(`,"collected":null`)
		}
		if s.authors { // no viewer follows an author: the data has only follows of subjects
			fmt.Fprintf(&out, `,"author":{"userId":%q,"interactive":{"followed":null}}`, p.author(subject))
		}
		out.WriteByte('}')
	}
	out.WriteString(`]}}`)
	return out.Bytes()
}

// book is the requests of one side for all pages, with the expected replies.
type book struct {
	requests [][]byte
	replies  [][]byte
}

func (s *side) book(p *people, t *truth, pages []page) *book {
	b := &book{}
	for i := range pages {
		b.requests = append(b.requests, s.page(p, &pages[i]))
		b.replies = append(b.replies, s.reply(t, p, &pages[i]))
	}
	return b
}

// pager requests pages while nothing changes. Every reply is compared with the expected
// one.
type pager struct {
	*book

	at, step int
	left     int // how many requests it has; endless below 0
}

// pagers returns n clients that share the pages of a book. If once is set, each page is
// requested once.
func (b *book) pagers(n int, once bool) []load.Client {
	out := make([]load.Client, n)
	for i := range out {
		p := b.pager(i, n)
		if once {
			p.left = (len(b.requests) - i + n - 1) / n
		}
		out[i] = p
	}
	return out
}

// pager returns the i-th of n clients.
func (b *book) pager(i, n int) *pager { return &pager{book: b, at: i - n, step: n, left: -1} }

// Next implements load.Client.
func (p *pager) Next(buf []byte) []byte {
	if p.left == 0 {
		return nil
	}
	p.left--
	if p.at += p.step; p.at >= len(p.requests) {
		p.at %= p.step
	}
	return append(buf, p.requests[p.at]...)
}

// Done implements load.Client.
func (p *pager) Done(status int, body []byte) error {
	want := p.replies[p.at]
	if status == http.StatusOK && bytes.Equal(body, want) {
		return nil
	}
	return fmt.Errorf("status %d with %s, want %s", status, shorten(body, want), shorten(want, body))
}

// shorten omits most of the prefix that two texts share, and most of the rest.
func shorten(text, other []byte) string {
	same := 0
	for same < len(text) && same < len(other) && text[same] == other[same] {
		same++
	}
	from := max(0, same-60)
	return strconv.Itoa(from) + ": …" + string(text[from:min(len(text), from+200)]) + "…"
}
