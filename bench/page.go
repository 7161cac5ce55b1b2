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

// system describes a measured server: Ovation, in one of several configurations, or the
// floor.
type system struct {
	name           string
	process        *process
	floor          bool   // whether this is the floor, which does not speak GraphQL
	workerName     string // the name under which the CPU time of the system's worker is reported
	users          *userPool
	likesQuery     string // SQL: the users and subjects of the system's likes in Postgres
	likeCountQuery string // SQL: the sum of the system's like counts in Postgres
	initialLikes   int64  // likes counted before any measurement
	mutation       string // the mutation that a likeClient sends; likeMutation if empty
	withAuthors    bool   // whether a page shows authors, and whether the viewer follows them
	documentID     string // asks for pages by the id of a trusted document, if it is not empty
}

// pageQuery is the query for a page. pageWithAuthorsQuery also requests the author of
// each subject.
const (
	pageQuery = `query Feed($subjects: [SubjectInput!]!) { interactives(subjects: $subjects) { ` +
		`biz bizId readCount likeCount dislikeCount collectCount liked { reaction at } collected { at } } }`
	pageWithAuthorsQuery = `query Feed($subjects: [SubjectInput!]!) { interactives(subjects: $subjects) { ` +
		`biz bizId readCount likeCount dislikeCount collectCount liked { reaction at } collected { at } ` +
		`author { userId interactive { followed { at } } } } }`
)

// page is one viewer's request for some subjects.
type page struct {
	viewer   int
	subjects []int
}

// drawPages draws n pages, with viewers weighted by activity and subjects by popularity.
func (p *userPool) drawPages(random *rand.Rand, viewers *sampler, n int) []page {
	out := make([]page, n)
	for i := range out {
		out[i].viewer = viewers.draw(random)
		taken := newBitset(len(p.subjects.names))
		for len(out[i].subjects) < pageSize {
			if subject := p.subjects.draw(random); !taken.has(subject) {
				taken.add(subject)
				out[i].subjects = append(out[i].subjects, subject)
			}
		}
	}
	return out
}

// pageRequest returns the request for a page.
func (s *system) pageRequest(p *userPool, of *page) []byte {
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
	token, query := p.tokens[of.viewer], pageQuery
	if s.withAuthors {
		query = pageWithAuthorsQuery
	}
	if s.documentID != "" {
		return load.Post(nil, s.process.address, "/graphql", token, mustJSON(map[string]any{
			"documentId": s.documentID, "variables": map[string]any{"subjects": inputs},
		}))
	}
	return load.Post(nil, s.process.address, "/graphql", token, mustJSON(map[string]any{
		"query": query, "operationName": "Feed", "variables": map[string]any{"subjects": inputs},
	}))
}

func mustJSON(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // unreachable: value consists of strings
	}
	return text
}

// expectedReply returns the expected reply to the request for a page while no writes are
// in progress.
func (s *system) expectedReply(t *databaseState, p *userPool, of *page) []byte {
	if s.floor {
		return expectedFloorReply(t, p, of)
	}
	var out bytes.Buffer
	out.WriteString(`{"data":{"interactives":[`)
	for i, subject := range of.subjects {
		if i > 0 {
			out.WriteByte(',')
		}
		id := p.subjects.names[subject]
		c, key := t.counts[id], stateKey{p.names[of.viewer], id}
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
		if s.withAuthors { // no viewer follows an author: users in the data follow subjects only
			fmt.Fprintf(&out, `,"author":{"userId":%q,"interactive":{"followed":null}}`, p.authorOf(subject))
		}
		out.WriteByte('}')
	}
	out.WriteString(`]}}`)
	return out.Bytes()
}

// workload holds the requests that ask one system for all pages, with the expected
// replies.
type workload struct {
	requests        [][]byte
	expectedReplies [][]byte
}

func (s *system) newWorkload(p *userPool, t *databaseState, pages []page) *workload {
	b := &workload{}
	for i := range pages {
		b.requests = append(b.requests, s.pageRequest(p, &pages[i]))
		b.expectedReplies = append(b.expectedReplies, s.expectedReply(t, p, &pages[i]))
	}
	return b
}

// pageClient requests pages while no writes are in progress. It compares every reply with
// the expected one.
type pageClient struct {
	*workload

	current, step int
	remaining     int // number of requests left; negative: no limit
}

// newPageClients returns n clients that share the pages of a workload. If once is true,
// each page is requested once.
func (b *workload) newPageClients(n int, once bool) []load.Client {
	out := make([]load.Client, n)
	for i := range out {
		p := b.newPageClient(i, n)
		if once {
			p.remaining = (len(b.requests) - i + n - 1) / n
		}
		out[i] = p
	}
	return out
}

// newPageClient returns the i-th of n clients that share the pages of a workload.
func (b *workload) newPageClient(i, n int) *pageClient {
	return &pageClient{workload: b, current: i - n, step: n, remaining: -1}
}

// Next implements load.Client.
func (p *pageClient) Next(buf []byte) []byte {
	if p.remaining == 0 {
		return nil
	}
	p.remaining--
	if p.current += p.step; p.current >= len(p.requests) {
		p.current %= p.step
	}
	return append(buf, p.requests[p.current]...)
}

// Done implements load.Client.
func (p *pageClient) Done(status int, body []byte) error {
	want := p.expectedReplies[p.current]
	if status == http.StatusOK && bytes.Equal(body, want) {
		return nil
	}
	return fmt.Errorf("status %d with %s, want %s", status, excerpt(body, want), excerpt(want, body))
}

// excerpt returns a part of text, preceded by its offset. The part begins shortly before
// the first byte that differs from the other text.
func excerpt(text, other []byte) string {
	same := 0
	for same < len(text) && same < len(other) && text[same] == other[same] {
		same++
	}
	from := max(0, same-60)
	return strconv.Itoa(from) + ": …" + string(text[from:min(len(text), from+200)]) + "…"
}
