package resolvers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ovation/storage"
)

// TestFollowsReturnTheNewState proves invariant I4 for follows: the payload and the next
// query show the new state and a count that includes it once.
func TestFollowsReturnTheNewState(t *testing.T) {
	s := start(t)
	const seen = `{ followerCount followed { user { userId } interactive { bizId } } }`
	for i, step := range []struct {
		user, mutation string
		changed        bool
		want           string
	}{
		{"alice", "unfollow", false, `{"followerCount":0,"followed":null}`},
		{"alice", "follow", true, `{"followerCount":1,"followed":{"user":{"userId":"alice"},"interactive":{"bizId":"bob"}}}`},
		{"alice", "follow", false, `{"followerCount":1,"followed":{"user":{"userId":"alice"},"interactive":{"bizId":"bob"}}}`},
		{"carol", "follow", true, `{"followerCount":2,"followed":{"user":{"userId":"carol"},"interactive":{"bizId":"bob"}}}`},
		{"alice", "unfollow", true, `{"followerCount":1,"followed":null}`},
		{"alice", "unfollow", false, `{"followerCount":1,"followed":null}`},
	} {
		data := s.ok(t, step.user, fmt.Sprintf(`mutation { did: %s(input: {biz: "user", bizId: "bob"}) { changed durability interactive %s } }`, step.mutation, seen))
		same(t, data["did"], fmt.Sprintf(`{"changed":%t,"durability":"PERSISTED","interactive":%s}`, step.changed, step.want))
		if t.Failed() {
			t.Fatalf("in step %d", i)
		}
		same(t, s.ok(t, step.user, `{ user(userId: "bob") { interactive `+seen+` } interactive(biz: "user", bizId: "bob") `+seen+` }`),
			fmt.Sprintf(`{"user":{"interactive":%s},"interactive":%s}`, step.want, step.want))
	}
	same(t, s.ok(t, "", `{ interactive(biz: "user", bizId: "bob") `+seen+` }`), `{"interactive":{"followerCount":1,"followed":null}}`)
}

func TestFollowsRefuseBadInput(t *testing.T) {
	s := start(t)
	const want = "input.bizId must not be the user's own: users cannot follow themselves"
	if got := s.refused(t, "BAD_USER_INPUT", "alice", `mutation { follow(input: {biz: "user", bizId: "alice"}) { changed } }`); got != want {
		t.Errorf("following oneself: got %q, want %q", got, want)
	}
	s.ok(t, "alice", `mutation { follow(input: {biz: "video", bizId: "alice"}) { changed } }`)
	same(t, s.ok(t, "alice", `mutation { unfollow(input: {biz: "user", bizId: "alice"}) { changed } }`), `{"unfollow":{"changed":false}}`)
	s.refused(t, "UNAUTHENTICATED", "", `{ interactive(biz: "user", bizId: "bob") { followers { edges { cursor } } } }`)
}

// follows makes alice follow the given numbers of users and videos. The parameter back is
// the number of these users who follow her back.
func follows(t *testing.T, s *service, users, back, videos int) {
	t.Helper()
	alice := storage.User{UserID: "alice"}
	var actions []storage.Action
	for i := range users {
		other := storage.User{UserID: fmt.Sprint("user-", i)}
		actions = append(actions, storage.Action{User: alice, Subject: storage.Subject{Biz: "user", BizID: other.UserID}, Kind: storage.KindFollow, Following: true})
		if i < back {
			actions = append(actions, storage.Action{User: other, Subject: storage.Subject{Biz: "user", BizID: "alice"}, Kind: storage.KindFollow, Following: true})
		}
	}
	for i := range videos {
		actions = append(actions, storage.Action{User: alice, Subject: storage.Subject{Biz: "video", BizID: fmt.Sprint(i)}, Kind: storage.KindFollow, Following: true})
	}
	s.act(t, time.Now(), actions...)
}

func TestListsOfFollowsAreNewestFirstAndComplete(t *testing.T) {
	s := start(t)
	follows(t, s, 9, 5, 4)
	down := func(prefix string, n int) (out []string) {
		for i := n - 1; i >= 0; i-- {
			out = append(out, fmt.Sprint(prefix, i))
		}
		return out
	}
	const alice = `user(userId: "alice")`
	for _, list := range []struct {
		of, list, key string
		want          []string
	}{
		{`viewer`, `following(%s)`, "interactive bizId", down("user-", 9)},
		{`viewer`, `following(biz: "video", %s)`, "interactive bizId", down("", 4)},
		{`viewer`, `following(biz: null, %s)`, "interactive bizId", append(down("", 4), down("user-", 9)...)},
		{alice, `followers(%s)`, "user userId", down("user-", 5)},
		{`interactive(biz: "user", bizId: "alice")`, `followers(%s)`, "user userId", down("user-", 5)},
		{`viewer`, `friends(%s)`, "user userId", down("user-", 5)},
	} {
		for _, first := range []int{1, 5, 100} {
			for user, of := range map[string]string{"alice": list.of, "bob": strings.Replace(list.of, "viewer", alice, 1)} {
				if got := s.pages(t, user, of, list.list, list.key, first); fmt.Sprint(got) != fmt.Sprint(list.want) {
					t.Errorf("%s of %s by %d, seen by %s:\ngot  %v\nwant %v", list.list, of, first, user, got, list.want)
				}
			}
		}
	}
}

// A cursor of a user's followers is also valid for the followers of that user's subject,
// because both are the same list. It is not valid for any other list.
func TestCursorsOfFollows(t *testing.T) {
	s := start(t)
	follows(t, s, 5, 5, 0)
	cursor := dig(t, s.ok(t, "alice", `{ viewer { followers(first: 2) { edges { cursor } } } }`), "viewer", "followers", "edges", 1, "cursor")
	rest := s.ok(t, "alice", `query($after: String) { interactive(biz: "user", bizId: "alice") { followers(after: $after) { edges { node { user { userId } } } } } }`, "after", cursor)
	if got := len(dig(t, rest, "interactive", "followers", "edges").([]any)); got != 3 {
		t.Errorf("got %d followers after the cursor, want 3", got)
	}
	for _, list := range []string{"following", "friends", "following(biz: null)", "likes"} {
		list, _, _ := strings.Cut(list, "(")
		s.refused(t, "BAD_USER_INPUT", "alice", `query($after: String) { viewer { `+list+`(after: $after) { edges { cursor } } } }`, "after", cursor)
	}
}

// likedByFriends lists the people whom the viewer follows, and needs no viewer.
func TestLikedByFriendsListsThoseWhomTheViewerFollows(t *testing.T) {
	s := start(t)
	video := storage.Subject{Biz: "video", BizID: "1"}
	var actions []storage.Action
	for i := range 6 {
		u := storage.User{UserID: fmt.Sprint("user-", i)}
		actions = append(actions,
			storage.Action{User: storage.User{UserID: "alice"}, Subject: u.Subject(), Kind: storage.KindFollow, Following: true},
			storage.Action{User: u, Subject: video, Kind: storage.KindReaction, Reaction: storage.Like})
	}
	actions = append(actions, storage.Action{User: storage.User{UserID: "stranger"}, Subject: video, Kind: storage.KindReaction, Reaction: storage.Like})
	s.act(t, time.Now().Add(-time.Hour), actions...)
	const document = `query($first: Int = 3, $after: String) { interactives(subjects: [{biz: "video", bizId: "1"}, {biz: "video", bizId: "2"}]) {
		likeCount likedByFriends(first: $first, after: $after) { edges { node { reaction user { userId } } } pageInfo { hasNextPage endCursor } } } }`
	data := s.ok(t, "alice", document)
	like := func(i int) string {
		return fmt.Sprintf(`{"node": {"reaction": "LIKE", "user": {"userId": "user-%d"}}}`, i)
	}
	same(t, dig(t, data, "interactives", 0, "likedByFriends", "edges"), `[`+like(5)+`,`+like(4)+`,`+like(3)+`]`)
	same(t, dig(t, data, "interactives", 0, "likeCount"), `7`)
	same(t, dig(t, data, "interactives", 1), `{"likeCount": 0, "likedByFriends": {"edges": [], "pageInfo": {"hasNextPage": false, "endCursor": null}}}`)
	after := dig(t, data, "interactives", 0, "likedByFriends", "pageInfo", "endCursor")
	rest := s.ok(t, "alice", `query($after: String) { interactive(biz: "video", bizId: "1") { likedByFriends(first: 10, after: $after) { edges { node { reaction user { userId } } } pageInfo { hasNextPage } } } }`, "after", after)
	same(t, dig(t, rest, "interactive", "likedByFriends"), `{"edges": [`+like(2)+`,`+like(1)+`,`+like(0)+`], "pageInfo": {"hasNextPage": false}}`)
	for _, viewer := range []string{"", "user-1"} {
		s.calls.taken(t)
		data := s.ok(t, viewer, document)
		same(t, dig(t, data, "interactives", 0), `{"likeCount": 7, "likedByFriends": {"edges": [], "pageInfo": {"hasNextPage": false, "endCursor": null}}}`)
		if n, want := s.calls.taken(t)["FollowedLikers"], len(viewer[:min(len(viewer), 1)]); n != want {
			t.Errorf("viewer %q: got %d calls, want %d", viewer, n, want)
		}
	}
	other := s.askAs(t, storage.User{Tenant: "other", UserID: "alice"}, document)
	same(t, dig(t, other.Data, "interactives", 0, "likedByFriends", "edges"), `[]`)
	s.refused(t, "BAD_USER_INPUT", "alice", `{ interactive(biz: "video", bizId: "1") { likedByFriends(first: 0) { edges { cursor } } } }`)
	s.refused(t, "BAD_USER_INPUT", "", `{ interactive(biz: "video", bizId: "1") { likedByFriends(first: 101) { edges { cursor } } } }`)
	s.refused(t, "BAD_USER_INPUT", "alice", `{ interactive(biz: "video", bizId: "1") { likedByFriends(after: "x") { edges { cursor } } } }`)
	var many []any
	for i := range 100 {
		many = append(many, map[string]any{"biz": "video", "bizId": fmt.Sprint(i)})
	}
	s.refused(t, "LIMIT_EXCEEDED", "alice", `query($s: [SubjectInput!]!) { interactives(subjects: $s) { likedByFriends { edges { cursor } } } }`, "s", many)
	for _, n := range []int{2, 20} {
		s.calls.taken(t)
		s.ok(t, "alice", `query($s: [SubjectInput!]!) { interactives(subjects: $s) { likeCount likedByFriends { edges { node { at user { userId } } } } } }`, "s", many[:n])
		if calls := s.calls.taken(t); calls["FollowedLikers"] != 1 || calls["Interactives"] != 1 || len(calls) != 2 {
			t.Errorf("a page of %d subjects: got the calls %v, want one for the subjects and one for the likers", n, calls)
		}
	}
}

func TestSubscriptionReportsFollows(t *testing.T) {
	s := start(t)
	const watch = `subscription { interactiveChanged(subjects: [{biz: "user", bizId: "bob"}]) { followerCount followed { user { userId } } } }`
	alice, carol := s.subscribe(t, "alice", watch, nil), s.subscribe(t, "carol", watch, nil)
	for _, stream := range []*stream{alice, carol} {
		same(t, stream.data(t), `{"followerCount":0,"followed":null}`)
	}
	s.ok(t, "alice", `mutation { follow(input: {biz: "user", bizId: "bob"}) { changed } }`)
	same(t, alice.data(t), `{"followerCount":1,"followed":{"user":{"userId":"alice"}}}`)
	same(t, carol.data(t), `{"followerCount":1,"followed":null}`)
	s.ok(t, "alice", `mutation { unfollow(input: {biz: "user", bizId: "bob"}) { changed } }`)
	same(t, alice.data(t), `{"followerCount":0,"followed":null}`)
	same(t, carol.data(t), `{"followerCount":0,"followed":null}`)
}
