package resolvers_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"ovation/storage"
)

// account registers a user with a name.
func (s *service) account(t *testing.T, name string) (userID string) {
	t.Helper()
	data := s.ok(t, "", `mutation($n: String!) { register(input: {name: $n, password: "correct horse"}) { user { userId } } }`, "n", name)
	return dig(t, data, "register", "user", "userId").(string)
}

const foundNames = `edges { node { userId profile { name } interactive { followerCount followed { at } } } }`

func TestSearchFindsUsersAndVideos(t *testing.T) {
	s := start(t, withVideos, withAccounts)
	anna := s.account(t, "Anna Müller")
	s.account(t, "annabelle")
	s.upload(t, anna, "A cat plays the piano")
	s.upload(t, "bob", "小猫弹钢琴")
	for _, viewer := range []string{"", "bob"} {
		data := s.ok(t, viewer, `query($u: String!, $v: String!) { searchUsers(text: $u) { `+foundNames+` } searchVideos(text: $v) { edges { node { title author { userId } } } } }`,
			"u", "MULLER", "v", "cat pia")
		same(t, data, `{"searchUsers":{"edges":[{"node":{"userId":"`+anna+`","profile":{"name":"Anna Müller"},"interactive":{"followerCount":0,"followed":null}}}]},`+
			`"searchVideos":{"edges":[{"node":{"title":"A cat plays the piano","author":{"userId":"`+anna+`"}}}]}}`)
		same(t, s.ok(t, viewer, `{ searchVideos(text: "钢琴") { edges { node { title } } } searchUsers(text: "钢琴") { edges { cursor } pageInfo { hasNextPage endCursor } } }`),
			`{"searchVideos":{"edges":[{"node":{"title":"小猫弹钢琴"}}]},"searchUsers":{"edges":[],"pageInfo":{"hasNextPage":false,"endCursor":null}}}`)
	}
	for field, argument := range map[string]string{
		"searchUsers": `text: "", first: 1`, "searchVideos": `text: "a b c d e f"`, "a: searchUsers": `text: "a", first: 101`,
		"b: searchVideos": `text: "a", first: 0`, "c: searchUsers": `text: "a", after: "x"`, "d: searchVideos": `text: "` + strings.Repeat("a", 65) + `"`,
	} {
		s.refused(t, "BAD_USER_INPUT", "bob", "{ "+field+"("+argument+") { edges { cursor } } }")
	}
	other := s.askAs(t, storage.User{Tenant: "other", UserID: "alice"}, `{ searchUsers(text: "anna") { edges { cursor } } searchVideos(text: "cat") { edges { cursor } } }`)
	same(t, other.Data, `{"searchUsers":{"edges":[]},"searchVideos":{"edges":[]}}`)

	without := start(t)
	without.refused(t, "NOT_FOUND", "bob", `{ searchVideos(text: "cat") { edges { cursor } } }`)
	same(t, without.ok(t, "bob", `{ searchUsers(text: "cat") { edges { cursor } } }`), `{"searchUsers":{"edges":[]}}`)
}

func TestSearchesArePaged(t *testing.T) {
	s := start(t, withVideos, withAccounts)
	for i := range 7 {
		s.upload(t, "alice", fmt.Sprint("film ", i))
	}
	for i := range 3 {
		s.account(t, fmt.Sprint("Person ", i))
	}
	if got := strings.Join(s.pages(t, "bob", "", `searchVideos(text: "FILM", %s)`, "title", 3), ","); got != "film 6,film 5,film 4,film 3,film 2,film 1,film 0" {
		t.Errorf("got the videos %s, want film 6 to film 0", got)
	}
	if got := strings.Join(s.pages(t, "", "", `searchUsers(text: "p", %s)`, "profile name", 2), ","); got != "Person 2,Person 1,Person 0" {
		t.Errorf("got the users %s, want Person 2 to Person 0", got)
	}
	cursor := dig(t, s.ok(t, "", `{ searchVideos(text: "film", first: 1) { pageInfo { endCursor } } }`), "searchVideos", "pageInfo", "endCursor")
	s.ok(t, "", `query($c: String) { searchVideos(text: "Film", after: $c) { edges { cursor } } }`, "c", cursor)
	s.refused(t, "BAD_USER_INPUT", "", `query($c: String) { searchVideos(text: "fil", after: $c) { edges { cursor } } }`, "c", cursor)
	s.refused(t, "BAD_USER_INPUT", "", `query($c: String) { searchUsers(text: "film", after: $c) { edges { cursor } } }`, "c", cursor)
}

// A page of users with all their fields takes the same number of calls for any number of
// users.
func TestSearchCostsAConstantNumberOfCalls(t *testing.T) {
	s := start(t, withVideos, withAccounts)
	for i := range 12 {
		s.account(t, fmt.Sprint("Person ", i))
	}
	want := map[string]int{"SearchUsers": 1, "Profiles": 1, "Interactives": 1}
	for _, n := range []int{2, 10} {
		s.calls.taken(t)
		s.ok(t, "alice", `query($n: Int!) { searchUsers(text: "person", first: $n) { `+foundNames+` } }`, "n", n)
		if got := s.calls.taken(t); !maps.Equal(got, want) {
			t.Errorf("%d users: got the calls %v, want %v", n, got, want)
		}
	}
}
