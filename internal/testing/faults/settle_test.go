//go:build long

package faults_test

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"ovation/internal/testing/must"
)

// storedState holds the states of one user on one subject in the database.
type storedState struct {
	reaction, collection, follow stateSet
	reads                        int64
}

type stateKey struct {
	user string
	subject
}

// storedStates returns all states in the database.
func (s *installation) storedStates(t *testing.T) map[stateKey]storedState {
	t.Helper()
	rows, err := s.database.Query(t.Context(), `
		SELECT user_id, biz, biz_id, coalesce(r.state, 0), coalesce(c.state, ''), coalesce(f.state, 0), coalesce(v.times, 0)
		FROM user_reaction r
		FULL JOIN user_collection c USING (tenant, user_id, biz, biz_id)
		FULL JOIN user_follow f USING (tenant, user_id, biz, biz_id)
		FULL JOIN user_read v USING (tenant, user_id, biz, biz_id)`)
	must.Succeed(t, err)
	defer rows.Close()
	out := map[stateKey]storedState{}
	for rows.Next() {
		var key stateKey
		var reaction, follow int16
		var folder string
		var r storedState
		must.Succeed(t, rows.Scan(&key.user, &key.biz, &key.id, &reaction, &folder, &follow, &r.reads))
		r.reaction, r.collection, r.follow = reactionOf(reaction), folderOf(folder), followOf(follow)
		out[key] = r
	}
	must.Succeed(t, rows.Err())
	return out
}

// storedStateOf returns the stored states of a client on a subject. They are empty if
// there is no row.
func storedStateOf(stored map[stateKey]storedState, c *client, sub subject) storedState {
	if got, there := stored[stateKey{c.name, sub}]; there {
		return got
	}
	return storedState{reaction: stateNone, collection: stateNone, follow: stateNone}
}

// findDifferences describes the stored states that differ from the clients' expectations.
func (s *installation) findDifferences(t *testing.T) (missing []string) {
	t.Helper()
	stored := s.storedStates(t)
	for _, c := range s.clients {
		for sub, known := range c.expected {
			got := storedStateOf(stored, c, sub)
			if !known.reaction.has(got.reaction) || !known.collection.has(got.collection) || !known.follow.has(got.follow) ||
				got.reads < known.reads || got.reads > known.reads+known.uncertainReads {
				missing = append(missing, fmt.Sprintf("%s, %v: acknowledged %+v, stored %+v", c.name, sub, known, got))
			}
		}
	}
	return missing
}

// drainAndCompare waits until everything acknowledged is persisted, and checks the
// result. It checks the replies again once all replies are LIVE.
func (s *installation) drainAndCompare(t *testing.T) {
	t.Helper()
	s.enterPhase("settling", allowances{})
	s.resolveComments(t)
	s.resolveMessages(t)
	empty := func() bool { return s.countQueued(t, partitionQueues()...)+s.countUnsettled() == 0 }
	awaitCondition(t, "the queues are empty", empty)
	var missing []string
	if !pollUntil(func() bool { missing = s.findDifferences(t); return len(missing) == 0 }) {
		t.Errorf("%d states differ from what was acknowledged:\n%s", len(missing), firstLines(missing))
	}
	if n := s.countQueued(t, "dead"); n > 0 {
		t.Errorf("%d messages were dead-lettered, want none", n)
	}
	s.checkCounts(t)
	s.checkComments(t)
	s.checkMessages(t)
	for _, node := range s.currentNodes() {
		s.checkViews(t, node)
		s.checkLists(t, node)
		s.checkCommentLists(t, node)
		s.checkTotals(t, node)
	}
	s.awaitLive(t)
	for _, node := range s.currentNodes() {
		s.checkViews(t, node)
	}
	if said, err := s.run("verify"); err != nil || strings.Contains(said, "not compared") {
		t.Errorf("ovation verify: got %v, want success with Redis compared:\n%s", err, said)
	}
	s.checkEvents(t)
	for _, p := range s.workers {
		p.stop(t)
	}
	for _, p := range s.currentNodes() {
		p.stop(t)
	}
	if !pollUntil(func() bool { return s.countQueued(t, partitionQueues()...) == 0 }) {
		t.Errorf("%d messages are queued after the workers stopped, want none returned", s.countQueued(t, partitionQueues()...))
	}
	s.checkLogs(t)
}

// countUnsettled returns the number of messages that the workers have not settled, or 1
// if a worker's metrics cannot be read.
func (s *installation) countUnsettled() int {
	n := 0
	for _, p := range s.workers {
		response, err := probeHTTP.Get(p.url + "/metrics")
		if err != nil {
			return 1
		}
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			if value, is := strings.CutPrefix(lines.Text(), "ovation_queue_unsettled_messages "); is {
				f, _ := strconv.ParseFloat(value, 64) // the worker formatted the number
				n += int(f)
			}
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return 1
		}
	}
	return n
}

// checkCounts compares the stored counts with counts that are computed from the rows.
func (s *installation) checkCounts(t *testing.T) {
	t.Helper()
	var wrong []string
	stored := s.storedCounts(t)
	for sub, want := range s.countStates(t) {
		if got := stored[sub]; got != want {
			wrong = append(wrong, fmt.Sprintf("%v: stored %+v, counted %+v", sub, got, want))
		}
	}
	if len(wrong) > 0 {
		t.Errorf("the counts of %d subjects differ from their rows:\n%s", len(wrong), firstLines(wrong))
	}
}

// countStates computes the counts of each subject from the rows.
func (s *installation) countStates(t *testing.T) map[subject]counts {
	t.Helper()
	out := map[subject]counts{}
	for key, r := range s.storedStates(t) {
		n := out[key.subject]
		n.ReadCount += r.reads
		n.ReaderCount += boolToInt(r.reads > 0 && key.user != "")
		n.LikeCount += boolToInt(r.reaction == stateLiked)
		n.DislikeCount += boolToInt(r.reaction == stateDisliked)
		n.CollectCount += boolToInt(r.collection != stateNone)
		n.FollowerCount += boolToInt(r.follow == stateFollowing)
		out[key.subject] = n
	}
	return out
}

// storedCounts returns the counts in the database.
func (s *installation) storedCounts(t *testing.T) map[subject]counts {
	t.Helper()
	rows, err := s.database.Query(t.Context(), `SELECT biz, biz_id, read_count, reader_count, like_count, dislike_count, collect_count, follower_count FROM interactive`)
	must.Succeed(t, err)
	defer rows.Close()
	out := map[subject]counts{}
	for rows.Next() {
		var sub subject
		var n counts
		must.Succeed(t, rows.Scan(&sub.biz, &sub.id, &n.ReadCount, &n.ReaderCount, &n.LikeCount, &n.DislikeCount, &n.CollectCount, &n.FollowerCount))
		out[sub] = n
	}
	must.Succeed(t, rows.Err())
	return out
}

// checkViews waits until the node's replies to every client agree with the database.
func (s *installation) checkViews(t *testing.T, node *process) {
	t.Helper()
	stored, counts := s.storedStates(t), s.storedCounts(t)
	for _, c := range s.clients {
		var wrong []string
		shows := func() bool {
			wrong = nil
			page, code := c.fetchPage(node, c.subjects)
			if code != "" {
				wrong = []string{code}
				return false
			}
			for i, sub := range c.subjects {
				got := &page[i]
				want := storedStateOf(stored, c, sub)
				if got.Freshness == "UNAVAILABLE" || got.reactionState() != want.reaction || (got.Collected != nil) != (want.collection != stateNone) ||
					got.followState() != want.follow || got.readTimes() != want.reads || got.counts != counts[sub] {
					wrong = append(wrong, fmt.Sprintf("%v: stored %+v, counts %+v, shown %s", sub, want, counts[sub], describe(got)))
				}
			}
			return len(wrong) == 0
		}
		if !pollUntil(shows) {
			t.Errorf("%s shows %s states that differ from the database:\n%s", node.name, c.name, firstLines(wrong))
			return
		}
	}
}

// awaitLive waits until every reply is LIVE again.
func (s *installation) awaitLive(t *testing.T) {
	t.Helper()
	began := time.Now()
	for _, node := range s.currentNodes() {
		for _, c := range s.clients {
			awaitCondition(t, node.name+" is live for "+c.name, func() bool {
				page, code := c.fetchPage(node, c.subjects)
				if code != "" {
					return false
				}
				for i := range page {
					if page[i].Freshness != "LIVE" {
						return false
					}
				}
				return true
			})
		}
	}
	t.Logf("all replies are LIVE %v after the load ended", time.Since(began).Round(time.Millisecond))
}

// firstLines returns the first few lines. If it omits lines, it adds a line that states
// how many.
func firstLines(lines []string) string {
	const most = 8
	if len(lines) > most {
		lines = append(lines[:most:most], fmt.Sprintf("and %d more", len(lines)-most))
	}
	return strings.Join(lines, "\n")
}
