package main

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// newTestSimulation returns a simulation with users but without an installation.
func newTestSimulation() *simulation {
	d := &simulation{bench: &bench{options: options{seed: 1}}, userCount: minUsers, recorder: newRecorder(), clip: []byte("clip")}
	for n := range minUsers {
		v := newSimulatedUser(d, n, "person-"+string(rune('0'+n)), "token")
		v.address = "127.0.0.1:1"
		d.users = append(d.users, v)
	}
	return d
}

const feedReply = `{"data":{"feed":{"edges":[{"node":{"videoId":"7","playUrl":"/media/videos/x","author":{"userId":"person-1",` +
	`"interactive":{"freshness":"LIVE","followed":null}},"interactive":{"freshness":"LIVE","liked":null}}}],"pageInfo":{"hasNextPage":true,"endCursor":"c"}}}}`

func TestWrongRepliesToSimulatedUsersAreFound(t *testing.T) {
	v := newTestSimulation().users[0]
	one := feedVideo{VideoID: "7", PlayURL: "/media/videos/x", Author: author{UserID: "person-1"}}
	liked := strings.Replace(feedReply, `"liked":null`, `"liked":{"reaction":"LIKE"}`, 1)
	for _, c := range []struct {
		name   string
		errand task
		status int
		reply  string
		wrong  bool
	}{
		{"a feed", v.scrollFeed(true, ""), http.StatusOK, feedReply, false},
		{"an empty feed", v.scrollFeed(true, ""), http.StatusOK, `{"data":{"feed":{"edges":[],"pageInfo":{"hasNextPage":false}}}}`, true},
		{"a like that was not made", v.scrollFeed(true, ""), http.StatusOK, liked, true},
		{"a stale like that was not made", v.scrollFeed(true, ""), http.StatusOK, strings.ReplaceAll(liked, "LIVE", "STALE"), false},
		{"the own video", v.scrollFeed(true, "7"), http.StatusOK, feedReply, false},
		{"the own video is missing", v.scrollFeed(true, "8"), http.StatusOK, feedReply, true},
		{"an error", v.scrollFeed(true, ""), http.StatusOK, `{"data":null,"errors":[{"message":"no"}]}`, true},
		{"a clip", v.watchClip(one), http.StatusPartialContent, "clip", false},
		{"another clip", v.watchClip(one), http.StatusPartialContent, "clop", true},
		{"a deleted clip", v.watchClip(one), http.StatusNotFound, "clip", true},
		{"a comment", v.addComment("7"), http.StatusOK, `{"data":{"addComment":{"comment":{"commentId":"5"}}}}`, false},
		{"no comment", v.addComment("7"), http.StatusOK, `{"data":{"addComment":{"comment":{}}}}`, true},
		{"the own comment", v.readComments("7", "5"), http.StatusOK, `{"data":{"interactive":{"comments":{"edges":[{"node":{"commentId":"5"}}]}}}}`, false},
		{"the own comment is missing", v.readComments("7", "5"), http.StatusOK, `{"data":{"interactive":{"comments":{"edges":[{"node":{"commentId":"55"}}]}}}}`, true},
		{"a video", v.uploadClip(), http.StatusCreated, `{"video":{"videoId":"9"}}`, false},
		{"a video that is refused", v.uploadClip(), http.StatusTooManyRequests, `{"errors":[]}`, true},
		{"a like that does not show", v.like("8"), http.StatusOK, `{"data":{"did":{"interactive":{"freshness":"LIVE","is":null}}}}`, true},
		{"a like", v.like("7"), http.StatusOK, `{"data":{"did":{"interactive":{"freshness":"LIVE","is":{"reaction":"LIKE"}}}}}`, false},
		{"a feed with it", v.scrollFeed(true, ""), http.StatusOK, liked, false},
		{"a feed without it", v.scrollFeed(true, ""), http.StatusOK, feedReply, true},
	} {
		if err := c.errand.check(c.status, []byte(c.reply)); (err != nil) != c.wrong {
			t.Errorf("%s: got %v, want an error: %t", c.name, err, c.wrong)
		}
	}
	if v.commented != (tally{1, 1}) || v.uploaded != (tally{1, 1}) || !v.liked.acked["7"] || !v.liked.uncertain["8"] || v.liked.uncertain["7"] {
		t.Errorf("commented %+v, uploaded %+v, liked %+v, want {1 1} twice, 7 liked and 8 uncertain", v.commented, v.uploaded, v.liked)
	}
}

// TestSimulatedUsersPerformEveryAction checks that a user performs every kind of action
// and writes complete requests.
func TestSimulatedUsersPerformEveryAction(t *testing.T) {
	d := newTestSimulation()
	v := d.users[0]
	if err := v.scrollFeed(true, "").check(http.StatusOK, []byte(feedReply)); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 3000 {
		v.chooseAction()
		for _, one := range v.tasks {
			seen[one.name] = true
			head, body, whole := strings.Cut(string(one.appendRequest(nil)), "\r\n\r\n")
			if !whole || !strings.Contains(head, "Host: 127.0.0.1:1") || strings.HasPrefix(head, "POST") == (body == "") {
				t.Fatalf("%s: got the head %q, want a whole request to 127.0.0.1:1 and a body with POST only", one.name, head)
			}
		}
	}
	if len(seen) != 11 {
		t.Errorf("users performed %v, want 11 kinds of action", seen)
	}
	for range 200 {
		if friend := v.friend(); friend == v.name {
			t.Fatalf("%s chats with itself, want another user", friend)
		}
	}
}

func TestRequestsWithoutAReplyCountAsFailed(t *testing.T) {
	d := newTestSimulation()
	v := d.users[3]
	one := v.addComment("7")
	v.currentTask, v.sentAt = &one, time.Now()
	v.recordMissingReply()
	if v.currentTask != nil || v.commented != (tally{0, 1}) || d.recorder.failures() != 1 {
		t.Errorf("after a request without a reply: current %v, commented %+v, %d failures, want nil, {0 1}, 1", v.currentTask, v.commented, d.recorder.failures())
	}
	d.recorder.record("x", time.Second, nil)
	d.recorder.record("x", time.Second, errors.New("no"))
	if d.recorder.failures() != 2 || d.recorder.byAction["x"].latency.TotalCount() != 1 || len(d.recorder.faults) != 2 {
		t.Errorf("recorded are %d wrong, %d times, %q, want 2, 1 and 2 faults", d.recorder.failures(), d.recorder.byAction["x"].latency.TotalCount(), d.recorder.faults)
	}
}

func TestLostStatesAreFound(t *testing.T) {
	m := userStates{map[string]bool{"1": true, "2": false, "3": true}, map[string]bool{"3": true, "4": true}}
	for _, c := range []struct {
		name   string
		stored []string
		left   int
		wrong  bool
	}{
		{"as acknowledged", []string{"1"}, 0, false},
		{"with likes in doubt", []string{"1", "3", "4"}, 0, false},
		{"lost", []string{"3"}, 0, true},
		{"removed, and still stored", []string{"1", "2"}, 0, true},
		{"not made", []string{"1", "5"}, 1, false},
	} {
		stored := map[stateKey]bool{}
		for _, subject := range c.stored {
			stored[stateKey{"ann", subject}] = true
		}
		if err := m.compareStored("ann", stored); (err != nil) != c.wrong || !c.wrong && len(stored) != c.left {
			t.Errorf("%s: got %v, left %v, want an error: %t, otherwise %d left", c.name, err, stored, c.wrong, c.left)
		}
	}
}

func TestSimulationFlagsAreChecked(t *testing.T) {
	for _, bad := range [][]string{{"-people", "3"}, {"-during", "1ms"}, {"now"}, {"-people", "many"}} {
		if _, _, _, err := parseSimulation(bad); err == nil {
			t.Errorf("parseSimulation(%q) returned no error, want one", bad)
		}
	}
	if _, people, during, err := parseSimulation(nil); err != nil || people != 500 || during != time.Minute {
		t.Errorf("parseSimulation(nil) = %d users for %v, %v, want 500 for a minute", people, during, err)
	}
}
