package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"strconv"
	"time"

	"ovation/bench/load"
)

// task is a single user request, with a check of its reply.
type task struct {
	name          string
	appendRequest func(buf []byte) []byte
	check         func(status int, body []byte) error
}

// feedVideo is a video on a page of the feed.
type feedVideo struct {
	VideoID     string `json:"videoId"`
	PlayURL     string `json:"playUrl"`
	Author      author `json:"author"`
	Interactive struct {
		Freshness string    `json:"freshness"`
		Liked     *struct{} `json:"liked"`
	} `json:"interactive"`
}

type author struct {
	UserID      string `json:"userId"`
	Interactive struct {
		Freshness string    `json:"freshness"`
		Followed  *struct{} `json:"followed"`
	} `json:"interactive"`
}

// graphQLTask returns a task whose reply must contain data and no error. To check the
// data, the task calls seen.
func (v *simulatedUser) graphQLTask(what, query string, variables map[string]any, seen func(data json.RawMessage) error) task {
	return task{name: what, appendRequest: func(buf []byte) []byte {
		return load.Post(buf, v.address, "/graphql", v.token, mustJSON(map[string]any{"query": query, "variables": variables}))
	}, check: func(status int, body []byte) error {
		var reply struct {
			Data   json.RawMessage   `json:"data"`
			Errors []json.RawMessage `json:"errors"`
		}
		if err := json.Unmarshal(body, &reply); err != nil || status != http.StatusOK || len(reply.Errors) > 0 {
			return fmt.Errorf("status %d with %.300s", status, body)
		}
		return seen(reply.Data)
	}}
}

const feedQuery = `query Reels($after: String) { feed(first: 20, after: $after) { edges { node { videoId title playUrl coverUrl at ` +
	`author { userId interactive { freshness followerCount followed { at } } } ` +
	`interactive { freshness readCount likeCount commentCount collectCount liked { reaction } } } } pageInfo { hasNextPage endCursor } } }`

// scrollFeed returns a task that loads a page of the feed: the first page if top is true,
// otherwise the next one. The page must reflect the viewer's own actions. If the id of a
// video is given, the page must also contain that video.
func (v *simulatedUser) scrollFeed(top bool, must string) task {
	after := &v.feedCursor
	if top {
		after = nil
	}
	return v.graphQLTask("scroll the feed (20 videos)", feedQuery, map[string]any{"after": after}, func(data json.RawMessage) error {
		var got struct {
			Feed struct {
				Edges    []struct{ Node feedVideo }
				PageInfo struct {
					HasNextPage bool
					EndCursor   string
				}
			}
		}
		if err := json.Unmarshal(data, &got); err != nil { //nolint:musttag // names differ in case alone
			return fmt.Errorf("%w: %.300s", err, data)
		}
		v.feed, v.current, v.feedCursor = v.feed[:0], 0, ""
		if got.Feed.PageInfo.HasNextPage {
			v.feedCursor = got.Feed.PageInfo.EndCursor
		}
		found := must == ""
		for i := range got.Feed.Edges {
			one := &got.Feed.Edges[i].Node
			v.feed = append(v.feed, *one)
			found = found || one.VideoID == must
			if err := v.checkStates(one); err != nil {
				return err
			}
		}
		if !found || top && len(v.feed) == 0 {
			return fmt.Errorf("the feed of %d videos lacks the video %q", len(v.feed), must)
		}
		return nil
	})
}

// checkStates compares the states of a video and of its author with the viewer's own
// actions. It ignores states that are not LIVE.
func (v *simulatedUser) checkStates(one *feedVideo) error {
	id, by := one.VideoID, one.Author.UserID
	if is := one.Interactive.Liked != nil; one.Interactive.Freshness == "LIVE" && v.liked.contradicts(id, is) {
		return fmt.Errorf("the video %s is LIVE with liked %v, which contradicts the acknowledged actions", id, is)
	}
	if is := one.Author.Interactive.Followed != nil; one.Author.Interactive.Freshness == "LIVE" && v.followed.contradicts(by, is) {
		return fmt.Errorf("the author %s is LIVE with followed %v, which contradicts the acknowledged actions", by, is)
	}
	return nil
}

func (m *userStates) contradicts(of string, is bool) bool {
	return m.acked[of] != is && !m.uncertain[of]
}

// watchClip returns a task that plays the whole clip.
func (v *simulatedUser) watchClip(one feedVideo) task {
	return task{name: "watch a clip", appendRequest: func(buf []byte) []byte {
		return fmt.Appendf(buf, "GET %s HTTP/1.1\r\nHost: %s\r\nRange: bytes=0-\r\n\r\n", one.PlayURL, v.address)
	}, check: func(status int, body []byte) error {
		if status != http.StatusPartialContent || !bytes.Equal(body, v.simulation.clip) {
			return fmt.Errorf("status %d with %d bytes of %d", status, len(body), len(v.simulation.clip))
		}
		return nil
	}}
}

// recordView returns a task that records a read of the video.
func (v *simulatedUser) recordView(one feedVideo) task {
	return v.graphQLTask("count a view", `mutation View($id: ID!) { read(input: {biz: "video", bizId: $id}) { durability } }`,
		map[string]any{"id": one.VideoID}, func(json.RawMessage) error { return nil })
}

// like returns a task that likes a video. If the user already likes the video, then in
// one case out of three the task removes the like instead.
func (v *simulatedUser) like(id string) task {
	name, is := "like", true
	if v.liked.acked[id] && v.random.IntN(3) == 0 {
		name, is = "unlike", false
	}
	query := `mutation Like($id: ID!) { did: ` + name + `(input: {biz: "video", bizId: $id}) { interactive { freshness likeCount is: liked { reaction } } } }`
	return v.setState("like, unlike", query, &v.liked, id, is)
}

// follow returns a task that follows an author. If the user already follows the author,
// then in one case out of three the task removes the follow instead. If the author is the
// user, the task loads the first page of the feed.
func (v *simulatedUser) follow(id string) task {
	if id == v.name {
		return v.scrollFeed(true, "")
	}
	name, is := "follow", true
	if v.followed.acked[id] && v.random.IntN(3) == 0 {
		name, is = "unfollow", false
	}
	query := `mutation Follow($id: ID!) { did: ` + name + `(input: {biz: "user", bizId: $id}) { interactive { freshness followerCount is: followed { at } } } }`
	return v.setState("follow, unfollow", query, &v.followed, id, is)
}

// setState returns a task that sets or clears a state, such as a follow. If the freshness
// of the reply is LIVE, the reply must reflect the new state.
func (v *simulatedUser) setState(what, query string, of *userStates, id string, is bool) task {
	one := v.graphQLTask(what, query, map[string]any{"id": id}, func(data json.RawMessage) error {
		var got struct {
			Did struct {
				Interactive struct {
					Freshness string
					Is        *struct{}
				}
			}
		}
		if err := json.Unmarshal(data, &got); err != nil || got.Did.Interactive.Freshness == "" { //nolint:musttag // names differ in case alone
			return fmt.Errorf("%.300s: %w", data, err)
		}
		if of.acked[id] = is; got.Did.Interactive.Freshness == "LIVE" && (got.Did.Interactive.Is != nil) != is {
			return fmt.Errorf("the LIVE reply does not reflect the action: %.300s", data)
		}
		return nil
	})
	check := one.check
	one.check = func(status int, body []byte) error {
		err := check(status, body)
		if err != nil {
			of.uncertain[id] = true
		}
		return err
	}
	return one
}

// withTally returns the given task with an extended check, which also counts its success
// or failure in a tally.
func withTally(one task, in *tally) task {
	check := one.check
	one.check = func(status int, body []byte) error {
		err := check(status, body)
		if err == nil {
			in.acked++
		} else {
			in.failed++
		}
		return err
	}
	return one
}

// addComment returns a task that comments on a video. Its check adds another task, which
// checks that the new comment is among the newest comments on the video.
func (v *simulatedUser) addComment(id string) task {
	text := commentTextPrefix + strconv.Itoa(v.random.IntN(1e6))
	return withTally(v.graphQLTask("comment", addCommentMutation, map[string]any{"input": map[string]string{"biz": "video", "bizId": id, "text": text}},
		func(data json.RawMessage) error {
			var got struct {
				AddComment struct{ Comment struct{ CommentID string } }
			}
			if err := json.Unmarshal(data, &got); err != nil || got.AddComment.Comment.CommentID == "" { //nolint:musttag // names differ in case alone
				return fmt.Errorf("%.300s: %w", data, err)
			}
			v.tasks = append(v.tasks, v.readComments(id, got.AddComment.Comment.CommentID))
			return nil
		}), &v.commented)
}

// readComments returns a task that reads the newest comments on a video. If must is the
// id of a comment, that comment must be among them.
func (v *simulatedUser) readComments(id, must string) task {
	return v.graphQLTask("read 20 comments", commentsQuery("video"), map[string]any{"id": id}, func(data json.RawMessage) error {
		if must != "" && !bytes.Contains(data, []byte(`"commentId":"`+must+`"`)) {
			return fmt.Errorf("the user's comment %s is missing from %.300s", must, data)
		}
		return nil
	})
}

// sendMessage returns a task that sends a message. The text of the message contains the
// time of sending.
func (v *simulatedUser) sendMessage() task {
	text := fmt.Sprintf("%d is when I saw it", time.Now().UnixNano())
	return withTally(v.graphQLTask("send a message", `mutation Send($input: SendMessageInput!) { sendMessage(input: $input) { message { id } } }`,
		map[string]any{"input": map[string]string{"to": v.friend(), "text": text}}, func(json.RawMessage) error { return nil }), &v.sent)
}

// openChat returns a task that loads the user's list of conversations and the
// conversation with one other user. If that conversation does not exist yet, the task's
// check removes the next task, which would mark the conversation as read.
func (v *simulatedUser) openChat(with string) task {
	return v.graphQLTask("open a chat", `query Chat($with: ID!) { conversations(first: 20) { edges { node { unread with { userId } latest { text } } } } `+
		`conversation(with: $with) { unread messages(first: 20) { edges { node { id text at from { userId } } } } } }`,
		map[string]any{"with": with}, func(data json.RawMessage) error {
			var got struct {
				Conversation *struct{} `json:"conversation"`
			}
			if err := json.Unmarshal(data, &got); err != nil {
				return err
			}
			if got.Conversation == nil {
				v.tasks = nil
			}
			return nil
		})
}

func (v *simulatedUser) markRead(with string) task {
	return v.graphQLTask("mark messages as read", `mutation Mark($with: ID!) { markRead(input: {with: $with}) { conversation { unread } } }`,
		map[string]any{"with": with}, func(json.RawMessage) error { return nil })
}

// uploadClip returns a task that publishes a clip. Its check adds another task, which
// checks that the clip is on the first page of the feed.
func (v *simulatedUser) uploadClip() task {
	return withTally(task{name: "upload a clip", appendRequest: func(buf []byte) []byte {
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		_ = w.WriteField("title", "A clip of "+v.name) // writing to a buffer never fails
		if part, err := w.CreateFormFile("file", "clip.mp4"); err == nil {
			_, _ = part.Write(v.simulation.clip)
		}
		_ = w.Close()
		buf = fmt.Appendf(buf, "POST /media/videos HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n",
			v.address, v.token, w.FormDataContentType(), form.Len())
		return append(buf, form.Bytes()...)
	}, check: func(status int, body []byte) error {
		var got struct{ Video struct{ VideoID string } }
		if err := json.Unmarshal(body, &got); err != nil || status != http.StatusCreated || got.Video.VideoID == "" { //nolint:musttag // names differ in case alone
			return fmt.Errorf("status %d with %.300s", status, body)
		}
		v.tasks = append(v.tasks, v.scrollFeed(true, got.Video.VideoID))
		return nil
	}}, &v.uploaded)
}
