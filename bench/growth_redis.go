package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// memoryUse is the memory of Redis, by purpose.
type memoryUse struct {
	states               int      // number of states in Postgres
	subject              itemSize // the counts of a subject, and tracking that one node caches them
	known                itemSize // tracking that another node caches the counts
	idle, typical, heavy itemSize // the window of a user of each kind
}

// itemSize is the memory of n entries of one kind.
type itemSize struct {
	n    int
	each float64 // bytes
}

const (
	weighed     = 100_000 // maximum number of users, and of subjects
	weighedIdle = 20_000
	weighPage   = 100
)

// weigh makes more and more subjects and users active, and measures the memory that
// Redis takes for them.
func (g *growth) weigh(ctx context.Context, w world) (h *memoryUse, err error) {
	if err := g.fresh(ctx); err != nil {
		return nil, err
	}
	scale := &scale{growth: g, node: g.node.process}
	if err := scale.begin(ctx); err != nil {
		return nil, err
	}
	subjects := min(weighed, w.subjects-weighPage)
	h = &memoryUse{states: w.states}
	if h.subject, err = scale.subjects(ctx, weighPage, subjects, subjects); err != nil {
		return nil, fmt.Errorf("subjects: %w", err)
	}
	// Redis tracks what one node has cached; another node requests the same.
	other, err := g.site.serve(ctx)
	if other != nil {
		defer func() { err = errors.Join(err, other.stop()) }()
	}
	if err != nil {
		return nil, err
	}
	scale.node = other
	if _, err := scale.subjects(ctx, 0, weighPage, 0); err != nil { // opens the connections of the other node
		return nil, err
	}
	if h.known, err = scale.subjects(ctx, weighPage, subjects, 0); err != nil {
		return nil, fmt.Errorf("subjects of a second node: %w", err)
	}
	scale.node = g.node.process
	idle, typical, heavy := w.active()
	for _, some := range []struct {
		names []string
		into  *itemSize
	}{{idle, &h.idle}, {typical, &h.typical}, {heavy, &h.heavy}} {
		if *some.into, err = scale.users(ctx, some.names); err != nil {
			return nil, fmt.Errorf("users: %w", err)
		}
	}
	g.sayf("Redis: %.0f bytes a subject, %.0f a user", h.subject.each, h.typical.each)
	return h, nil
}

// active returns users without states, and users of both kinds of the world.
func (w world) active() (idle, typical, heavy []string) {
	for i := range weighedIdle {
		idle = append(idle, fmt.Sprintf("idle-%07d", i))
	}
	for i := range w.users {
		switch {
		case i%heavyUserEvery == 0:
			heavy = append(heavy, w.user(i))
		case len(typical) < weighed:
			typical = append(typical, w.user(i))
		}
	}
	return idle, typical, heavy
}

// scale measures what is added to Redis from one step to the next.
type scale struct {
	*growth

	truth *truth   // only the counts
	node  *process // receives the requests
	at    reading
}

// reading is the memory and the number of keys of Redis at one time.
type reading struct {
	memory, evicted int64
	counts, windows int // keys of this site
}

// begin opens all connections and takes the first reading.
func (s *scale) begin(ctx context.Context) (err error) {
	if s.truth, err = s.site.truthOf(ctx, s.people, nil); err != nil {
		return err
	}
	if err := s.askFor(ctx, 0, weighPage)(); err != nil {
		return err
	}
	s.at, err = s.site.read(ctx)
	return err
}

// fillTries bounds the repetitions of requests until Redis has everything: a node does
// not write slow answers of the database to Redis.
const fillTries = 5

// step calls ask and takes another reading, which must have the given numbers of
// additional keys.
func (s *scale) step(ctx context.Context, ask func() error, n, counts, windows int) (w itemSize, err error) {
	before := s.at
	for range fillTries {
		if err := ask(); err != nil {
			return w, err
		}
		if s.at, err = s.site.read(ctx); err != nil {
			return w, err
		}
		if s.at.evicted != before.evicted {
			return w, errors.New("keys were evicted meanwhile: Redis needs more memory (maxmemory)")
		}
		if s.at.counts-before.counts == counts && s.at.windows-before.windows == windows {
			return itemSize{n, float64(s.at.memory-before.memory) / float64(n)}, nil
		}
	}
	return w, fmt.Errorf("there are %d more counts and %d more windows in Redis, not %d and %d",
		s.at.counts-before.counts, s.at.windows-before.windows, counts, windows)
}

// subjects requests n subjects as an anonymous viewer; Redis lacks unknown of them.
func (s *scale) subjects(ctx context.Context, from, n, unknown int) (itemSize, error) {
	return s.step(ctx, s.askFor(ctx, from, n), n, unknown, 0)
}

func (s *scale) askFor(ctx context.Context, from, n int) func() error {
	someone := &people{names: []string{""}, tokens: []string{""}, subjects: s.people.subjects}
	var visits []page
	for at := from; at < from+n; at += weighPage {
		visit := page{}
		for i := range min(weighPage, from+n-at) {
			visit.subjects = append(visit.subjects, at+i)
		}
		visits = append(visits, visit)
	}
	return s.once(ctx, someone, visits, s.truth)
}

// users requests, as each user, one subject that Redis has.
func (s *scale) users(ctx context.Context, names []string) (itemSize, error) {
	p, err := newCrowd(names, s.people.subjects, s.site.secret)
	if err != nil {
		return itemSize{}, err
	}
	t, err := s.site.truthOf(ctx, p, names)
	if err != nil {
		return itemSize{}, err
	}
	visits := make([]page, len(names))
	for i := range visits {
		visits[i] = page{i, []int{i % weighPage}}
	}
	return s.step(ctx, s.once(ctx, p, visits, t), len(names), 0, len(names))
}

func (s *scale) once(ctx context.Context, p *people, visits []page, t *truth) func() error {
	all := s.growth.node.book(p, t, visits)
	return func() error {
		_, err := s.ask(ctx, s.node, all, 2*growthClients)
		return err
	}
}

// read reads the memory of Redis and counts its keys.
func (s *site) read(ctx context.Context) (r reading, err error) {
	err = s.withRedis(func(client rueidis.Client) error {
		info, err := client.Do(ctx, client.B().Info().Build()).ToString()
		if err != nil {
			return fmt.Errorf("ask Redis for its memory: %w", err)
		}
		for line := range strings.Lines(info) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			switch name {
			case "used_memory":
				r.memory, err = strconv.ParseInt(value, 10, 64)
			case "evicted_keys":
				r.evicted, err = strconv.ParseInt(value, 10, 64)
			}
			if err != nil {
				return fmt.Errorf("read what Redis says: %w", err)
			}
		}
		return s.eachKeys(ctx, client, func(_ rueidis.Client, keys []string) error {
			for _, key := range keys {
				switch {
				case strings.Contains(key, ":c:{"):
					r.counts++
				case strings.Contains(key, ":w:{"):
					r.windows++
				}
			}
			return nil
		})
	})
	return r, err
}
