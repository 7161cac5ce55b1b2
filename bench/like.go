package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"

	"ovation/bench/load"
)

// The mutations that like a subject. likeMutation is compared with a like in the floor,
// the baseline server. likeWithCountMutation also requests the count and the reaction
// that a page shows.
const (
	likeMutation          = `mutation Like($input: LikeInput!) { like(input: $input) { changed durability } }`
	likeWithCountMutation = `mutation Like($input: LikeInput!) { like(input: $input) { changed durability interactive { likeCount liked { reaction } } } }`
)

// firstLikeReply is the reply to likeMutation. A node sends bypassedLikeReply instead if
// it persisted the like itself, because the queue did not confirm in time.
var (
	firstLikeReply    = []byte(`{"data":{"like":{"changed":true,"durability":"QUEUED"}}}`)
	bypassedLikeReply = []byte(`{"data":{"like":{"changed":true,"durability":"PERSISTED"}}}`)
)

// isFirstLikeReply reports whether body is the reply to a first like. It counts likes
// that bypassed the queue.
func (s *system) isFirstLikeReply(body []byte) bool {
	switch {
	case s.floor:
		return string(body) == floorLikeReply
	case bytes.Equal(body, bypassedLikeReply):
		s.users.bypassedQueue.Add(1)
		return true
	}
	return bytes.Equal(body, firstLikeReply)
}

// appendLike appends the request for a like to buf. It builds the body in scratch. It
// returns both slices, so that the next call can reuse them.
func (s *system) appendLike(buf, scratch []byte, user int, query, biz, id string) (request, scratched []byte) {
	scratch = scratch[:0]
	if s.floor {
		scratch = append(scratch, `{"user":"`...)
		scratch = append(scratch, s.users.names[user]...)
		scratch = append(scratch, `","id":"`...)
		scratch = append(scratch, id...)
		scratch = append(scratch, `"}`...)
		return load.Post(buf, s.process.address, "/like", "", scratch), scratch
	}
	scratch = append(scratch, `{"query":"`...)
	scratch = append(scratch, query...)
	scratch = append(scratch, `","operationName":"Like","variables":{"input":{"biz":"`...)
	scratch = append(scratch, biz...)
	scratch = append(scratch, `","bizId":"`...)
	scratch = append(scratch, id...)
	scratch = append(scratch, `"}}}`...)
	return load.Post(buf, s.process.address, "/graphql", s.users.tokens[user], scratch), scratch
}

// likeClient sends likes as random readers. No reader likes a subject twice.
type likeClient struct {
	*userPool

	system       *system
	random       *rand.Rand
	hotSubject   int  // the only subject to like; negative: random subjects
	withCount    bool // whether to send likeWithCountMutation
	initialState *databaseState
	user         int // the user of the current like
	subject      int
	scratch      []byte
}

// newLikeClients returns n clients that send likes as random readers. It passes each
// client to the given function, which configures the client.
func (s *system) newLikeClients(n int, seed uint64, with func(*likeClient)) []load.Client {
	out := make([]load.Client, n)
	for i := range out {
		l := &likeClient{userPool: s.users, system: s, hotSubject: -1, random: rand.New(rand.NewPCG(seed, uint64(i)))} //nolint:gosec // it is meant to be the same each time
		with(l)
		out[i] = l
	}
	return out
}

// Next implements load.Client.
func (l *likeClient) Next(buf []byte) []byte {
	if !l.chooseLike() {
		return nil
	}
	query := cmp.Or(l.system.mutation, likeMutation)
	if l.withCount {
		query = likeWithCountMutation
	}
	buf, l.scratch = l.system.appendLike(buf, l.scratch, l.user, query, biz, l.subjects.names[l.subject])
	return buf
}

// chooseLike draws a user and a subject, and records the like as sent. It returns false
// if it finds no like that was not sent before.
func (l *likeClient) chooseLike() bool {
	for range l.names[l.viewerCount:] {
		l.user = l.viewerCount + l.random.IntN(len(l.names)-l.viewerCount)
		if l.subject = l.hotSubject; l.hotSubject < 0 {
			l.subject = l.drawUnliked(l.user, l.random)
		} else if !l.recordSent(l.user, l.hotSubject) {
			continue
		}
		if l.subject >= 0 {
			return true
		}
	}
	return false
}

// Done implements load.Client.
func (l *likeClient) Done(status int, body []byte) error {
	if status != http.StatusOK {
		return fmt.Errorf("status %d with %.200s", status, body)
	}
	if !l.withCount {
		if !l.system.isFirstLikeReply(body) {
			return fmt.Errorf("got %.200s, want %s", body, firstLikeReply)
		}
	} else if err := l.checkCount(body); err != nil {
		return fmt.Errorf("%w: %.200s", err, body)
	}
	l.recordAcked(l.user, l.subject)
	return nil
}

// The parts of a reply to likeWithCountMutation before and after the count. If the node
// persisted the like itself, the reply begins with bypassedReplyPrefix.
var (
	countReplyPrefix    = []byte(`{"data":{"like":{"changed":true,"durability":"QUEUED","interactive":{"likeCount":`)
	bypassedReplyPrefix = []byte(`{"data":{"like":{"changed":true,"durability":"PERSISTED","interactive":{"likeCount":`)
	countReplySuffix    = []byte(`,"liked":{"reaction":"LIKE"}}}}}`)
)

// checkCount checks that the count in body includes the like, but no more likes than were
// sent.
func (l *likeClient) checkCount(body []byte) error {
	rest, before := bytes.CutPrefix(body, countReplyPrefix)
	if !before {
		if rest, before = bytes.CutPrefix(body, bypassedReplyPrefix); before {
			l.bypassedQueue.Add(1)
		}
	}
	rest, after := bytes.CutSuffix(rest, countReplySuffix)
	if !before || !after {
		return errors.New("this is not the reply to a first like")
	}
	count, err := strconv.ParseInt(string(rest), 10, 64)
	if err != nil {
		return err
	}
	least := l.initialState.counts[l.subjects.names[l.subject]].likes
	if most := least + l.sent[l.subject].Load() - l.initialState.sent[l.subject]; count <= least || count > most {
		return fmt.Errorf("the reply counts %d likes, want %d to %d", count, least+1, most)
	}
	return nil
}

// mixedClient requests pages. Sometimes it likes a subject of the last page instead, as
// the viewer of that page.
type mixedClient struct {
	*pageClient

	users          *userPool
	pages          []page
	system         *system
	initialState   *databaseState
	random         *rand.Rand
	readOnly       bool // whether the client sends no likes, although other clients do
	isLike         bool
	subject        int
	pagesRequested int
	acked          [pageSize]bool // for each subject of the page, whether the viewer's like was acknowledged before the request
	scratch        []byte
}

const pageCheckInterval = 16 // one of this many pages is checked

// newMixedClients returns n clients that share the pages of a workload. If quiet is true,
// the clients send no likes.
func (b *workload) newMixedClients(pages []page, s *system, base *databaseState, n int, seed uint64, quiet bool) []load.Client {
	out := make([]load.Client, n)
	for i := range out {
		out[i] = &mixedClient{
			pageClient: b.newPageClient(i, n), users: s.users, pages: pages, system: s, initialState: base, readOnly: quiet,
			random: rand.New(rand.NewPCG(seed, uint64(i))), //nolint:gosec // it is meant to be the same each time
		}
	}
	return out
}

// Next implements load.Client.
func (m *mixedClient) Next(buf []byte) []byte {
	if m.isLike = !m.readOnly && m.pagesRequested > 0 && m.random.IntN(mixedLikeInterval) == 0 && m.chooseLike(); !m.isLike {
		m.pagesRequested++
		buf = m.pageClient.Next(buf)
		of := &m.pages[m.current]
		for i, subject := range of.subjects {
			m.acked[i] = m.users.likes[of.viewer].acked.has(subject)
		}
		return buf
	}
	buf, m.scratch = m.system.appendLike(buf, m.scratch, m.pages[m.current].viewer, likeMutation, biz, m.users.subjects.names[m.subject])
	return buf
}

// chooseLike chooses a subject of the current page that the viewer has not liked, and
// records the like as sent. It returns false if there is no such subject.
func (m *mixedClient) chooseLike() bool {
	of := &m.pages[m.current]
	first := m.random.IntN(len(of.subjects))
	for i := range of.subjects {
		m.subject = of.subjects[(first+i)%len(of.subjects)]
		_, before := m.initialState.liked[stateKey{m.users.names[of.viewer], m.users.subjects.names[m.subject]}]
		if !before && m.users.recordSent(of.viewer, m.subject) {
			return true
		}
	}
	return false
}

// Done implements load.Client.
func (m *mixedClient) Done(status int, body []byte) error {
	switch {
	case status != http.StatusOK:
		return fmt.Errorf("status %d with %.200s", status, body)
	case m.isLike && !m.system.isFirstLikeReply(body):
		return fmt.Errorf("got %.200s, want %s", body, firstLikeReply)
	case m.isLike:
		m.users.recordAcked(m.pages[m.current].viewer, m.subject)
	case m.pagesRequested%pageCheckInterval == 0:
		if err := m.checkPage(body); err != nil {
			return fmt.Errorf("%w: %.200s…", err, body)
		}
	}
	return nil
}

// checkPage compares the page in body with the initial state. It takes into account the
// viewer's likes that have been acknowledged since then, and the number of likes that all
// users have sent.
func (m *mixedClient) checkPage(body []byte) error {
	of := &m.pages[m.current]
	items, err := m.system.parsePage(body)
	if err != nil {
		return err
	}
	if len(items) != len(of.subjects) {
		return fmt.Errorf("the page has %d subjects", len(items))
	}
	for i, subject := range of.subjects {
		g, id := &items[i], m.users.subjects.names[subject]
		key, was := stateKey{m.users.names[of.viewer], id}, m.initialState.counts[id]
		_, liked := m.initialState.liked[key]
		_, collected := m.initialState.collected[key]
		least, most := was.likes, was.likes+m.users.sent[subject].Load()-m.initialState.sent[subject]
		maybe := !liked && m.users.likes[of.viewer].sent.has(subject)
		if !liked && g.liked && !m.system.floor { // the floor's counts come from a cache and may lack this like
			least++
		}
		if !liked && m.acked[i] {
			liked, maybe = true, false
		}
		switch {
		case g.id != id:
			return fmt.Errorf("got subject %s, want %s", g.id, id)
		case g.reads != was.reads || g.dislikes != was.dislikes || g.collections != was.collections:
			return fmt.Errorf("the counts of %s are not %+v", id, was)
		case g.liked != liked && !maybe || g.collected != collected:
			return fmt.Errorf("the states of %s on %s are wrong", key.user, id)
		case g.likes < least || g.likes > most:
			return fmt.Errorf("%s has %d likes, want %d to %d", id, g.likes, least, most)
		}
	}
	return nil
}

// pageItem is one subject of a page.
type pageItem struct {
	id string
	counts
	liked, collected bool
}

// parsePage parses a reply to a request for a page.
func (s *system) parsePage(body []byte) (items []pageItem, err error) {
	if s.floor {
		return parseFloorPage(body)
	}
	var got struct {
		Data struct {
			Interactives []struct {
				BizID                                            string
				ReadCount, LikeCount, DislikeCount, CollectCount int64
				Liked                                            *struct{ Reaction string }
				Collected                                        *struct{ At string }
			}
		}
	}
	err = json.Unmarshal(body, &got) //nolint:musttag // names differ in case alone
	for _, g := range got.Data.Interactives {
		if g.Liked != nil && g.Liked.Reaction != "LIKE" {
			return nil, fmt.Errorf("unexpected reaction %s", g.Liked.Reaction)
		}
		items = append(items, pageItem{
			g.BizID, counts{g.ReadCount, g.LikeCount, g.DislikeCount, g.CollectCount}, g.Liked != nil, g.Collected != nil,
		})
	}
	return items, err
}
