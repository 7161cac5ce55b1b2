package douyin_test

import (
	"strings"
	"testing"
)

// A request that is repeated with its request_id adds nothing, and returns the first
// result. Without one, it adds another entry.
func TestRepeatedRequestsAddOnce(t *testing.T) {
	s := start(t)
	ann, bob := s.register(t, "Ann"), s.register(t, "Bob")
	film := s.publish(t, ann, "A film")

	comment := func(text, request string) object {
		return s.post(t, "comment/action", "token", bob.token, "video_id", film, "action_type", 1, "comment_text", text, "request_id", request)
	}
	first := ok(t, comment("once", "c1"))["comment"].(object)
	if again := ok(t, comment("once", "c1"))["comment"].(object); again["id"] != first["id"] || again["content"] != "once" {
		t.Errorf("the repeated comment is %v, want %v", again, first)
	}
	refused(t, comment("twice", "c1"), "request_id was used for something else")
	refused(t, comment("x", "é"), "request_id must be 1 to 64 printable characters of ASCII")
	refused(t, comment("x", strings.Repeat("x", 65)), "request_id must be")
	if got := entries(t, s.get(t, "comment/list", "video_id", film), "comment_list"); len(got) != 1 {
		t.Errorf("comment/list = %v, want one comment", got)
	}
	ok(t, s.post(t, "comment/action", "token", bob.token, "video_id", film, "action_type", 2, "comment_id", first["id"]))
	if again := ok(t, comment("once", "c1"))["comment"].(object); again["id"] != first["id"] || again["content"] != "" || again["user"].(object)["id"] != float64(bob.id) {
		t.Errorf("the repeated comment, once it is deleted, is %v, want it without its text", again)
	}
	ok(t, comment("plain", ""))
	ok(t, comment("plain", ""))
	if got := entries(t, s.get(t, "comment/list", "video_id", film), "comment_list"); len(got) != 2 {
		t.Errorf("comment/list = %v, want the two comments without a request id", got)
	}

	send := func(text, request string) object {
		return s.post(t, "message/action", "token", bob.token, "to_user_id", ann.id, "action_type", 1, "content", text, "request_id", request)
	}
	ok(t, send("once", "m1"))
	ok(t, send("once", "m1"))
	refused(t, send("once", "c1"), "request_id was used for something else")
	refused(t, send("x", "\x01"), "request_id must be")
	if got := entries(t, s.get(t, "message/chat", "token", ann.token, "to_user_id", bob.id), "message_list"); len(got) != 1 || got[0]["content"] != "once" {
		t.Errorf("message/chat = %v, want one message", got)
	}

	upload := func(query []any, parts ...part) object {
		return s.do(t, s.upload(t, values(query...), append(parts, part{name: "title", value: "Another"}, part{name: "token", value: ann.token})...))
	}
	file, request := part{"data", "x.mp4", mp4("another")}, part{name: "request_id", value: "v1"}
	ok(t, upload(nil, request, file))
	ok(t, upload(nil, file, request))
	ok(t, upload([]any{"request_id", "v1"}, file))
	refused(t, upload(nil, request, part{"data", "x.mp4", mp4("not the same")}), "request_id was used for something else")
	refused(t, upload([]any{"request_id", "v2"}, request, file), "different values")
	if got, files := entries(t, s.get(t, "publish/list", "token", ann.token), "video_list"), s.files(t); len(got) != 2 || len(files) != 2 {
		t.Errorf("there are the videos %v and the files %v, want two", got, files)
	}
}
