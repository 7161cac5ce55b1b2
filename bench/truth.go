package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/jackc/pgx/v5"
)

// biz is the kind of all content in the benchmark.
const biz = "article"

// counts holds the counts of one subject in Postgres.
type counts struct{ reads, likes, dislikes, collections int64 }

// databaseState holds the counts and states in Postgres, read while no writes are in
// progress. The SQL that reads them is independent of Ovation's.
type databaseState struct {
	counts    map[string]counts  // by bizId
	liked     map[stateKey]int64 // the time of each like, in microseconds
	collected map[stateKey]int64
	sent      []int64 // number of likes sent before the state was read, by index of the subject
}

// stateKey identifies a user's states on a subject.
type stateKey struct{ user, subject string }

// readState reads the counts of all subjects and the states of the viewers.
func (s *installation) readState(ctx context.Context, p *userPool) (*databaseState, error) {
	return s.readStateOf(ctx, p, p.names[:p.viewerCount])
}

// readStateOf reads the counts of all subjects and the states of the given users.
func (s *installation) readStateOf(ctx context.Context, p *userPool, users []string) (*databaseState, error) {
	t := &databaseState{counts: map[string]counts{}, liked: map[stateKey]int64{}, collected: map[stateKey]int64{}}
	for i := range p.sent {
		t.sent = append(t.sent, p.sent[i].Load())
	}
	rows, err := s.database.Query(ctx, `SELECT biz_id, read_count, like_count, dislike_count, collect_count FROM interactive WHERE biz = $1`, biz)
	if err == nil {
		var id string
		var c counts
		_, err = pgx.ForEachRow(rows, []any{&id, &c.reads, &c.likes, &c.dislikes, &c.collections}, func() error {
			t.counts[id] = c
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read counts from Postgres: %w", err)
	}
	for _, kind := range []struct {
		query string
		into  map[stateKey]int64
	}{
		{`SELECT user_id, biz_id, version FROM user_reaction WHERE tenant = 'default' AND user_id = ANY ($2) AND biz = $1 AND state = 1`, t.liked},
		{`SELECT user_id, biz_id, version FROM user_collection WHERE tenant = 'default' AND user_id = ANY ($2) AND biz = $1 AND state <> ''`, t.collected},
	} {
		rows, err := s.database.Query(ctx, kind.query, biz, users)
		if err == nil {
			var of stateKey
			var version int64
			_, err = pgx.ForEachRow(rows, []any{&of.user, &of.subject, &version}, func() error {
				kind.into[of] = version
				return nil
			})
		}
		if err != nil {
			return nil, fmt.Errorf("read states from Postgres: %w", err)
		}
	}
	return t, nil
}

// sampler draws names with probabilities proportional to their weights.
type sampler struct {
	names             []string
	cumulativeWeights []int64 // the sum of the weights up to and including each name
}

// newSampler returns a sampler of the names in weights. It sorts them by descending
// weight, so that the same seed draws the same names.
func newSampler(weights map[string]int64) *sampler {
	d := &sampler{}
	for name := range weights {
		d.names = append(d.names, name)
	}
	slices.SortFunc(d.names, func(a, b string) int {
		if weights[a] != weights[b] {
			return int(weights[b] - weights[a])
		}
		if a < b {
			return -1
		}
		return 1
	})
	sum := int64(0)
	for _, name := range d.names {
		sum += weights[name]
		d.cumulativeWeights = append(d.cumulativeWeights, sum)
	}
	return d
}

// draw returns the index of a random name.
func (d *sampler) draw(random *rand.Rand) int {
	at := random.Int64N(d.cumulativeWeights[len(d.cumulativeWeights)-1])
	return sort.Search(len(d.cumulativeWeights), func(i int) bool { return d.cumulativeWeights[i] > at })
}

// samplers returns a sampler of subjects and a sampler of users. The weight of each
// subject or user is the number of its rows in the data.
func (d *dataset) samplers() (subjects, users *sampler) {
	bySubject, byUser := map[string]int64{}, map[string]int64{}
	for i := range d.rows {
		bySubject[d.rows[i][2]]++
		byUser[d.rows[i][3]]++
	}
	return newSampler(bySubject), newSampler(byUser)
}
