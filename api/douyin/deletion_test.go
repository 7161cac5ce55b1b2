package douyin_test

import (
	"strconv"
	"testing"

	"ovation/internal/testing/must"
	"ovation/storage"
	"ovation/worker"
)

// Once a deleted video is swept, a list of favorites is as long as favorite_count.
func TestFavoriteListsAreAsLongAsTheirCounts(t *testing.T) {
	s := start(t)
	ann, bob := s.register(t, "Ann"), s.register(t, "Bob")
	gone, kept := s.publish(t, ann, "Gone"), s.publish(t, ann, "Kept")
	for _, id := range []int64{gone, kept} {
		ok(t, s.post(t, "favorite/action/", "token", bob.token, "video_id", id, "action_type", 1))
	}
	check := func(want int) {
		t.Helper()
		count := ok(t, s.get(t, "user/", "token", bob.token, "user_id", bob.id))["user"].(object)["favorite_count"]
		list := entries(t, s.get(t, "favorite/list/", "token", bob.token, "user_id", bob.id), "video_list")
		if count != float64(want) || len(list) != want {
			t.Errorf("got favorite_count %v and %d videos, want %d", count, len(list), want)
		}
	}
	check(2)
	by := storage.User{Tenant: storage.DefaultTenant, UserID: strconv.FormatInt(ann.id, 10)}
	_, _, err := s.store.DeleteVideo(t.Context(), storage.VideoDeletion{Key: storage.VideoKey{Tenant: by.Tenant, Number: gone}, By: by}, nil)
	must.Succeed(t, err)
	refused(t, s.post(t, "favorite/action/", "token", ann.token, "video_id", gone, "action_type", 1))
	refused(t, s.post(t, "comment/action/", "token", ann.token, "video_id", gone, "action_type", 1, "comment_text", "late"))
	sweeper := worker.NewSweeper(worker.SweeperOptions{Store: s.store})
	for {
		swept, err := sweeper.Sweep(t.Context())
		must.Succeed(t, err)
		if swept.Subjects == 0 {
			break
		}
	}
	check(1)
}
