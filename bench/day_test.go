package main

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// newTestDay returns a day with visitors but without an installation.
func newTestDay() *day {
	d := &day{bench: &bench{options: options{seed: 1}}, people: minVisitors, recorder: newRecorder(), clip: []byte("clip")}
	for n := range minVisitors {
		v := newVisitor(d, n, "person-"+string(rune('0'+n)), "token")
		v.address = "127.0.0.1:1"
		d.visitors = append(d.visitors, v)
	}
	return d
}

const feedReply = `{"data":{"feed":{"edges":[{"node":{"videoId":"7","playUrl":"/media/videos/x","author":{"userId":"person-1",` +
	`"interactive":{"freshness":"LIVE","followed":null}},"interactive":{"freshness":"LIVE","liked":null}}}],"pageInfo":{"hasNextPage":true,"endCursor":"c"}}}}`

func TestWrongRepliesOfADayAreFound(t *testing.T) {
	v := newTestDay().visitors[0]
	one := feedVideo{VideoID: "7", PlayURL: "/media/videos/x", Author: author{UserID: "person-1"}}
	liked := strings.Replace(feedReply, `"liked":null`, `"liked":{"reaction":"LIKE"}`, 1)
	for _, c := range []struct {
		name   string
		errand task
		status int
		reply  string
		wrong  bool
	}{
		{"a feed", v.scroll(true, ""), http.StatusOK, feedReply, false},
		{"an empty feed", v.scroll(true, ""), http.StatusOK, `{"data":{"feed":{"edges":[],"pageInfo":{"hasNextPage":false}}}}`, true},
		{"a like that was not made", v.scroll(true, ""), http.StatusOK, liked, true},
		{"a stale like that was not made", v.scroll(true, ""), http.StatusOK, strings.ReplaceAll(liked, "LIVE", "STALE"), false},
		{"the own video", v.scroll(true, "7"), http.StatusOK, feedReply, false},
		{"the own video is missing", v.scroll(true, "8"), http.StatusOK, feedReply, true},
		{"an error", v.scroll(true, ""), http.StatusOK, `{"data":null,"errors":[{"message":"no"}]}`, true},
		{"a clip", v.watch(one), http.StatusPartialContent, "clip", false},
		{"another clip", v.watch(one), http.StatusPartialContent, "clop", true},
		{"a deleted clip", v.watch(one), http.StatusNotFound, "clip", true},
		{"a comment", v.comment("7"), http.StatusOK, `{"data":{"addComment":{"comment":{"commentId":"5"}}}}`, false},
		{"no comment", v.comment("7"), http.StatusOK, `{"data":{"addComment":{"comment":{}}}}`, true},
		{"the own comment", v.comments("7", "5"), http.StatusOK, `{"data":{"interactive":{"comments":{"edges":[{"node":{"commentId":"5"}}]}}}}`, false},
		{"the own comment is missing", v.comments("7", "5"), http.StatusOK, `{"data":{"interactive":{"comments":{"edges":[{"node":{"commentId":"55"}}]}}}}`, true},
		{"a video", v.upload(), http.StatusCreated, `{"video":{"videoId":"9"}}`, false},
		{"a video that is refused", v.upload(), http.StatusTooManyRequests, `{"errors":[]}`, true},
		{"a like that does not show", v.like("8"), http.StatusOK, `{"data":{"did":{"interactive":{"freshness":"LIVE","is":null}}}}`, true},
		{"a like", v.like("7"), http.StatusOK, `{"data":{"did":{"interactive":{"freshness":"LIVE","is":{"reaction":"LIKE"}}}}}`, false},
		{"a feed with it", v.scroll(true, ""), http.StatusOK, liked, false},
		{"a feed without it", v.scroll(true, ""), http.StatusOK, feedReply, true},
	} {
		if err := c.errand.judge(c.status, []byte(c.reply)); (err != nil) != c.wrong {
			t.Errorf("%s: got %v, want an error: %t", c.name, err, c.wrong)
		}
	}
	if v.commented != (tally{1, 1}) || v.uploaded != (tally{1, 1}) || !v.liked.is["7"] || !v.liked.maybe["8"] || v.liked.maybe["7"] {
		t.Errorf("commented %+v, uploaded %+v, liked %+v, want {1 1} twice, 7 liked and 8 uncertain", v.commented, v.uploaded, v.liked)
	}
}

// Every visitor performs every kind of action, and writes complete requests.
func TestVisitorsDoEverything(t *testing.T) {
	d := newTestDay()
	v := d.visitors[0]
	if err := v.scroll(true, "").judge(http.StatusOK, []byte(feedReply)); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 3000 {
		v.decide()
		for _, one := range v.tasks {
			seen[one.what] = true
			head, body, whole := strings.Cut(string(one.write(nil)), "\r\n\r\n")
			if !whole || !strings.Contains(head, "Host: 127.0.0.1:1") || strings.HasPrefix(head, "POST") == (body == "") {
				t.Fatalf("%s: got the head %q, want a whole request to 127.0.0.1:1 and a body with POST only", one.what, head)
			}
		}
	}
	if len(seen) != 11 {
		t.Errorf("visitors did %v, want 11 kinds of action", seen)
	}
	for range 200 {
		if friend := v.friend(); friend == v.name {
			t.Fatalf("%s chats with itself, want another user", friend)
		}
	}
}

func TestRequestsWithoutAReplyAreNoted(t *testing.T) {
	d := newTestDay()
	v := d.visitors[3]
	one := v.comment("7")
	v.current, v.asked = &one, time.Now()
	v.gone()
	if v.current != nil || v.commented != (tally{0, 1}) || d.recorder.wrong() != 1 {
		t.Errorf("after a request without a reply: current %v, commented %+v, %d wrong, want nil, {0 1}, 1", v.current, v.commented, d.recorder.wrong())
	}
	d.recorder.record("x", time.Second, nil)
	d.recorder.record("x", time.Second, errors.New("no"))
	if d.recorder.wrong() != 2 || d.recorder.of["x"].took.TotalCount() != 1 || len(d.recorder.faults) != 2 {
		t.Errorf("recorded are %d wrong, %d times, %q, want 2, 1 and 2 faults", d.recorder.wrong(), d.recorder.of["x"].took.TotalCount(), d.recorder.faults)
	}
}

func TestLostMarksAreFound(t *testing.T) {
	m := marks{map[string]bool{"1": true, "2": false, "3": true}, map[string]bool{"3": true, "4": true}}
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
		stored := map[pair]bool{}
		for _, subject := range c.stored {
			stored[pair{"ann", subject}] = true
		}
		if err := m.differ("ann", stored); (err != nil) != c.wrong || !c.wrong && len(stored) != c.left {
			t.Errorf("%s: got %v, left %v, want an error: %t, otherwise %d left", c.name, err, stored, c.wrong, c.left)
		}
	}
}

func TestDaysAreChecked(t *testing.T) {
	for _, bad := range [][]string{{"-people", "3"}, {"-during", "1ms"}, {"now"}, {"-people", "many"}} {
		if _, _, _, err := parseDay(bad); err == nil {
			t.Errorf("parseDay(%q) returned no error", bad)
		}
	}
	if _, people, during, err := parseDay(nil); err != nil || people != 500 || during != time.Minute {
		t.Errorf("parseDay(nil) = %d people for %v, %v, want 500 for a minute", people, during, err)
	}
}
