package postgres

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"ovation/storage"
	"ovation/storage/storagetest"
)

// BenchmarkImport persists actions of KindRead, as an import does. Users and subjects are
// in no particular order, and few pairs of a user and a subject occur twice.
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

func BenchmarkPersist(b *testing.B) { storagetest.BenchmarkPersist(b, openStore) }

func BenchmarkInteractives(b *testing.B) { storagetest.BenchmarkInteractives(b, openStore) }

func openStore(tb testing.TB) storage.Store {
	tb.Helper()
	return open(tb)
}
