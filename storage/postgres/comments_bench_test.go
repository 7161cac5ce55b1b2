package postgres

import (
	"strconv"
	"testing"

	"ovation/internal/testing/postgrestest"
	"ovation/storage"
	"ovation/storage/storagetest"
)

func commentsOf(g *storagetest.Traffic, size int) []storage.NewComment {
	out := make([]storage.NewComment, size)
	for i := range out {
		out[i] = storage.NewComment{Subject: g.Subject(), User: g.User(), Text: "What a lovely video. I have watched it twice already."}
	}
	return out
}

// BenchmarkAddComments adds comments in groups. For comparison, it inserts the same rows
// with a single statement, which is the minimum cost of a group.
func BenchmarkAddComments(b *testing.B) {
	for _, size := range []int{1, 32, 500} {
		b.Run("added/"+strconv.Itoa(size), func(b *testing.B) {
			s, g, n := open(b), storagetest.NewTraffic(), 0
			for b.Loop() {
				n++
				if _, err := s.AddComments(b.Context(), commentsOf(g, size)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n*size)/b.Elapsed().Seconds(), "comments/s")
		})
		b.Run("inserted/"+strconv.Itoa(size), func(b *testing.B) {
			s, g, n := open(b), storagetest.NewTraffic(), 0
			for b.Loop() {
				n++
				rows := newColumns(5, 4, size)
				for i, c := range commentsOf(g, size) {
					id := int64(n*size + i)
					rows.add([]string{c.Subject.Tenant, c.Subject.Biz, c.Subject.BizID, c.User.UserID, c.Text}, id, 0, id, id)
				}
				if _, err := s.pool.Exec(b.Context(), insertComments, rows.args()...); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n*size)/b.Elapsed().Seconds(), "comments/s")
		})
	}
}

// BenchmarkListComments reads the first and the 500th page of a subject with 100,000
// comments, and the first page of a subject with few comments. The three pages should
// cost the same.
func BenchmarkListComments(b *testing.B) {
	const many, group, page, far = 100_000, 500, 20, 500
	s, g := open(b), storagetest.NewTraffic()
	large, small := storage.Subject{Tenant: "default", Biz: "video", BizID: "large"}, storage.Subject{Tenant: "default", Biz: "video", BizID: "small"}
	add := func(to storage.Subject, n int) {
		comments := commentsOf(g, n)
		for i := range comments {
			comments[i].Subject = to
		}
		if _, err := s.AddComments(b.Context(), comments); err != nil {
			b.Fatal(err)
		}
	}
	add(small, page)
	for range many / group {
		add(large, group)
	}
	postgrestest.Exec(b, s.pool.Config().ConnString(), `UPDATE comment SET like_count = comment_id % 17`, `ANALYZE comment`)
	for _, order := range []storage.CommentOrder{storage.Newest, storage.Oldest, storage.Top} {
		last, err := s.ListComments(b.Context(), []storage.CommentsQuery{{Subject: large, Order: order, Page: storage.Page{First: page * (far - 1)}}})
		if err != nil {
			b.Fatal(err)
		}
		after := order.Place(&last[0].Entries[len(last[0].Entries)-1])
		for name, q := range map[string]storage.CommentsQuery{
			"small": {Subject: small}, "first": {Subject: large}, "500th": {Subject: large, Page: storage.Page{After: after}},
		} {
			q.Order, q.First = order, page
			b.Run(string(order)+"/"+name, func(b *testing.B) {
				for b.Loop() {
					if got, err := s.ListComments(b.Context(), []storage.CommentsQuery{q}); err != nil || len(got[0].Entries) != page {
						b.Fatalf("got %d comments, %v, want %d", len(got[0].Entries), err, page)
					}
				}
			})
		}
	}
}
