package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// redisMemory is the memory used in Redis, by purpose.
type redisMemory struct {
	states                                int      // number of states in Postgres
	subject                               itemSize // the counts of a subject, and the tracking entry of one node that has cached them
	secondNode                            itemSize // the tracking entry for one more node
	emptyWindow, smallWindow, largeWindow itemSize // the window of a user without, with few and with many states
}

// itemSize is the number of entries of one kind and their mean size in memory.
type itemSize struct {
	count     int
	bytesEach float64
}

const (
	maxMeasured    = 100_000 // maximum number of measured users, and of measured subjects
	idleUserCount  = 20_000
	memoryPageSize = 100
)

// measureRedis makes subjects and users active, step by step, and measures the memory
// that each step adds to Redis.
func (g *growth) measureRedis(ctx context.Context, w growthData) (h *redisMemory, err error) {
	if err := g.restartEmpty(ctx); err != nil {
		return nil, err
	}
	meter := &redisMeter{growth: g, node: g.node.process}
	if err := meter.start(ctx); err != nil {
		return nil, err
	}
	subjects := min(maxMeasured, w.subjects-memoryPageSize)
	h = &redisMemory{states: w.states}
	if h.subject, err = meter.measureSubjects(ctx, memoryPageSize, subjects, subjects); err != nil {
		return nil, fmt.Errorf("subjects: %w", err)
	}
	// Redis tracks the keys that each node has cached. Another node requests the same
	// subjects, to measure the cost of tracking alone.
	other, err := g.installation.startNode(ctx)
	if other != nil {
		defer func() { err = errors.Join(err, other.stop()) }()
	}
	if err != nil {
		return nil, err
	}
	meter.node = other
	if _, err := meter.measureSubjects(ctx, 0, memoryPageSize, 0); err != nil { // opens the connections of the other node
		return nil, err
	}
	if h.secondNode, err = meter.measureSubjects(ctx, memoryPageSize, subjects, 0); err != nil {
		return nil, fmt.Errorf("subjects of a second node: %w", err)
	}
	meter.node = g.node.process
	idle, typical, heavy := w.usersByActivity()
	for _, some := range []struct {
		names []string
		into  *itemSize
	}{{idle, &h.emptyWindow}, {typical, &h.smallWindow}, {heavy, &h.largeWindow}} {
		if *some.into, err = meter.measureWindows(ctx, some.names); err != nil {
			return nil, fmt.Errorf("users: %w", err)
		}
	}
	g.progressf("Redis: %.0f bytes a subject, %.0f a user", h.subject.bytesEach, h.smallWindow.bytesEach)
	return h, nil
}

// usersByActivity returns users without states, typical users and heavy users.
func (w growthData) usersByActivity() (idle, typical, heavy []string) {
	for i := range idleUserCount {
		idle = append(idle, fmt.Sprintf("idle-%07d", i))
	}
	for i := range w.users {
		switch {
		case i%heavyUserInterval == 0:
			heavy = append(heavy, w.user(i))
		case len(typical) < maxMeasured:
			typical = append(typical, w.user(i))
		}
	}
	return idle, typical, heavy
}

// redisMeter measures the memory that each step adds to Redis.
type redisMeter struct {
	*growth

	state *databaseState // contains counts only
	node  *process       // receives the requests
	last  redisReading
}

// redisReading holds the memory used in Redis, and the numbers of keys, at one point in
// time.
type redisReading struct {
	memory, evicted int64
	counts, windows int // keys of this installation
}

// start opens all connections and takes the first reading.
func (s *redisMeter) start(ctx context.Context) (err error) {
	if s.state, err = s.installation.readStateOf(ctx, s.users, nil); err != nil {
		return err
	}
	if err := s.requestSubjects(ctx, 0, memoryPageSize)(); err != nil {
		return err
	}
	s.last, err = s.installation.readRedis(ctx)
	return err
}

// maxFillAttempts is the maximum number of times that the same requests are sent to fill
// Redis. A repetition may be needed, because a node does not write slow database results
// to Redis.
const maxFillAttempts = 5

// measureAdded calls ask and takes a reading, up to maxFillAttempts times in all, until
// Redis has gained the given numbers of counts (of subjects) and windows (of users). It
// returns the number of items, n, and the mean memory added for each. It returns an error
// if Redis has evicted keys, or has not gained exactly those numbers after the last
// attempt.
func (s *redisMeter) measureAdded(ctx context.Context, ask func() error, n, counts, windows int) (w itemSize, err error) {
	before := s.last
	for range maxFillAttempts {
		if err := ask(); err != nil {
			return w, err
		}
		if s.last, err = s.installation.readRedis(ctx); err != nil {
			return w, err
		}
		if s.last.evicted != before.evicted {
			return w, errors.New("keys were evicted from Redis during the measurement: raise its maxmemory")
		}
		if s.last.counts-before.counts == counts && s.last.windows-before.windows == windows {
			return itemSize{n, float64(s.last.memory-before.memory) / float64(n)}, nil
		}
	}
	return w, fmt.Errorf("got %d more counts and %d more windows in Redis, want %d and %d",
		s.last.counts-before.counts, s.last.windows-before.windows, counts, windows)
}

// measureSubjects measures the memory that is added by requesting n subjects as an
// anonymous viewer. The parameter from is the index of the first subject, and unknown is
// the number of these subjects that are not in Redis yet.
func (s *redisMeter) measureSubjects(ctx context.Context, from, n, unknown int) (itemSize, error) {
	return s.measureAdded(ctx, s.requestSubjects(ctx, from, n), n, unknown, 0)
}

func (s *redisMeter) requestSubjects(ctx context.Context, from, n int) func() error {
	someone := &userPool{names: []string{""}, tokens: []string{""}, subjects: s.users.subjects}
	var visits []page
	for at := from; at < from+n; at += memoryPageSize {
		visit := page{}
		for i := range min(memoryPageSize, from+n-at) {
			visit.subjects = append(visit.subjects, at+i)
		}
		visits = append(visits, visit)
	}
	return s.requestPages(ctx, someone, visits, s.state)
}

// measureWindows measures the memory that windows add to Redis; a window holds a user's
// states in one biz. To fill the windows, it requests a page of one subject as each of
// the named users. The counts of the requested subjects are already in Redis.
func (s *redisMeter) measureWindows(ctx context.Context, names []string) (itemSize, error) {
	p, err := newUserPool(names, s.users.subjects, s.installation.secret)
	if err != nil {
		return itemSize{}, err
	}
	t, err := s.installation.readStateOf(ctx, p, names)
	if err != nil {
		return itemSize{}, err
	}
	visits := make([]page, len(names))
	for i := range visits {
		visits[i] = page{i, []int{i % memoryPageSize}}
	}
	return s.measureAdded(ctx, s.requestPages(ctx, p, visits, t), len(names), 0, len(names))
}

func (s *redisMeter) requestPages(ctx context.Context, p *userPool, visits []page, t *databaseState) func() error {
	all := s.growth.node.newWorkload(p, t, visits)
	return func() error {
		_, err := s.requestAll(ctx, s.node, all, 2*growthClients)
		return err
	}
}

// readRedis reads how much memory Redis uses, and counts the installation's keys.
func (s *installation) readRedis(ctx context.Context) (r redisReading, err error) {
	err = s.withRedis(func(client rueidis.Client) error {
		info, err := client.Do(ctx, client.B().Info().Build()).ToString()
		if err != nil {
			return fmt.Errorf("read the memory of Redis: %w", err)
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
				return fmt.Errorf("parse the INFO of Redis: %w", err)
			}
		}
		return s.scanKeys(ctx, client, func(_ rueidis.Client, keys []string) error {
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
