package trends

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/postgrestest"
	"ovation/internal/testing/seed"
	"ovation/storage"
	"ovation/storage/policy"
	"ovation/storage/postgres"
	"ovation/storage/sqlite"
	"ovation/worker/events"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type store interface {
	storage.Store
	Store
}

// databases returns functions that open stores on an empty database of each kind, with
// the given clock.
func databases(t *testing.T, now func() time.Time) map[string]func() store {
	t.Helper()
	events := storage.EventOptions{Log: func(string, string) bool { return true }}
	file, url := filepath.Join(t.TempDir(), "ovation.db"), postgrestest.Schema(t)
	closed := func(s store, err error) store {
		must.Succeed(t, err)
		t.Cleanup(func() { must.Succeed(t, s.Close()) })
		return s
	}
	return map[string]func() store{
		"SQLite": func() store {
			return closed(sqlite.Open(t.Context(), sqlite.Options{Path: file, Now: now, Events: events}))
		},
		"Postgres": func() store {
			return closed(postgres.Open(t.Context(), postgres.Options{URL: url, Now: now, Events: events}))
		},
	}
}

// hour is a random hour: actions of users at given times.
type hour struct {
	random *rand.Rand
	now    time.Time
	n      int
}

func (h *hour) clock() time.Time { return h.now }

// act persists random actions of the last minutes, some of which take back others.
func (h *hour) act(t *testing.T, s storage.Store) {
	t.Helper()
	var actions []storage.Action
	for range 1 + h.random.IntN(30) {
		a := storage.Action{
			User:    storage.User{Tenant: storage.DefaultTenant, UserID: "user-" + strconv.Itoa(h.random.IntN(8))},
			Subject: storage.Subject{Tenant: storage.DefaultTenant, Biz: []string{"video", "article"}[h.random.IntN(2)], BizID: strconv.Itoa(h.random.IntN(12))},
			Version: storage.Micros(h.now.Add(-time.Duration(h.random.Int64N(int64(5 * time.Minute))))),
		}
		switch h.random.IntN(5) {
		case 0:
			a.Kind, a.Times, a.First = storage.KindRead, 1+h.random.Int64N(3), a.Version
			if h.random.IntN(3) == 0 {
				a.User.UserID = ""
			}
		case 1:
			a.Kind, a.FolderID = storage.KindCollection, []string{"", storage.DefaultFolderID}[h.random.IntN(2)]
		case 2:
			a.Kind, a.Following = storage.KindFollow, h.random.IntN(2) == 0
		default:
			a.Kind, a.Reaction = storage.KindReaction, []storage.Reaction{storage.NoReaction, storage.Like, storage.Dislike}[h.random.IntN(3)]
		}
		actions = append(actions, a)
	}
	h.n++
	message := storage.Message{ID: strconv.Itoa(h.n), Actions: actions}
	if h.random.IntN(4) == 0 {
		message.Comments = []storage.PastComment{{Subject: actions[0].Subject, User: storage.User{Tenant: storage.DefaultTenant, UserID: "user-1"}, Text: "text", At: storage.Micros(h.now)}}
	}
	_, err := s.Persist(t.Context(), []storage.Message{message}, nil)
	must.Succeed(t, err)
}

// weights are what events, and values of reactions, count in a recount.
type weights struct{ events, reactions map[string]int64 }

// weightsOf returns the weights of reads, likes, dislikes, collections, follows and
// comments.
func weightsOf(read, like, dislike, collect, follow, comment int64) weights {
	return weights{
		map[string]int64{
			"read": read, "collected": collect, "uncollected": -collect, "followed": follow, "unfollowed": -follow,
			"commented": comment, "comment_deleted": -comment,
		},
		map[string]int64{"LIKE": like, "DISLIKE": dislike},
	}
}

// recount returns the list of trends as it follows from the whole log.
func recount(t *testing.T, log storage.EventLog, q storage.TrendingQuery, weights weights, now time.Time) (out []string) {
	t.Helper()
	scores := map[string]int64{}
	for after := int64(0); ; {
		page, err := log.Events(t.Context(), storage.EventsQuery{After: after, Tenant: q.Tenant, Biz: q.Biz})
		must.Succeed(t, err)
		for i := range page.Events {
			e := &page.Events[i]
			if at := storage.Time(min(e.At, storage.Micros(now))); q.Window.Bucket(at) >= q.Window.Oldest(now) {
				scores[e.Subject.BizID] += weights.events[string(e.Type)]*max(1, e.Times) + weights.reactions[e.After] - weights.reactions[e.Before]
			}
		}
		if page.Next == after {
			break
		}
		after = page.Next
	}
	var entries []storage.Trend
	for id, score := range scores {
		if score > 0 {
			entries = append(entries, storage.Trend{Subject: storage.Subject{BizID: id}, Score: score})
		}
	}
	slices.SortFunc(entries, func(a, b storage.Trend) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Subject.BizID, a.Subject.BizID))
	})
	for _, e := range entries {
		out = append(out, fmt.Sprint(e.Subject.BizID, ":", e.Score))
	}
	return out
}

func trending(t *testing.T, s storage.Store, q storage.TrendingQuery) (out []string) {
	t.Helper()
	q.First = 100
	pages, err := s.Trending(t.Context(), []storage.TrendingQuery{q})
	must.Succeed(t, err)
	for _, e := range pages[0].Entries {
		out = append(out, fmt.Sprint(e.Subject.BizID, ":", e.Score))
	}
	return out
}

// everything folds and expires everything.
func everything(t *testing.T, c *events.Consumer) {
	t.Helper()
	for {
		more, err := c.Step(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return
		}
	}
}

// TestTrendsEqualARecount lets users act for a random hour, while the consumer is
// restarted and buckets expire, and compares the trends of all windows with a recount of
// the log.
func TestTrendsEqualARecount(t *testing.T) {
	configured, err := policy.Parse("ovation.yaml", []byte("defaults: {trending: {weights: {dislike: -3, follow: 7, comment: 4}}}"))
	must.Succeed(t, err)
	weights := weightsOf(1, 5, -3, 10, 7, 4)
	var h *hour
	for name, open := range databases(t, func() time.Time { return h.now }) {
		t.Run(name, func(t *testing.T) {
			h = &hour{random: rand.New(rand.NewPCG(seed.Of(t), 2)), now: time.Now().Add(-3 * time.Hour).Truncate(time.Second)}
			s := open()
			start := func() *events.Consumer {
				return New(Options{Store: s, Policies: policy.NewHandle(configured), Now: h.clock, Logger: slog.New(slog.DiscardHandler)})
			}
			c := start()
			compare := func() {
				t.Helper()
				h.now = h.now.Add(time.Second) // buckets are expired once a second
				everything(t, c)
				for _, window := range storage.TrendWindows {
					for _, biz := range []string{"video", "article"} {
						q := storage.TrendingQuery{Tenant: storage.DefaultTenant, Biz: biz, Window: window}
						if got, want := trending(t, s, q), recount(t, s, q, weights, h.now); !slices.Equal(got, want) {
							t.Errorf("window %d of %s: got %v, want %v", window, biz, got, want)
						}
					}
				}
			}
			for end := h.now.Add(90 * time.Minute); h.now.Before(end); {
				h.now = h.now.Add(time.Duration(h.random.Int64N(int64(3 * time.Minute))))
				h.act(t, s)
				switch h.random.IntN(6) {
				case 0:
					compare()
				case 1: // another process continues
					c.Release(t.Context())
					c = start()
				case 2:
					_, err := c.Step(t.Context())
					must.Succeed(t, err)
				}
			}
			compare()
			h.now = h.now.Add(40 * time.Minute)
			compare()
			h.now = h.now.Add(8 * 24 * time.Hour)
			compare()
			c.Release(t.Context())
		})
	}
}

// TestTwoConsumersCountOnce runs two consumers, of which one at a time works, while users
// act. The one that works is stopped in the middle.
func TestTwoConsumersCountOnce(t *testing.T) {
	for name, open := range databases(t, time.Now) {
		t.Run(name, func(t *testing.T) {
			s := open()
			h := &hour{random: rand.New(rand.NewPCG(seed.Of(t), 3)), now: time.Now()}
			var stops []func()
			for range 2 {
				c := New(Options{Store: open(), Logger: slog.New(slog.DiscardHandler)})
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					c.Run(ctx)
				}()
				stop := func() {
					cancel()
					<-done
				}
				defer stop()
				stops = append(stops, stop)
			}
			for i := range 30 {
				h.now = time.Now()
				h.act(t, s)
				if i == 15 {
					stops[0]()
				}
			}
			for _, biz := range []string{"video", "article"} {
				q := storage.TrendingQuery{Tenant: storage.DefaultTenant, Biz: biz, Window: storage.TrendWeek}
				await.That(t, "the trends equal a recount", func() bool {
					return slices.Equal(trending(t, s, q), recount(t, s, q, weightsOf(1, 5, 0, 10, 10, 10), time.Now()))
				})
			}
		})
	}
}

// Deleted subjects lose what they had, and a log whose beginning was pruned is continued
// where it begins.
func TestDeletionsAndPrunedEvents(t *testing.T) {
	for name, open := range databases(t, time.Now) {
		t.Run(name, func(t *testing.T) {
			s := open()
			alice := storage.User{Tenant: storage.DefaultTenant, UserID: "alice"}
			published, _, err := s.PublishVideo(t.Context(), storage.NewVideo{Author: alice, Title: "clip", File: "0123456789abcdef", Format: storage.MP4, Bytes: 1}, nil)
			must.Succeed(t, err)
			video := published.Video.Key().Subject()
			like := func(id string, on storage.Subject) {
				_, err := s.Persist(t.Context(), []storage.Message{{ID: id, Actions: []storage.Action{
					{User: alice, Subject: on, Kind: storage.KindReaction, Reaction: storage.Like, Version: storage.Micros(time.Now())},
				}}}, nil)
				must.Succeed(t, err)
			}
			like("1", video)
			c := New(Options{Store: s, Logger: slog.New(slog.DiscardHandler)})
			everything(t, c)
			q := storage.TrendingQuery{Tenant: alice.Tenant, Biz: storage.BizVideo, Window: storage.TrendHour}
			if got, want := trending(t, s, q), []string{video.BizID + ":5"}; !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			_, _, err = s.DeleteVideo(t.Context(), storage.VideoDeletion{Key: published.Video.Key(), By: alice}, nil)
			must.Succeed(t, err)
			if got := trending(t, s, q); len(got) > 0 {
				t.Errorf("after the deletion: got %v, want nothing", got)
			}
			like("2", storage.Subject{Tenant: alice.Tenant, Biz: storage.BizVideo, BizID: "pruned"})
			_, err = s.PruneEvents(t.Context(), -time.Hour)
			must.Succeed(t, err)
			like("3", storage.Subject{Tenant: alice.Tenant, Biz: storage.BizVideo, BizID: "kept"})
			everything(t, c)
			if got, want := trending(t, s, q), []string{"kept:5"}; !slices.Equal(got, want) {
				t.Errorf("after pruning: got %v, want %v", got, want)
			}
			c.Release(t.Context())
		})
	}
}
