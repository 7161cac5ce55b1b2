package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"ovation/internal/testing/postgrestest"
	"ovation/storage"
	"ovation/storage/postgres"
)

// filled returns the smallest world, in a separate schema.
func filled(t *testing.T) (world, *pgxpool.Pool, string) {
	t.Helper()
	at := postgrestest.Schema(t)
	pool, err := pgxpool.New(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	indexes := indexesOf(t, pool)
	w := worldOf(growthSizes[0])
	told := 0
	if err := w.fill(t.Context(), pool, func(done int) { told = done }); err != nil {
		t.Fatal(err)
	}
	if told != w.states {
		t.Errorf("%d of %d states were reported", told, w.states)
	}
	if after := indexesOf(t, pool); after != indexes {
		t.Errorf("the indexes are not what they were: %s, before: %s", after, indexes)
	}
	return w, pool, at
}

func indexesOf(t *testing.T, pool *pgxpool.Pool) (all string) {
	t.Helper()
	err := pool.QueryRow(t.Context(), `SELECT string_agg(indexdef, '; ' ORDER BY indexdef) FROM pg_indexes WHERE schemaname = current_schema()`).Scan(&all)
	if err != nil || !strings.Contains(all, "likers") {
		t.Fatalf("got the indexes %q, %v, want one of likers", all, err)
	}
	return all
}

func TestFilledWorldIsConsistentAndSkewed(t *testing.T) {
	w, pool, at := filled(t)
	store, err := postgres.Open(t.Context(), postgres.Options{URL: at})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	compared, err := store.Verify(t.Context(), false, func(d storage.Difference) error { return fmt.Errorf("%+v", d) })
	// Each user has a folder.
	if want := int64(storage.CountsPerSubject*w.subjects + (storage.TotalsPerUser+1)*w.users); err != nil || compared != want {
		t.Errorf("%d counts of %d were compared: %v", compared, want, err)
	}
	var popular, all, keen int
	err = pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE biz_id < $1), count(*), count(*) FILTER (WHERE user_id = $2)
		FROM (SELECT user_id, biz_id FROM user_reaction UNION ALL SELECT user_id, biz_id FROM user_collection) s`,
		w.subject(w.subjects/100), w.user(keenOne)).Scan(&popular, &all, &keen)
	if err != nil || all != w.states || keen != keenStates {
		t.Errorf("%d states, %d of a user with many states: %v", all, keen, err)
	}
	if share := float64(popular) / float64(all); share < 0.08 || share > 0.14 { // about the square root of 1/100
		t.Errorf("a hundredth of the subjects has %.3f of the states", share)
	}
}

func TestFilledWorldIsReproducible(t *testing.T) {
	w, pool, _ := filled(t)
	digest := func() (text string) {
		err := pool.QueryRow(t.Context(), `SELECT md5(string_agg(s::text, '' ORDER BY s::text)) FROM
			(SELECT user_id, biz_id, version FROM user_reaction UNION ALL SELECT user_id, biz_id, version FROM user_collection) s`).Scan(&text)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	first := digest()
	if _, err := pool.Exec(t.Context(), `TRUNCATE user_reaction, user_collection, user_read, folder, interactive, user_totals`); err != nil {
		t.Fatal(err)
	}
	if err := w.fill(t.Context(), pool, func(int) {}); err != nil {
		t.Fatal(err)
	}
	if again := digest(); again != first {
		t.Error("the second time other states were filled in")
	}
}

func TestPeopleOfAWorldAreDistinct(t *testing.T) {
	for _, states := range growthSizes[:2] {
		w := worldOf(states)
		p, err := w.people(strings.Repeat("s", 32))
		if err != nil {
			t.Fatal(err)
		}
		for name, some := range map[string][]string{"viewers": p.names[:p.viewers], "readers": p.names[p.viewers:]} {
			sorted := slices.Sorted(slices.Values(some))
			if n := len(slices.Compact(sorted)); n != len(some) {
				t.Errorf("%d states: %d of %d %s are different", states, n, len(some), name)
			}
		}
		if n := len(p.names) - p.viewers; n != readers {
			t.Errorf("%d states: %d readers", states, n)
		}
	}
}

func TestPagesOfAWorldAreDisjoint(t *testing.T) {
	for _, states := range growthSizes {
		w := worldOf(states)
		for _, kind := range pageKinds {
			if kind.different > w.subjects {
				continue
			}
			viewers, subjects := map[int]bool{}, newSet(w.subjects)
			for _, p := range w.draw(kind) {
				if viewers[p.viewer] || len(p.subjects) != kind.size {
					t.Fatalf("%d states: a page of %d subjects, not %d, or a viewer of two", states, len(p.subjects), kind.size)
				}
				viewers[p.viewer] = true
				for _, subject := range p.subjects {
					if subjects.has(subject) {
						t.Fatalf("%d states: two pages have subject %d", states, subject)
					}
					subjects.add(subject)
				}
			}
			if len(viewers) < 200 {
				t.Errorf("%d states: only %d pages of %d", states, len(viewers), kind.size)
			}
		}
	}
}

func TestNoUserLikesALikedSubjectAgain(t *testing.T) {
	w := worldOf(growthSizes[0])
	p, err := w.people(strings.Repeat("s", 32))
	if err != nil {
		t.Fatal(err)
	}
	const popular = 100 // these are 7 % of what is drawn
	had := &truth{liked: map[pair]int64{}}
	for _, user := range p.names[p.viewers:] {
		for _, subject := range p.subjects.names[:popular] {
			had.liked[pair{user, subject}] = 1
		}
	}
	p.remember(had)
	one, ok := testSide(p).likers(1, 1, func(*liker) {})[0].(*liker)
	if !ok {
		t.Fatal("the client is not a liker")
	}
	for range 200 {
		request := one.Next(nil)
		if one.subject < popular || !bytes.Contains(request, []byte(w.subject(one.subject))) {
			t.Fatalf("%s likes subject %d", p.names[one.user], one.subject)
		}
	}
}

func TestSizesOfGrowth(t *testing.T) {
	for args, want := range map[string]int{"": 3, "-max-states 10000": 1, "-max-states 5000000": 2} {
		_, sizes, err := parseGrowth(strings.Fields(args))
		if err != nil || len(sizes) != want {
			t.Errorf("%q: got %v, %v, want %d sizes", args, sizes, err, want)
		}
	}
	for _, args := range []string{"-max-states 9999", "-max-states many", "more"} {
		if _, _, err := parseGrowth(strings.Fields(args)); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

func TestCostsAreForEachRequest(t *testing.T) {
	m := &measured{rate: series{1000, 2000}, shares: map[string]series{nodeName: {0.5, 0.5}}}
	if got := m.cost(nodeName); !slices.Equal(got, series{500, 250}) {
		t.Errorf("%v microseconds", got)
	}
	if len(m.cost("nobody")) != 0 {
		t.Error("an unknown process has a cost")
	}
	for average, want := range map[string]bool{"0.10 9 9": false, "999.5 0 0": true, "unknown": false} {
		if loaded(average) != want {
			t.Errorf("%q: got loaded %t, want %t", average, !want, want)
		}
	}
}
