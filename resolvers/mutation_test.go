package resolvers_test

import (
	"fmt"
	"sync"
	"testing"
)

// TestMutationsReturnTheNewState proves invariant I4: the payload and the next query show
// the new state and counts that include it.
func TestMutationsReturnTheNewState(t *testing.T) {
	s := start(t)
	const seen = `{ readCount likeCount dislikeCount collectCount liked { reaction } collected { folder { default } } read { times } }`
	// Each step depends on the previous ones.
	steps := []struct {
		mutation string
		changed  bool
		want     string // reads, likes, dislikes, collects; reaction; collected; times
	}{
		{"undislike", false, "0 0 0 0 <nil> false <nil>"},
		{"like", true, "0 1 0 0 LIKE false <nil>"},
		{"like", false, "0 1 0 0 LIKE false <nil>"},
		{"undislike", false, "0 1 0 0 LIKE false <nil>"},
		{"dislike", true, "0 0 1 0 DISLIKE false <nil>"},
		{"unlike", false, "0 0 1 0 DISLIKE false <nil>"},
		{"dislike", false, "0 0 1 0 DISLIKE false <nil>"},
		{"undislike", true, "0 0 0 0 <nil> false <nil>"},
		{"undislike", false, "0 0 0 0 <nil> false <nil>"},
		{"like", true, "0 1 0 0 LIKE false <nil>"},
		{"unlike", true, "0 0 0 0 <nil> false <nil>"},
		{"uncollect", false, "0 0 0 0 <nil> false <nil>"},
		{"collect", true, "0 0 0 1 <nil> true <nil>"},
		{"collect", false, "0 0 0 1 <nil> true <nil>"},
		{"uncollect", true, "0 0 0 0 <nil> false <nil>"},
		{"read", true, "1 0 0 0 <nil> false 1"},
		{"read", true, "2 0 0 0 <nil> false 2"},
	}
	summary := func(i any) string {
		var reaction, times any
		if liked := dig(t, i, "liked"); liked != nil {
			reaction = dig(t, liked, "reaction")
		}
		if read := dig(t, i, "read"); read != nil {
			times = dig(t, read, "times")
		}
		return fmt.Sprint(dig(t, i, "readCount"), " ", dig(t, i, "likeCount"), " ", dig(t, i, "dislikeCount"), " ",
			dig(t, i, "collectCount"), " ", reaction, " ", dig(t, i, "collected") != nil, " ", times)
	}
	for i, step := range steps {
		data := s.ok(t, "alice", fmt.Sprintf(`mutation { did: %s(input: {biz: "video", bizId: "1"}) {
			changed durability interactive %s } }`, step.mutation, seen))
		same(t, []any{dig(t, data, "did", "changed"), dig(t, data, "did", "durability")}, fmt.Sprintf(`[%t, "PERSISTED"]`, step.changed))
		if got := summary(dig(t, data, "did", "interactive")); got != step.want {
			t.Fatalf("step %d, %s: payload shows %q, want %q", i, step.mutation, got, step.want)
		}
		data = s.ok(t, "alice", fmt.Sprintf(`{ interactive(biz: "video", bizId: "1") %s }`, seen))
		if got := summary(data["interactive"]); got != step.want {
			t.Fatalf("step %d, %s: next query shows %q, want %q", i, step.mutation, got, step.want)
		}
	}
}

func TestMutationsOfOneRequestSeeEachOther(t *testing.T) {
	s := start(t)
	data := s.ok(t, "alice", `mutation {
		a: like(input: {biz: "video", bizId: "1"}) { interactive { likeCount } }
		b: dislike(input: {biz: "video", bizId: "1"}) { interactive { likeCount dislikeCount } }
		c: collect(input: {biz: "video", bizId: "1"}) { interactive { collected { folder { itemCount } } } }
		d: collect(input: {biz: "video", bizId: "2"}) { interactive { collected { folder { itemCount } } } } }`)
	same(t, data, `{"a":{"interactive":{"likeCount":1}},"b":{"interactive":{"likeCount":0,"dislikeCount":1}},
		"c":{"interactive":{"collected":{"folder":{"itemCount":1}}}},"d":{"interactive":{"collected":{"folder":{"itemCount":2}}}}}`)
}

func TestMutationWithoutItsSubjectReadsNone(t *testing.T) {
	s := start(t)
	s.calls.taken(t)
	s.ok(t, "alice", `mutation { like(input: {biz: "video", bizId: "1"}) { changed } }`)
	if calls := s.calls.taken(t); calls["Interactives"] != 0 {
		t.Errorf("a mutation without its subject: got the calls %v, want none of Interactives", calls)
	}
}

func TestCountsAreOfEveryoneStatesOfTheViewer(t *testing.T) {
	s := start(t)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			s.ok(t, fmt.Sprintf("user-%d", i), `mutation { like(input: {biz: "video", bizId: "1"}) { changed } }`)
		})
	}
	all.Wait()
	const query = `{ interactive(biz: "video", bizId: "1") { likeCount liked { user { userId } } } }`
	same(t, s.ok(t, "user-7", query), `{"interactive":{"likeCount":50,"liked":{"user":{"userId":"user-7"}}}}`)
	same(t, s.ok(t, "somebody", query), `{"interactive":{"likeCount":50,"liked":null}}`)
	same(t, s.ok(t, "", query), `{"interactive":{"likeCount":50,"liked":null}}`)
}

func TestVersionRisesWithEveryChange(t *testing.T) {
	s := start(t)
	var last float64
	for _, mutation := range []string{"like", "dislike", "undislike", "collect", "read", "uncollect", "follow", "read", "unfollow"} {
		data := s.ok(t, "alice", fmt.Sprintf(`mutation { did: %s(input: {biz: "video", bizId: "1"}) { interactive { version } } }`, mutation))
		version := dig(t, data, "did", "interactive", "version").(float64)
		if version <= last {
			t.Errorf("%s: got version %v, want one above %v", mutation, version, last)
		}
		last = version
	}
}

func TestAnonymousMayReadAndNothingElse(t *testing.T) {
	s := start(t)
	data := s.ok(t, "", `mutation { read(input: {biz: "video", bizId: "1"}) { changed interactive { readCount read { times } } } }`)
	same(t, data["read"], `{"changed":true,"interactive":{"readCount":1,"read":null}}`)

	const subject = `(input: {biz: "video", bizId: "1"}) { changed }`
	for _, operation := range []string{
		"mutation { like" + subject + "}", "mutation { unlike" + subject + "}",
		"mutation { dislike" + subject + "}", "mutation { undislike" + subject + "}",
		"mutation { collect" + subject + "}", "mutation { uncollect" + subject + "}",
		"mutation { follow" + subject + "}", "mutation { unfollow" + subject + "}",
		`mutation { createFolder(input: {name: "x"}) { folder { id } } }`,
		`mutation { updateFolder(input: {id: "x"}) { folder { id } } }`,
		`mutation { deleteFolder(input: {id: "x"}) { deletedId } }`,
		`{ user(userId: "alice") { userId } }`,
		`{ folder(id: "x") { id } }`,
		`{ interactive(biz: "video", bizId: "1") { likers { edges { cursor } } } }`,
	} {
		s.refused(t, "UNAUTHENTICATED", "", operation)
	}
}
