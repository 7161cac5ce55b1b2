package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"ovation/storage"
)

// With the same seed, the same users perform the same actions.
const (
	users    = 200 // the first ones are people
	videos   = 20
	articles = 100
	reads    = 4000
	month    = 30 * 24 * time.Hour
	viewers  = 3  // the first people, which the pages offer as viewers
	friends  = 16 // the friends of the viewers are among the first users
	seed     = 20
)

// step adds a part of the data, and returns a message that the caller persists. A step
// whose message has been persisted is not repeated.
type step struct {
	id  string // of the message
	add func(*demo, context.Context, storage.Store) (storage.Message, error)
}

// The first step tells stores with demo data from others.
var steps = []step{
	{"demo-actions-1", (*demo).actions},
	{"demo-people-1", (*demo).people},
	{"demo-folders-1", (*demo).folders},
	{"demo-follows-1", (*demo).follows},
	{"demo-comments-1", (*demo).comments},
	{"demo-authors-1", (*demo).authors},
	{"demo-messages-1", (*demo).messages},
}

// Add adds the demo data to an empty store, with actions dated up to now: everything but
// clips and avatars, which AddClips adds. If an earlier call was interrupted, Add
// completes the demo data of that call. A store that contains only other data is left
// unchanged. Add may be called repeatedly. Errors: those of the store.
func Add(ctx context.Context, store storage.Store, now time.Time) error {
	ids := make([]string, len(steps))
	for i, s := range steps {
		ids[i] = s.id
	}
	seen, err := store.Seen(ctx, ids)
	if err != nil {
		return fmt.Errorf("check for demo data: %w", err)
	}
	if !seen[0] {
		counts, err := store.Verify(ctx, false, func(storage.Difference) error { return nil })
		if err != nil {
			return fmt.Errorf("check whether there is data: %w", err)
		}
		if counts > 0 {
			return nil
		}
	}
	d := newDemo(now)
	for i, s := range steps {
		if seen[i] {
			continue
		}
		d.begin(uint64(i) + 1)
		message, err := s.add(d, ctx, store)
		if err == nil {
			err = persist(ctx, store, s.id, message)
		}
		if err != nil {
			return fmt.Errorf("add demo data: %w", err)
		}
	}
	return nil
}

func persist(ctx context.Context, store storage.Store, id string, m storage.Message) error {
	m.ID, m.Forever = id, true
	_, err := store.Persist(ctx, []storage.Message{m}, nil)
	return err
}

// demo generates the demo data.
type demo struct {
	now      time.Time
	random   *rand.Rand
	subjects []subject // the most popular first
	popular  *rand.Zipf
	active   *rand.Zipf
}

// subject is a video or an article.
type subject struct {
	storage.Subject

	number int // its place among the videos or the articles, from 0
	author int // the number of its author; see demo.user
}

func newDemo(now time.Time) *demo {
	d := &demo{now: now}
	d.begin(0)
	for i := range videos + articles {
		s := subject{storage.Subject{Tenant: storage.DefaultTenant, Biz: "video"}, i, 0}
		if i >= videos {
			s.Biz, s.number = "article", i-videos
		}
		s.BizID = strconv.Itoa(s.number + 1)
		d.subjects = append(d.subjects, s)
	}
	// Videos and articles are mixed, but the first video remains the most popular
	// subject.
	rest := d.subjects[1:]
	d.random.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	for i := range d.subjects {
		d.subjects[i].author = (i*7 + 1) % len(people)
	}
	return d
}

// begin starts a step with a new random generator. The step therefore generates the same
// data even if an interrupted start of the program has already completed the earlier
// steps.
func (d *demo) begin(step uint64) {
	d.random = rand.New(rand.NewPCG(seed, step)) //nolint:gosec // it is meant to be the same each time
	d.popular = rand.NewZipf(d.random, 1.2, 4, videos+articles-1)
	d.active = rand.NewZipf(d.random, 1.1, 12, users-1)
}

// The ids of users who are not among people are made of these words.
var (
	firstWords  = []string{"anna", "boris", "chen", "dina", "emil", "farah", "gus", "hugo", "ida", "jo", "kai", "lena", "mona", "noor", "olga", "paul", "rosa"}
	secondWords = []string{"oak", "river", "kite", "lamp", "moss", "bay", "fig", "owl", "tea", "sol"}
)

// user returns user number n, counted from 0.
func (d *demo) user(n int) storage.User {
	u := storage.User{Tenant: storage.DefaultTenant}
	if n < len(people) {
		u.UserID = people[n].id
	} else {
		n -= len(people)
		u.UserID = firstWords[n%len(firstWords)] + "-" + secondWords[n/len(firstWords)%len(secondWords)]
	}
	return u
}

// named returns the user with the id of a person.
func named(id string) storage.User { return storage.User{Tenant: storage.DefaultTenant, UserID: id} }

// somebody returns a random user. Active users are chosen more often than others.
func (d *demo) somebody() storage.User { return d.user(int(d.active.Uint64())) }

// crowd returns all people in a random order.
func (d *demo) crowd() []storage.User {
	out := make([]storage.User, 0, len(people))
	for _, n := range d.random.Perm(len(people)) {
		out = append(out, d.user(n))
	}
	return out
}

// ago returns a random time of the last month.
func (d *demo) ago() time.Time {
	return d.now.Add(-time.Duration(d.random.Int64N(int64(month))))
}
