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

// newFilledSchema fills a separate schema with the smallest growth data.
func newFilledSchema(t *testing.T) (growthData, *pgxpool.Pool, string) {
	t.Helper()
	at := postgrestest.Schema(t)
	pool, err := pgxpool.New(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	indexes := readIndexes(t, pool)
	w := newGrowthData(growthSizes[0])
	told := 0
	if err := w.fill(t.Context(), pool, func(done int) { told = done }); err != nil {
		t.Fatal(err)
	}
	if told != w.states {
		t.Errorf("fill reported %d states, want %d", told, w.states)
	}
	if after := readIndexes(t, pool); after != indexes {
		t.Errorf("the indexes are %s, want %s as before", after, indexes)
	}
	return w, pool, at
}

func readIndexes(t *testing.T, pool *pgxpool.Pool) (all string) {
	t.Helper()
	err := pool.QueryRow(t.Context(), `SELECT string_agg(indexdef, '; ' ORDER BY indexdef) FROM pg_indexes WHERE schemaname = current_schema()`).Scan(&all)
	if err != nil || !strings.Contains(all, "likers") {
		t.Fatalf("got the indexes %q, %v, want one of likers", all, err)
	}
	return all
}

func TestFilledTablesAreConsistentAndSkewed(t *testing.T) {
	w, pool, at := newFilledSchema(t)
	store, err := postgres.Open(t.Context(), postgres.Options{URL: at})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	compared, err := store.Verify(t.Context(), false, func(d storage.Difference) error { return fmt.Errorf("%+v", d) })
	// Each user has a folder.
	if want := int64(storage.CountsPerSubject*w.subjects + (storage.TotalsPerUser+1)*w.users); err != nil || compared != want {
		t.Errorf("Verify compared %d counts, %v, want %d, no difference", compared, err, want)
	}
	var popular, all, heavy int
	err = pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE biz_id < $1), count(*), count(*) FILTER (WHERE user_id = $2)
		FROM (SELECT user_id, biz_id FROM user_reaction UNION ALL SELECT user_id, biz_id FROM user_collection) s`,
		w.subject(w.subjects/100), w.user(heavyUserInterval)).Scan(&popular, &all, &heavy)
	if err != nil || all != w.states || heavy != heavyUserStates {
		t.Errorf("there are %d states, %d of them of the heavy user, %v, want %d and %d", all, heavy, err, w.states, heavyUserStates)
	}
	if share := float64(popular) / float64(all); share < 0.08 || share > 0.14 { // about the square root of 1/100
		t.Errorf("the first hundredth of the subjects has a share of %.3f of the states, want 0.08 to 0.14", share)
	}
}

func TestFilledTablesAreReproducible(t *testing.T) {
	w, pool, _ := newFilledSchema(t)
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
		t.Errorf("the states filled in the second time have the digest %s, want %s", again, first)
	}
}

func TestUsersOfAUserPoolAreDistinct(t *testing.T) {
	for _, states := range growthSizes[:2] {
		w := newGrowthData(states)
		p, err := w.userPool(strings.Repeat("s", 32))
		if err != nil {
			t.Fatal(err)
		}
		for name, some := range map[string][]string{"viewers": p.names[:p.viewerCount], "readers": p.names[p.viewerCount:]} {
			sorted := slices.Sorted(slices.Values(some))
			if n := len(slices.Compact(sorted)); n != len(some) {
				t.Errorf("%d states: %d %s are different, want %d", states, n, name, len(some))
			}
		}
		if n := len(p.names) - p.viewerCount; n != readerCount {
			t.Errorf("%d states: %d readers, want %d", states, n, readerCount)
		}
	}
}

func TestColdPagesAreDisjoint(t *testing.T) {
	for _, states := range growthSizes {
		w := newGrowthData(states)
		for _, kind := range pageKinds {
			if kind.distinctSubjects > w.subjects {
				continue
			}
			viewers, subjects := map[int]bool{}, newBitset(w.subjects)
			for _, p := range w.coldPages(kind) {
				if viewers[p.viewer] || len(p.subjects) != kind.size {
					t.Fatalf("%d states: viewer %d has a page of %d subjects, and another: %t, want %d, false", states, p.viewer, len(p.subjects), viewers[p.viewer], kind.size)
				}
				viewers[p.viewer] = true
				for _, subject := range p.subjects {
					if subjects.has(subject) {
						t.Fatalf("%d states: subject %d is on two pages, want one", states, subject)
					}
					subjects.add(subject)
				}
			}
			if len(viewers) < 200 {
				t.Errorf("%d states: %d pages of %d subjects, want at least 200", states, len(viewers), kind.size)
			}
		}
	}
}

func TestNoUserLikesALikedSubjectAgain(t *testing.T) {
	w := newGrowthData(growthSizes[0])
	p, err := w.userPool(strings.Repeat("s", 32))
	if err != nil {
		t.Fatal(err)
	}
	const popular = 100 // 7 % of random draws would yield one of these
	had := &databaseState{liked: map[stateKey]int64{}}
	for _, user := range p.names[p.viewerCount:] {
		for _, subject := range p.subjects.names[:popular] {
			had.liked[stateKey{user, subject}] = 1
		}
	}
	p.recordExisting(had)
	one, ok := newTestSystem(p).newLikeClients(1, 1, func(*likeClient) {})[0].(*likeClient)
	if !ok {
		t.Fatal("the client is not a likeClient")
	}
	for range 200 {
		request := one.Next(nil)
		if one.subject < popular || !bytes.Contains(request, []byte(w.subject(one.subject))) {
			t.Fatalf("%s likes subject %d by %s, want one from %d on", p.names[one.user], one.subject, request, popular)
		}
	}
}

func TestGrowthSizesAreSelected(t *testing.T) {
	for args, want := range map[string]int{"": 3, "-max-states 10000": 1, "-max-states 5000000": 2} {
		_, sizes, err := parseGrowth(strings.Fields(args))
		if err != nil || len(sizes) != want {
			t.Errorf("%q: got %v, %v, want %d sizes", args, sizes, err, want)
		}
	}
	for _, args := range []string{"-max-states 9999", "-max-states many", "more"} {
		if _, _, err := parseGrowth(strings.Fields(args)); err == nil {
			t.Errorf("parseGrowth(%q) returned no error", args)
		}
	}
}

func TestCPUTimeIsPerRequest(t *testing.T) {
	m := &measurement{rate: series{1000, 2000}, processors: map[string]series{nodeName: {0.5, 0.5}}}
	if got := m.cpuPerRequest(nodeName); !slices.Equal(got, series{500, 250}) {
		t.Errorf("cost = %v microseconds, want [500 250]", got)
	}
	if len(m.cpuPerRequest("nobody")) != 0 {
		t.Errorf("cost of an unknown process = %v, want none", m.cpuPerRequest("nobody"))
	}
	for average, want := range map[string]bool{"0.10 9 9": false, "999.5 0 0": true, "unknown": false} {
		if overloaded(average) != want {
			t.Errorf("%q: got loaded %t, want %t", average, !want, want)
		}
	}
}
