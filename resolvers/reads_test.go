package resolvers_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestReadersAreCountedOnce(t *testing.T) {
	s := start(t)
	for _, user := range []string{"alice", "bob", "alice", "", "", "alice"} {
		s.ok(t, user, `mutation { read(input: {biz: "video", bizId: "1"}) { changed } }`)
	}
	for _, user := range []string{"alice", "carol", ""} {
		data := s.ok(t, user, `{ interactive(biz: "video", bizId: "1") { readCount readerCount } }`)
		same(t, data["interactive"], `{"readCount":6,"readerCount":2}`)
	}
}

func TestDeletedReadsLeaveTheHistoryAndStayCounted(t *testing.T) {
	s := start(t)
	for _, user := range []string{"alice", "bob", "alice", ""} {
		s.ok(t, user, `mutation { read(input: {biz: "video", bizId: "1"}) { changed } }`)
	}
	s.ok(t, "alice", `mutation { read(input: {biz: "article", bizId: "1"}) { changed } }`)
	const remove = `mutation { deleteRead(input: {biz: "video", bizId: "1"}) { removed interactive { readCount readerCount read { times } } } }`
	for _, removed := range []bool{true, false} {
		data := s.ok(t, "alice", remove)
		same(t, data["deleteRead"], fmt.Sprintf(`{"removed":%t,"interactive":{"readCount":4,"readerCount":1,"read":null}}`, removed))
	}
	const history = `{ viewer { reads { edges { node { times interactive { biz bizId } } } } } }`
	same(t, s.ok(t, "alice", history), `{"viewer":{"reads":{"edges":[{"node":{"times":1,"interactive":{"biz":"article","bizId":"1"}}}]}}}`)
	same(t, s.ok(t, "bob", history), `{"viewer":{"reads":{"edges":[{"node":{"times":1,"interactive":{"biz":"video","bizId":"1"}}}]}}}`)
	data := s.ok(t, "alice", `mutation {
		a: deleteRead(input: {biz: "article", bizId: "1"}) { removed }
		b: read(input: {biz: "article", bizId: "1"}) { changed } }`)
	same(t, data["a"], `{"removed":true}`)
	same(t, s.ok(t, "alice", history), `{"viewer":{"reads":{"edges":[{"node":{"times":1,"interactive":{"biz":"article","bizId":"1"}}}]}}}`)
}

func TestReadHistoriesAreCleared(t *testing.T) {
	s := start(t)
	const subjects = 501 // more than one transaction removes
	for from := 0; from < subjects; from += 10 {
		var document strings.Builder
		for i := from; i < min(from+10, subjects); i++ {
			fmt.Fprintf(&document, ` r%d: read(input: {biz: "video", bizId: "%d"}) { changed }`, i, i)
		}
		s.ok(t, "alice", "mutation {"+document.String()+"}")
	}
	s.ok(t, "alice", `mutation { read(input: {biz: "article", bizId: "1"}) { changed } }`)
	s.ok(t, "bob", `mutation { read(input: {biz: "video", bizId: "1"}) { changed } }`)
	same(t, s.ok(t, "alice", `mutation { clearReads(input: {biz: "video"}) { removed more } }`), `{"clearReads":{"removed":501,"more":false}}`)
	const history = `{ viewer { reads { edges { node { interactive { biz bizId readCount readerCount } } } } } }`
	same(t, s.ok(t, "alice", history), `{"viewer":{"reads":{"edges":[{"node":{"interactive":{"biz":"article","bizId":"1","readCount":1,"readerCount":1}}}]}}}`)
	same(t, s.ok(t, "bob", history), `{"viewer":{"reads":{"edges":[{"node":{"interactive":{"biz":"video","bizId":"1","readCount":2,"readerCount":1}}}]}}}`)
	same(t, s.ok(t, "alice", `mutation { clearReads(input: {}) { removed more } }`), `{"clearReads":{"removed":1,"more":false}}`)
	same(t, s.ok(t, "alice", history), `{"viewer":{"reads":{"edges":[]}}}`)

	s.refused(t, "UNAUTHENTICATED", "", `mutation { clearReads(input: {}) { removed } }`)
	s.refused(t, "UNAUTHENTICATED", "", `mutation { deleteRead(input: {biz: "video", bizId: "1"}) { removed } }`)
	for _, bad := range []string{`clearReads(input: {biz: ""})`, `clearReads(input: {biz: "No"})`, `deleteRead(input: {biz: "No", bizId: "1"})`} {
		if got := s.refused(t, "BAD_USER_INPUT", "alice", "mutation { "+bad+" { removed } }"); !strings.Contains(got, "input.biz must") {
			t.Errorf("%s: got %q, want input.biz must", bad, got)
		}
	}
}
