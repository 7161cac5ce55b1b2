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

// The mutations of a like: bareLike is compared with the floor, shownLike also requests
// what a page shows of the like.
const (
	bareLike  = `mutation Like($input: LikeInput!) { like(input: $input) { changed durability } }`
	shownLike = `mutation Like($input: LikeInput!) { like(input: $input) { changed durability interactive { likeCount liked { reaction } } } }`
)

// firstLike is the reply to bareLike. bypassedLike is the reply of a node that persisted
// the like itself because the queue did not confirm in time.
var (
	firstLike    = []byte(`{"data":{"like":{"changed":true,"durability":"QUEUED"}}}`)
	bypassedLike = []byte(`{"data":{"like":{"changed":true,"durability":"PERSISTED"}}}`)
)

// isFirst reports whether this is the reply to a first like.
func (s *side) isFirst(body []byte) bool {
	switch {
	case s.floor:
		return string(body) == floorLiked
	case bytes.Equal(body, bypassedLike):
		s.people.bypassed.Add(1)
		return true
	}
	return bytes.Equal(body, firstLike)
}

// like appends the request for a like to buf.
func (s *side) like(buf, scratch []byte, user int, query, biz, id string) (request, scratched []byte) {
	scratch = scratch[:0]
	if s.floor {
		scratch = append(scratch, `{"user":"`...)
		scratch = append(scratch, s.people.names[user]...)
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
	return load.Post(buf, s.process.address, "/graphql", s.people.tokens[user], scratch), scratch
}

// liker sends likes of random users for subjects that they have not liked yet.
type liker struct {
	*people

	side    *side
	random  *rand.Rand
	hot     int  // the one subject that is liked; none below 0
	shown   bool // sends shownLike
	base    *truth
	user    int // the user of the current like
	subject int
	scratch []byte
}

// likers returns n clients that like as random readers.
func (s *side) likers(n int, seed uint64, with func(*liker)) []load.Client {
	out := make([]load.Client, n)
	for i := range out {
		l := &liker{people: s.people, side: s, hot: -1, random: rand.New(rand.NewPCG(seed, uint64(i)))} //nolint:gosec // it is meant to be the same each time
		with(l)
		out[i] = l
	}
	return out
}

// Next implements load.Client.
func (l *liker) Next(buf []byte) []byte {
	if !l.choose() {
		return nil
	}
	query := cmp.Or(l.side.query, bareLike)
	if l.shown {
		query = shownLike
	}
	buf, l.scratch = l.side.like(buf, l.scratch, l.user, query, biz, l.subjects.names[l.subject])
	return buf
}

// choose draws a user and a subject, and records the like as sent.
func (l *liker) choose() bool {
	for range l.names[l.viewers:] {
		l.user = l.viewers + l.random.IntN(len(l.names)-l.viewers)
		if l.subject = l.hot; l.hot < 0 {
			l.subject = l.fresh(l.user, l.random)
		} else if !l.send(l.user, l.hot) {
			continue
		}
		if l.subject >= 0 {
			return true
		}
	}
	return false
}

// Done implements load.Client.
func (l *liker) Done(status int, body []byte) error {
	if status != http.StatusOK {
		return fmt.Errorf("status %d with %.200s", status, body)
	}
	if !l.shown {
		if !l.side.isFirst(body) {
			return fmt.Errorf("%.200s came, want %s", body, firstLike)
		}
	} else if err := l.judge(body); err != nil {
		return fmt.Errorf("%w: %.200s", err, body)
	}
	l.ack(l.user, l.subject)
	return nil
}

// The reply to shownLike, around the count.
var (
	shownBefore    = []byte(`{"data":{"like":{"changed":true,"durability":"QUEUED","interactive":{"likeCount":`)
	bypassedBefore = []byte(`{"data":{"like":{"changed":true,"durability":"PERSISTED","interactive":{"likeCount":`)
	shownAfter     = []byte(`,"liked":{"reaction":"LIKE"}}}}}`)
)

// judge checks that the count includes the like, and no more likes than were sent.
func (l *liker) judge(body []byte) error {
	rest, before := bytes.CutPrefix(body, shownBefore)
	if !before {
		if rest, before = bytes.CutPrefix(body, bypassedBefore); before {
			l.bypassed.Add(1)
		}
	}
	rest, after := bytes.CutSuffix(rest, shownAfter)
	if !before || !after {
		return errors.New("this is no first like")
	}
	count, err := strconv.ParseInt(string(rest), 10, 64)
	if err != nil {
		return err
	}
	least := l.base.counts[l.subjects.names[l.subject]].likes
	if most := least + l.sent[l.subject].Load() - l.base.sent[l.subject]; count <= least || count > most {
		return fmt.Errorf("the reply counts %d likes, want %d to %d", count, least+1, most)
	}
	return nil
}

// mixer requests pages, and now and then likes one of the subjects of the last page as
// its viewer.
type mixer struct {
	*pager

	people  *people
	pages   []page
	side    *side
	base    *truth
	random  *rand.Rand
	quiet   bool // it likes nothing, but other clients do
	liking  bool
	subject int
	asked   int
	acked   [pageSize]bool // for each subject, whether the viewer's like was acknowledged before the request
	scratch []byte
}

const mixedSample = 16 // one page in 16 is checked

// mixers returns n clients that share the pages of a book.
func (b *book) mixers(pages []page, s *side, base *truth, n int, seed uint64, quiet bool) []load.Client {
	out := make([]load.Client, n)
	for i := range out {
		out[i] = &mixer{
			pager: b.pager(i, n), people: s.people, pages: pages, side: s, base: base, quiet: quiet,
			random: rand.New(rand.NewPCG(seed, uint64(i))), //nolint:gosec // it is meant to be the same each time
		}
	}
	return out
}

// Next implements load.Client.
func (m *mixer) Next(buf []byte) []byte {
	if m.liking = !m.quiet && m.asked > 0 && m.random.IntN(mixedLikes) == 0 && m.choose(); !m.liking {
		m.asked++
		buf = m.pager.Next(buf)
		of := &m.pages[m.at]
		for i, subject := range of.subjects {
			m.acked[i] = m.people.likes[of.viewer].acked.has(subject)
		}
		return buf
	}
	buf, m.scratch = m.side.like(buf, m.scratch, m.pages[m.at].viewer, bareLike, biz, m.people.subjects.names[m.subject])
	return buf
}

// choose finds a subject of the page that its viewer does not like yet, and records the
// like as sent.
func (m *mixer) choose() bool {
	of := &m.pages[m.at]
	first := m.random.IntN(len(of.subjects))
	for i := range of.subjects {
		m.subject = of.subjects[(first+i)%len(of.subjects)]
		_, before := m.base.liked[pair{m.people.names[of.viewer], m.people.subjects.names[m.subject]}]
		if !before && m.people.send(of.viewer, m.subject) {
			return true
		}
	}
	return false
}

// Done implements load.Client.
func (m *mixer) Done(status int, body []byte) error {
	switch {
	case status != http.StatusOK:
		return fmt.Errorf("status %d with %.200s", status, body)
	case m.liking && !m.side.isFirst(body):
		return fmt.Errorf("%.200s came, want %s", body, firstLike)
	case m.liking:
		m.people.ack(m.pages[m.at].viewer, m.subject)
	case m.asked%mixedSample == 0:
		if err := m.judge(body); err != nil {
			return fmt.Errorf("%w: %.200s…", err, body)
		}
	}
	return nil
}

// judge compares a page with the state before the likes, the replies to its viewer
// since, and the number of likes sent.
func (m *mixer) judge(body []byte) error {
	of := &m.pages[m.at]
	items, err := m.side.parsePage(body)
	if err != nil {
		return err
	}
	if len(items) != len(of.subjects) {
		return fmt.Errorf("the page has %d subjects", len(items))
	}
	for i, subject := range of.subjects {
		g, id := &items[i], m.people.subjects.names[subject]
		key, was := pair{m.people.names[of.viewer], id}, m.base.counts[id]
		_, liked := m.base.liked[key]
		_, collected := m.base.collected[key]
		least, most := was.likes, was.likes+m.people.sent[subject].Load()-m.base.sent[subject]
		maybe := !liked && m.people.likes[of.viewer].sent.has(subject)
		if !liked && g.liked && !m.side.floor { // the floor's counts may be as old as its cache
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

// item is one subject of a page.
type item struct {
	id string
	counts
	liked, collected bool
}

// parsePage parses a reply to a request for a page.
func (s *side) parsePage(body []byte) (items []item, err error) {
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
		items = append(items, item{
			g.BizID, counts{g.ReadCount, g.LikeCount, g.DislikeCount, g.CollectCount}, g.Liked != nil, g.Collected != nil,
		})
	}
	return items, err
}
