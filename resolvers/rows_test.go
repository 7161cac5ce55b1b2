package resolvers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ovation/storage"
)

// The transport reads a list of subjects as rows, unless a string contains an escape
// sequence. Responses and errors are the same in both cases.
func TestRowsAreAnsweredAsAnyList(t *testing.T) {
	s := start(t)
	alice := storage.User{UserID: "alice"}
	s.act(t, time.Now(),
		storage.Action{User: alice, Subject: storage.Subject{Biz: "video", BizID: "1"}, Kind: storage.KindReaction, Reaction: storage.Like},
		storage.Action{User: alice, Subject: storage.Subject{Biz: "book", BizID: "2"}, Kind: storage.KindCollection, FolderID: "default"},
	)
	const query = `query Q($s: [SubjectInput!]!) { interactives(subjects: $s) { bizId likeCount liked { reaction } } }`
	for name, c := range map[string]struct{ query, subjects, answer string }{
		"scalar fields": {query, `{"biz":"video","bizId":"1"},{"biz":"book","bizId":"2"}`, `"likeCount":1,"liked":{"reaction":"LIKE"}},{"bizId":"2"`},
		"with nested objects": {
			`query Q($s: [SubjectInput!]!) { interactives(subjects: $s) { bizId collected { folder { name } } likers(first: 1) { edges { node { user { userId } } } } } }`,
			`{"biz":"video","bizId":"1"},{"biz":"book","bizId":"2"}`, `"userId":"alice"`,
		},
		"with other fields":      {`query Q($s: [SubjectInput!]!) { interactives(subjects: $s) { bizId } viewer { userId } }`, `{"biz":"video","bizId":"1"}`, `"viewer":{"userId":"alice"}`},
		"with a directive":       {`query Q($s: [SubjectInput!]!) { interactives(subjects: $s) { bizId @skip(if: false) } }`, `{"biz":"video","bizId":"1"}`, `"bizId":"1"`},
		"twice":                  {`query Q($s: [SubjectInput!]!) { a: interactives(subjects: $s) { bizId } b: interactives(subjects: $s) { likeCount } }`, `{"biz":"video","bizId":"1"}`, `"b":[{"likeCount":1}]`},
		"with a default":         {`query Q($s: [SubjectInput!]! = []) { interactives(subjects: $s) { bizId } }`, `{"biz":"video","bizId":"1"}`, `"bizId":"1"`},
		"a repeated subject":     {query, `{"biz":"video","bizId":"1"},{"biz":"video","bizId":"1"}`, `{"bizId":"1","likeCount":1,"liked":{"reaction":"LIKE"}},{"bizId":"1"`},
		"100 subjects":           {query, strings.Repeat(`{"biz":"video","bizId":"3"},`, 99) + `{"biz":"video","bizId":"1"}`, `"likeCount":1`},
		"101 subjects":           {query, strings.Repeat(`{"biz":"video","bizId":"3"},`, 100) + `{"biz":"video","bizId":"1"}`, `subjects holds 101 entries; at most 100 are allowed`},
		"an invalid subject":     {query, `{"biz":"video","bizId":"1"},{"biz":"Video","bizId":"2"}`, `subjects[1].biz must be`},
		"one without an id":      {query, `{"biz":"video","bizId":""}`, `subjects[0].bizId`},
		"a missing member":       {query, `{"biz":"video"}`, `"message":"the variable $s[0].bizId is missing`},
		"an unknown member":      {query, `{"biz":"video","bizId":"1","id":"x"}`, `has a member`},
		"a String variable":      {`query Q($s: String) { interactives(subjects: [{biz: "video", bizId: "1"}]) { bizId } viewer { likes(after: $s) { edges { cursor } } } }`, `{"biz":"video"}`, `must be of type String, not a list`},
		"an undeclared variable": {`query Q { interactives(subjects: [{biz: "video", bizId: "1"}]) { bizId } }`, `{"biz":"video"}`, `"bizId":"1"`},
	} {
		for i := range 2 { // the second time, the document is cached
			alike := s.raw(t, c.query, c.subjects)
			oneByOne := s.raw(t, c.query, strings.Replace(c.subjects, `"biz":"`, `"b\u0069z":"`, 1))
			if alike != oneByOne || !strings.Contains(alike, c.answer) {
				t.Errorf("%s, %d: rows are answered by\n%s\nand read one by one by\n%s\nwant %s", name, i, alike, oneByOne, c.answer)
			}
		}
	}
}

// raw sends a query as alice, and returns the response without decoding it.
func (s *service) raw(t *testing.T, query, subjects string) string {
	t.Helper()
	body := fmt.Sprintf(`{"query":%q,"variables":{"s":[%s]}}`, query, subjects)
	status, _, text := s.exchange(t, http.MethodPost, "/graphql", body, "X-Ovation-User", "alice")
	return fmt.Sprint(status, " ", text)
}
