package storagetest

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"ovation/storage"
)

// Traffic generates random actions like those in a content app: many users and a few very
// popular subjects. Of ten actions, on average, five are reads, four are reactions and
// one is a collection.
type Traffic struct {
	random  *rand.Rand
	popular *rand.Zipf
	version int64
}

// NewTraffic returns a Traffic that generates the same actions on every run.
func NewTraffic() *Traffic {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same numbers in every run
	return &Traffic{random: random, popular: rand.NewZipf(random, 1.1, 10, 99_999), version: 1_700_000_000_000_000}
}

// Subject returns a random subject. It returns popular subjects more often.
func (g *Traffic) Subject() storage.Subject {
	return storage.Subject{Tenant: "default", Biz: "video", BizID: strconv.FormatUint(g.popular.Uint64(), 10)}
}

// User returns a random user.
func (g *Traffic) User() storage.User {
	return storage.User{Tenant: "default", UserID: "user-" + strconv.Itoa(g.random.IntN(50_000))}
}

// Action returns a random action that is newer than all earlier actions.
func (g *Traffic) Action() storage.Action {
	g.version++
	a := storage.Action{User: g.User(), Subject: g.Subject(), Version: g.version}
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

// Message returns a message with the given id and number of actions.
func (g *Traffic) Message(id string, size int) storage.Message {
	m := storage.Message{ID: id}
	for range size {
		m.Actions = append(m.Actions, g.Action())
	}
	return m
}

// BenchmarkPersist measures Persist with messages of several sizes.
func BenchmarkPersist(b *testing.B, open func(testing.TB) storage.Store) {
	b.Helper()
	for _, size := range []int{1, 64, 1000, 5000} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			s, g, n := open(b), NewTraffic(), 0
			for b.Loop() {
				n++
				m := g.Message(strconv.Itoa(n), size)
				if _, err := s.Persist(b.Context(), []storage.Message{m}, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n*size)/b.Elapsed().Seconds(), "actions/s")
		})
	}
}

// BenchmarkInteractives measures a page of 100 subjects, most of them popular.
func BenchmarkInteractives(b *testing.B, open func(testing.TB) storage.Store) {
	b.Helper()
	s, g := open(b), NewTraffic()
	for i := range 20 {
		if _, err := s.Persist(b.Context(), []storage.Message{g.Message(strconv.Itoa(i), 5000)}, nil); err != nil {
			b.Fatal(err)
		}
	}
	subjects := make([]storage.Subject, 100)
	for b.Loop() {
		for i := range subjects {
			subjects[i] = g.Subject()
		}
		if _, err := s.Interactives(b.Context(), g.User(), subjects, storage.AllKinds); err != nil {
			b.Fatal(err)
		}
	}
}
