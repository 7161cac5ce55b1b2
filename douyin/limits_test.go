package douyin_test

import (
	"testing"

	"ovation/resolvers/rate"
)

func TestRatesAreLimited(t *testing.T) {
	s := start(t, func(set *settings) { set.rates = rate.Config{MessagesPerUser: 3} })
	ann, bob := s.register(t, "Ann"), s.register(t, "Bob")
	for range 3 {
		ok(t, s.post(t, "message/action/", "token", bob.token, "to_user_id", ann.id, "action_type", 1, "content", "x"))
	}
	refused(t, s.post(t, "message/action/", "token", bob.token, "to_user_id", ann.id, "action_type", 1, "content", "x"), "rate limit")
	if got := entries(t, s.get(t, "message/chat/", "token", bob.token, "to_user_id", ann.id), "message_list"); len(got) != 3 {
		t.Errorf("%d messages are stored, want 3", len(got))
	}

	refused(t, s.post(t, "user/login/", "username", "Ann", "password", "a wrong password"), "the username or the password is wrong")
	for range 30 { // the attempts that an address is allowed
		refused(t, s.post(t, "user/login/", "username", "Ann", "password", "a wrong password"))
	}
	refused(t, s.post(t, "user/login/", "username", "Ann", "password", "password of Ann"), "rate limit")
	ok(t, s.get(t, "user/", "token", ann.token))

	s = start(t, func(set *settings) { set.rates = rate.Config{PerUser: 11} }) // a list costs 110, a full bucket
	ann = s.register(t, "Ann")
	ok(t, s.get(t, "relation/follow/list/", "token", ann.token))
	refused(t, s.get(t, "relation/follow/list/", "token", ann.token), "rate limit")
	upload := s.upload(t, nil, part{name: "token", value: ann.token}, part{name: "title", value: "x"}, part{"data", "x", mp4("x")})
	refused(t, s.do(t, upload), "rate limit")
	if films := entries(t, s.get(t, "feed/"), "video_list"); len(films) != 0 {
		t.Errorf("the feed is %v, want no videos", films)
	}
}
