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
)

// row is what the database holds for a user and a subject.
type row struct {
	reaction, collected, followed set
	reads                         int64
}

type rowKey struct {
	user string
	subject
}

// stored returns all rows.
func (s *site) stored(t *testing.T) map[rowKey]row {
	t.Helper()
	rows, err := s.database.Query(t.Context(), `
		SELECT user_id, biz, biz_id, coalesce(r.state, 0), coalesce(c.state, ''), coalesce(f.state, 0), coalesce(v.times, 0)
		FROM user_reaction r
		FULL JOIN user_collection c USING (tenant, user_id, biz, biz_id)
		FULL JOIN user_follow f USING (tenant, user_id, biz, biz_id)
		FULL JOIN user_read v USING (tenant, user_id, biz, biz_id)`)
	must(t, err)
	defer rows.Close()
	out := map[rowKey]row{}
	for rows.Next() {
		var key rowKey
		var reaction, follow int16
		var folder string
		var r row
		must(t, rows.Scan(&key.user, &key.biz, &key.id, &reaction, &folder, &follow, &r.reads))
		r.reaction, r.collected, r.followed = reactionOf(reaction), folderOf(folder), followOf(follow)
		out[key] = r
	}
	must(t, rows.Err())
	return out
}

// rowOf returns the row of a client and a subject, or an empty one.
func rowOf(stored map[rowKey]row, c *client, sub subject) row {
	if got, there := stored[rowKey{c.name, sub}]; there {
		return got
	}
	return row{reaction: none, collected: none, followed: none}
}

// missing returns the acknowledged actions that the database lacks, and the states in it
// that no action explains.
func (s *site) missing(t *testing.T) (missing []string) {
	t.Helper()
	stored := s.stored(t)
	for _, c := range s.clients {
		for sub, known := range c.known {
			got := rowOf(stored, c, sub)
			if !known.reaction.has(got.reaction) || !known.collected.has(got.collected) || !known.followed.has(got.followed) ||
				got.reads < known.reads || got.reads > known.reads+known.maybeReads {
				missing = append(missing, fmt.Sprintf("%s, %v: acknowledged %+v, stored %+v", c.name, sub, known, got))
			}
		}
	}
	return missing
}

// drainAndCompare waits until everything acknowledged is persisted and checks the result,
// again when every reply is LIVE.
func (s *site) drainAndCompare(t *testing.T) {
	t.Helper()
	s.enter("settling", rules{})
	s.resolve(t)
	s.resolveMessages(t)
	empty := func() bool { return s.waiting(t, partitionQueues()...)+s.unsettled() == 0 }
	eventually(t, "the queues are empty", waitTimeout, empty)
	var missing []string
	if !waitUntil(10*time.Second, func() bool { missing = s.missing(t); return len(missing) == 0 }) {
		t.Errorf("%d states differ from what was acknowledged:\n%s", len(missing), firstLines(missing))
	}
	if n := s.waiting(t, "dead"); n > 0 {
		t.Errorf("%d messages were dead-lettered, want none", n)
	}
	s.checkCounts(t)
	s.checkComments(t)
	s.checkMessages(t)
	for _, node := range s.currentNodes() {
		s.checkShown(t, node)
		s.checkLists(t, node)
		s.checkCommentLists(t, node)
		s.checkTotals(t, node)
	}
	s.live(t)
	for _, node := range s.currentNodes() {
		s.checkShown(t, node)
	}
	if said, err := s.run("verify"); err != nil || strings.Contains(said, "not compared") {
		t.Errorf("ovation verify: got %v, want success with Redis compared:\n%s", err, said)
	}
	for _, p := range s.workers {
		p.stop(t)
	}
	for _, p := range s.currentNodes() {
		p.stop(t)
	}
	if !waitUntil(10*time.Second, func() bool { return s.waiting(t, partitionQueues()...) == 0 }) {
		t.Errorf("%d messages are queued after the workers stopped, want none returned", s.waiting(t, partitionQueues()...))
	}
	s.checkLogs(t)
}

// unsettled returns the number of unsettled messages of the workers.
func (s *site) unsettled() int {
	n := 0
	for _, p := range s.workers {
		response, err := probes.Get(p.url + "/metrics")
		if err != nil {
			return 1
		}
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			if value, is := strings.CutPrefix(lines.Text(), "ovation_queue_unsettled_messages "); is {
				f, _ := strconv.ParseFloat(value, 64) // Prometheus wrote it
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

// checkCounts compares the counts with the rows that they count.
func (s *site) checkCounts(t *testing.T) {
	t.Helper()
	var wrong []string
	stored := s.counts(t)
	for sub, want := range s.counted(t) {
		if got := stored[sub]; got != want {
			wrong = append(wrong, fmt.Sprintf("%v: stored are %+v, counted %+v", sub, got, want))
		}
	}
	if len(wrong) > 0 {
		t.Errorf("%d subjects are not counted right:\n%s", len(wrong), firstLines(wrong))
	}
}

// counted counts the rows of each subject.
func (s *site) counted(t *testing.T) map[subject]counts {
	t.Helper()
	out := map[subject]counts{}
	for key, r := range s.stored(t) {
		n := out[key.subject]
		n.ReadCount += r.reads
		n.LikeCount += bit(r.reaction == like)
		n.DislikeCount += bit(r.reaction == dislike)
		n.CollectCount += bit(r.collected != none)
		n.FollowerCount += bit(r.followed == following)
		out[key.subject] = n
	}
	return out
}

// counts returns the counts in the database.
func (s *site) counts(t *testing.T) map[subject]counts {
	t.Helper()
	rows, err := s.database.Query(t.Context(), `SELECT biz, biz_id, read_count, like_count, dislike_count, collect_count, follower_count FROM interactive`)
	must(t, err)
	defer rows.Close()
	out := map[subject]counts{}
	for rows.Next() {
		var sub subject
		var n counts
		must(t, rows.Scan(&sub.biz, &sub.id, &n.ReadCount, &n.LikeCount, &n.DislikeCount, &n.CollectCount, &n.FollowerCount))
		out[sub] = n
	}
	must(t, rows.Err())
	return out
}

// checkShown waits until the node shows to everyone what the database holds.
func (s *site) checkShown(t *testing.T, node *process) {
	t.Helper()
	stored, counts := s.stored(t), s.counts(t)
	for _, c := range s.clients {
		var wrong []string
		shows := func() bool {
			wrong = nil
			page, code := c.page(node, c.subjects)
			if code != "" {
				wrong = []string{code}
				return false
			}
			for i, sub := range c.subjects {
				got := &page[i]
				want := rowOf(stored, c, sub)
				if got.Freshness == "UNAVAILABLE" || got.reaction() != want.reaction || (got.Collected != nil) != (want.collected != none) ||
					got.following() != want.followed || got.times() != want.reads || got.counts != counts[sub] {
					wrong = append(wrong, fmt.Sprintf("%v: stored %+v, counts %+v, shown %s", sub, want, counts[sub], describe(got)))
				}
			}
			return len(wrong) == 0
		}
		if !waitUntil(10*time.Second, shows) {
			t.Errorf("%s shows %s states that differ from the database:\n%s", node.name, c.name, firstLines(wrong))
			return
		}
	}
}

// live waits until every reply is LIVE again.
func (s *site) live(t *testing.T) {
	t.Helper()
	began := time.Now()
	for _, node := range s.currentNodes() {
		for _, c := range s.clients {
			eventually(t, node.name+" is live for "+c.name, 90*time.Second, func() bool {
				page, code := c.page(node, c.subjects)
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
	t.Logf("everything is live %v after the load has ended", time.Since(began).Round(time.Millisecond))
}

// firstLines returns the first of many lines.
func firstLines(lines []string) string {
	const most = 8
	if len(lines) > most {
		lines = append(lines[:most:most], fmt.Sprintf("and %d more", len(lines)-most))
	}
	return strings.Join(lines, "\n")
}
