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

// task is one request of a visitor, with the check of its reply.
type task struct {
	what  string
	write func(buf []byte) []byte
	judge func(status int, body []byte) error
}

// feedVideo is a video as the feed shows it.
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

// graphQL returns a task whose reply must have data and no error. The function seen
// checks the data.
func (v *visitor) graphQL(what, query string, variables map[string]any, seen func(data json.RawMessage) error) task {
	return task{what: what, write: func(buf []byte) []byte {
		return load.Post(buf, v.address, "/graphql", v.token, mustJSON(map[string]any{"query": query, "variables": variables}))
	}, judge: func(status int, body []byte) error {
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

const reelsQuery = `query Reels($after: String) { feed(first: 20, after: $after) { edges { node { videoId title playUrl coverUrl at ` +
	`author { userId interactive { freshness followerCount followed { at } } } ` +
	`interactive { freshness readCount likeCount commentCount collectCount liked { reaction } } } } pageInfo { hasNextPage endCursor } } }`

// scroll loads the top of the feed, or its next page. The page must show the viewer's own
// actions and contain the video with the id must, unless that is "".
func (v *visitor) scroll(top bool, must string) task {
	after := &v.after
	if top {
		after = nil
	}
	return v.graphQL("scroll the feed (20 videos)", reelsQuery, map[string]any{"after": after}, func(data json.RawMessage) error {
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
		v.feed, v.at, v.after = v.feed[:0], 0, ""
		if got.Feed.PageInfo.HasNextPage {
			v.after = got.Feed.PageInfo.EndCursor
		}
		found := must == ""
		for i := range got.Feed.Edges {
			one := &got.Feed.Edges[i].Node
			v.feed = append(v.feed, *one)
			found = found || one.VideoID == must
			if err := v.recognise(one); err != nil {
				return err
			}
		}
		if !found || top && len(v.feed) == 0 {
			return fmt.Errorf("the feed of %d videos lacks the video %q", len(v.feed), must)
		}
		return nil
	})
}

// recognise compares a live video with what the viewer has done.
func (v *visitor) recognise(one *feedVideo) error {
	id, by := one.VideoID, one.Author.UserID
	if is := one.Interactive.Liked != nil; one.Interactive.Freshness == "LIVE" && v.liked.wrong(id, is) {
		return fmt.Errorf("liked of the video %s is %v and live", id, is)
	}
	if is := one.Author.Interactive.Followed != nil; one.Author.Interactive.Freshness == "LIVE" && v.followed.wrong(by, is) {
		return fmt.Errorf("followed of %s is %v and live", by, is)
	}
	return nil
}

func (m *marks) wrong(of string, is bool) bool { return m.is[of] != is && !m.maybe[of] }

// watch plays the whole clip.
func (v *visitor) watch(one feedVideo) task {
	return task{what: "watch a clip", write: func(buf []byte) []byte {
		return fmt.Appendf(buf, "GET %s HTTP/1.1\r\nHost: %s\r\nRange: bytes=0-\r\n\r\n", one.PlayURL, v.address)
	}, judge: func(status int, body []byte) error {
		if status != http.StatusPartialContent || !bytes.Equal(body, v.day.clip) {
			return fmt.Errorf("status %d with %d bytes of %d", status, len(body), len(v.day.clip))
		}
		return nil
	}}
}

// view records a read of the video.
func (v *visitor) view(one feedVideo) task {
	return v.graphQL("count a view", `mutation View($id: ID!) { read(input: {biz: "video", bizId: $id}) { durability } }`,
		map[string]any{"id": one.VideoID}, func(json.RawMessage) error { return nil })
}

// like likes a video, or one time in three takes back an existing like.
func (v *visitor) like(id string) task {
	name, is := "like", true
	if v.liked.is[id] && v.random.IntN(3) == 0 {
		name, is = "unlike", false
	}
	query := `mutation Like($id: ID!) { did: ` + name + `(input: {biz: "video", bizId: $id}) { interactive { freshness likeCount is: liked { reaction } } } }`
	return v.marks("like, unlike", query, &v.liked, id, is)
}

// follow follows the author of a video, or one time in three ends an existing follow.
func (v *visitor) follow(id string) task {
	if id == v.name {
		return v.scroll(true, "")
	}
	name, is := "follow", true
	if v.followed.is[id] && v.random.IntN(3) == 0 {
		name, is = "unfollow", false
	}
	query := `mutation Follow($id: ID!) { did: ` + name + `(input: {biz: "user", bizId: $id}) { interactive { freshness followerCount is: followed { at } } } }`
	return v.marks("follow, unfollow", query, &v.followed, id, is)
}

// marks sets or removes a mark, such as a follow. A reply that is LIVE must show it.
func (v *visitor) marks(what, query string, of *marks, id string, is bool) task {
	one := v.graphQL(what, query, map[string]any{"id": id}, func(data json.RawMessage) error {
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
		if of.is[id] = is; got.Did.Interactive.Freshness == "LIVE" && (got.Did.Interactive.Is != nil) != is {
			return fmt.Errorf("the reply does not show it: %.300s", data)
		}
		return nil
	})
	judge := one.judge
	one.judge = func(status int, body []byte) error {
		err := judge(status, body)
		if err != nil {
			of.maybe[id] = true
		}
		return err
	}
	return one
}

// counted records the result of a task in a tally.
func counted(one task, in *tally) task {
	judge := one.judge
	one.judge = func(status int, body []byte) error {
		err := judge(status, body)
		if err == nil {
			in.acked++
		} else {
			in.failed++
		}
		return err
	}
	return one
}

// comment comments on a video. The comment must then be among the newest.
func (v *visitor) comment(id string) task {
	text := commentText + strconv.Itoa(v.random.IntN(1e6))
	return counted(v.graphQL("comment", addComment, map[string]any{"input": map[string]string{"biz": "video", "bizId": id, "text": text}},
		func(data json.RawMessage) error {
			var got struct {
				AddComment struct{ Comment struct{ CommentID string } }
			}
			if err := json.Unmarshal(data, &got); err != nil || got.AddComment.Comment.CommentID == "" { //nolint:musttag // names differ in case alone
				return fmt.Errorf("%.300s: %w", data, err)
			}
			v.tasks = append(v.tasks, v.comments(id, got.AddComment.Comment.CommentID))
			return nil
		}), &v.commented)
}

// comments reads the comments on a video, which must include the comment with the id
// must.
func (v *visitor) comments(id, must string) task {
	return v.graphQL("read 20 comments", talkQuery("video"), map[string]any{"id": id}, func(data json.RawMessage) error {
		if must != "" && !bytes.Contains(data, []byte(`"commentId":"`+must+`"`)) {
			return fmt.Errorf("the own comment %s is not among %.300s", must, data)
		}
		return nil
	})
}

// message sends a message that contains the time of sending.
func (v *visitor) message() task {
	text := fmt.Sprintf("%d is when I saw it", time.Now().UnixNano())
	return counted(v.graphQL("send a message", `mutation Send($input: SendMessageInput!) { sendMessage(input: $input) { message { id } } }`,
		map[string]any{"input": map[string]string{"to": v.friend(), "text": text}}, func(json.RawMessage) error { return nil }), &v.sent)
}

// chat opens the list of conversations and one of them. If there is none yet, nothing is
// marked as read.
func (v *visitor) chat(with string) task {
	return v.graphQL("open a chat", `query Chat($with: ID!) { conversations(first: 20) { edges { node { unread with { userId } latest { text } } } } `+
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

func (v *visitor) markRead(with string) task {
	return v.graphQL("mark messages as read", `mutation Mark($with: ID!) { markRead(input: {with: $with}) { conversation { unread } } }`,
		map[string]any{"with": with}, func(json.RawMessage) error { return nil })
}

// upload publishes a clip. It must then be at the top of the feed.
func (v *visitor) upload() task {
	return counted(task{what: "upload a clip", write: func(buf []byte) []byte {
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		_ = w.WriteField("title", "A clip of "+v.name) // writing to a buffer never fails
		if part, err := w.CreateFormFile("file", "clip.mp4"); err == nil {
			_, _ = part.Write(v.day.clip)
		}
		_ = w.Close()
		buf = fmt.Appendf(buf, "POST /media/videos HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n",
			v.address, v.token, w.FormDataContentType(), form.Len())
		return append(buf, form.Bytes()...)
	}, judge: func(status int, body []byte) error {
		var got struct{ Video struct{ VideoID string } }
		if err := json.Unmarshal(body, &got); err != nil || status != http.StatusCreated || got.Video.VideoID == "" { //nolint:musttag // names differ in case alone
			return fmt.Errorf("status %d with %.300s", status, body)
		}
		v.tasks = append(v.tasks, v.scroll(true, got.Video.VideoID))
		return nil
	}}, &v.uploaded)
}
