package postgres

import (
	"strconv"
	"testing"

	"ovation/storage"
	"ovation/storage/storagetest"
)

func messagesOf(g *storagetest.Traffic, size int) []storage.NewDirectMessage {
	out := make([]storage.NewDirectMessage, 0, size)
	for len(out) < size {
		m := storage.NewDirectMessage{From: g.User(), To: g.User(), Text: "Have you seen this one? I have watched it twice already."}
		if m.From != m.To {
			out = append(out, m)
		}
	}
	return out
}

func BenchmarkAddMessages(b *testing.B) {
	for _, size := range []int{1, 32, 500} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			s, g, n := open(b), storagetest.NewTraffic(), 0
			for b.Loop() {
				n++
				if _, err := s.AddMessages(b.Context(), messagesOf(g, size)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n*size)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}

// BenchmarkListMessages reads the first and the 500th page of a conversation with 100,000
// messages, and the first page of a conversation with few messages. The three pages
// should cost the same.
func BenchmarkListMessages(b *testing.B) {
	const many, group, page, far = 100_000, 500, 20, 500
	s := open(b)
	person := func(id string) storage.User { return storage.User{Tenant: "default", UserID: id} }
	large := storage.ConversationKey{Owner: person("alice"), With: person("bob")}
	small := storage.ConversationKey{Owner: person("alice"), With: person("carol")}
	add := func(to storage.ConversationKey, n int) {
		messages := make([]storage.NewDirectMessage, n)
		for i := range messages {
			messages[i] = storage.NewDirectMessage{From: to.Owner, To: to.With, Text: "Have you seen this one?"}
		}
		if _, err := s.AddMessages(b.Context(), messages); err != nil {
			b.Fatal(err)
		}
	}
	for range many / group {
		add(large, group)
	}
	add(small, 2*page)
	list := func(q storage.DirectMessagesQuery) []storage.DirectMessage {
		got, err := s.ListMessages(b.Context(), []storage.DirectMessagesQuery{q})
		if err != nil || len(got[0].Entries) != page {
			b.Fatalf("got %d messages, %v, want %d", len(got[0].Entries), err, page)
		}
		return got[0].Entries
	}
	first := storage.Page{First: page}
	deep := first
	for range far - 1 {
		entries := list(storage.DirectMessagesQuery{Conversation: large, Page: deep})
		deep.After = entries[page-1].Place()
	}
	for name, q := range map[string]storage.DirectMessagesQuery{
		"first of many": {Conversation: large, Page: first}, "500th of many": {Conversation: large, Page: deep},
		"first of few": {Conversation: small, Page: first},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				list(q)
			}
		})
	}
}
