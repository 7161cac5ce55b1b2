package resolvers_test

import "testing"

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
