package postgres

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"ovation/storage"
)

// traffic makes actions as a content app sees them: many users, few subjects
// that are very popular; of ten actions five read, four react, one collects.
type traffic struct {
	random  *rand.Rand
	popular *rand.Zipf
	version int64
}

func newTraffic() *traffic {
	random := rand.New(rand.NewPCG(1, 2))
	return &traffic{random: random, popular: rand.NewZipf(random, 1.1, 10, 99_999), version: 1_700_000_000_000_000}
}

func (g *traffic) subject() storage.Subject {
	return storage.Subject{Tenant: "default", Biz: "video", BizID: strconv.FormatUint(g.popular.Uint64(), 10)}
}

func (g *traffic) user() storage.User {
	return storage.User{Tenant: "default", UserID: "user-" + strconv.Itoa(g.random.IntN(50_000))}
}

func (g *traffic) action() storage.Action {
	g.version++
	a := storage.Action{User: g.user(), Subject: g.subject(), Version: g.version}
	switch g.random.IntN(10) {
	case 0:
		a.Kind, a.FolderID = storage.KindCollection, storage.DefaultFolderID
	case 1, 2, 3, 4:
		a.Kind, a.Reaction = storage.KindReaction, storage.Reaction(g.random.IntN(3))
	default:
		a.Kind, a.Times, a.First = storage.KindRead, 1, g.version
	}
	return a
}

func (g *traffic) message(id string, size int) storage.Message {
	m := storage.Message{ID: id}
	for range size {
		m.Actions = append(m.Actions, g.action())
	}
	return m
}

func BenchmarkPersist(b *testing.B) {
	for _, size := range []int{1, 64, 1000, 5000} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			s, g, n := open(b), newTraffic(), 0
			for b.Loop() {
				n++
				m := g.message(strconv.Itoa(n), size)
				if _, err := s.Persist(b.Context(), []storage.Message{m}, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n*size)/b.Elapsed().Seconds(), "actions/s")
		})
	}
}

// BenchmarkImport persists reads as an import does, of users and subjects in
// no order, each seldom twice.
func BenchmarkImport(b *testing.B) {
	for _, size := range []int{1000, 5000, 20_000} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			s, random, n := open(b), rand.New(rand.NewPCG(1, 2)), 0
			for b.Loop() {
				n++
				m := storage.Message{ID: strconv.Itoa(n), Forever: true}
				for i := range size {
					at := int64(1_700_000_000_000_000 + n*size + i)
					m.Actions = append(m.Actions, storage.Action{
						User:    storage.User{Tenant: "default", UserID: fmt.Sprint(random.IntN(1_000_000))},
						Subject: storage.Subject{Tenant: "default", Biz: "article", BizID: fmt.Sprint(random.IntN(3000))},
						Kind:    storage.KindRead, Times: 1, First: at, Version: at,
					})
				}
				if _, err := s.Persist(b.Context(), []storage.Message{m}, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n*size)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func BenchmarkInteractives(b *testing.B) {
	s, g := open(b), newTraffic()
	for i := range 20 {
		if _, err := s.Persist(b.Context(), []storage.Message{g.message(strconv.Itoa(i), 5000)}, nil); err != nil {
			b.Fatal(err)
		}
	}
	subjects := make([]storage.Subject, 100)
	for b.Loop() {
		for i := range subjects {
			subjects[i] = g.subject()
		}
		if _, err := s.Interactives(b.Context(), g.user(), subjects, storage.AllKinds); err != nil {
			b.Fatal(err)
		}
	}
}
