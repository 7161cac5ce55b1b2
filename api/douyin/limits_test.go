package douyin_test

import (
	"fmt"
	"testing"
	"time"

	"ovation/api/rate"
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

	s = start(t, func(set *settings) { set.rates = rate.Config{PerUser: 33} }) // a list costs 325, nearly a full bucket
	ann = s.register(t, "Ann")
	ok(t, s.get(t, "relation/follow/list/", "token", ann.token))
	refused(t, s.get(t, "relation/follow/list/", "token", ann.token), "rate limit")
	late := 0 // uploads that were accepted because time had passed
	for i := 0; ; i++ {
		one := s.register(t, fmt.Sprint("user", i))
		upload := s.upload(t, nil, part{name: "token", value: one.token}, part{name: "title", value: "x"}, part{"data", "x", mp4("x")})
		begin := time.Now()
		ok(t, s.get(t, "relation/follow/list/", "token", one.token))
		reply := s.do(t, upload)
		// An upload costs 275, which the bucket gains in 8 s.
		if time.Since(begin) < 2*time.Second {
			refused(t, reply, "rate limit")
			break
		}
		if reply["status_code"] == 0.0 {
			late++
		}
		if i == 9 {
			t.Fatal("a list and an upload took more than 2 s ten times, want less once")
		}
	}
	if films := entries(t, s.get(t, "feed/"), "video_list"); len(films) != late {
		t.Errorf("the feed is %v, want %d videos", films, late)
	}
}
