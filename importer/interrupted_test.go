package importer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ovation/internal/testing/must"
	"ovation/storage"
)

// killed simulates a store whose process is killed once it has run the number of
// transactions in lives: before the next transaction or, if after is true, between its
// commit and the reply.
type killed struct {
	Store
	lives int
	after bool
}

var errKilled = errors.New("killed")

func (k *killed) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	return k.run(func() (storage.Outcome, error) { return k.Store.Persist(ctx, messages, mark) })
}

func (k *killed) Restore(ctx context.Context, part *storage.Archive, mark storage.Mark) (storage.Outcome, error) {
	return k.run(func() (storage.Outcome, error) { return k.Store.Restore(ctx, part, mark) })
}

func (k *killed) run(transaction func() (storage.Outcome, error)) (storage.Outcome, error) {
	k.lives--
	if k.lives >= 0 {
		return transaction()
	}
	if k.lives == -1 && k.after {
		if _, err := transaction(); err != nil {
			return storage.Outcome{}, err
		}
	}
	return storage.Outcome{}, errKilled
}

// TestImportsOnceDespiteInterruptions imports a growing file in groups of changing sizes
// into a store that is killed now and then. It compares the result with a model.
func TestImportsOnceDespiteInterruptions(t *testing.T) {
	store := openStore(t)
	tenants := 0
	rapid.Check(t, func(t *rapid.T) {
		tenants++
		tenant := fmt.Sprintf("t%d", tenants)
		lines := rapid.SliceOfN(lineGenerator(), 1, 60).Draw(t, "lines")
		block := rapid.IntRange(1, 6).Draw(t, "block")
		upTo := 0
		for range rapid.IntRange(0, 5).Draw(t, "tries") {
			k := &killed{
				Store: store,
				lives: rapid.IntRange(0, 6).Draw(t, "lives"),
				after: rapid.Bool().Draw(t, "after"),
			}
			upTo = rapid.IntRange(upTo, len(lines)).Draw(t, "rows")
			block *= rapid.SampledFrom([]int{1, 1, 2, 4}).Draw(t, "times the block of before") // a newer release may have larger blocks
			group := rapid.IntRange(1, block).Draw(t, "group")
			if err := importLines(t, k, tenant, lines[:upTo], block, group); err != nil && !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
		}
		must.Succeed(t, importLines(t, store, tenant, lines, block, rapid.IntRange(1, block).Draw(t, "last group")))
		compareWithModel(t, store, tenant, lines)
	})
	differences := 0
	_, err := store.Verify(t.Context(), false, func(storage.Difference) error { differences++; return nil })
	must.Succeed(t, err)
	if differences > 0 {
		t.Errorf("verify finds %d differences, want none", differences)
	}
}

// TestBlockThatWasBegunIsCompleted checks that, when an import is killed within a block,
// the next import resumes there, even if groups have a different size and the file has
// grown.
func TestBlockThatWasBegunIsCompleted(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	lines := make([]line, 70)
	for i := range lines {
		lines[i] = line{strconv.Itoa(random.IntN(12)), strconv.Itoa(random.IntN(4)), "read", 1500000000 + int64(i)}
	}
	store, tenants := openStore(t), 0
	for _, first := range []int{35, 40, 70} {
		for lives := range 7 {
			for _, after := range []bool{false, true} {
				tenants++
				tenant := fmt.Sprintf("t%d", tenants)
				for i, upTo := range []int{first, first, 70} {
					k := &killed{Store: store, lives: lives, after: after}
					if err := importLines(t, k, tenant, lines[:upTo], 40, 7+2*i); err != nil && !errors.Is(err, errKilled) {
						t.Fatal(err)
					}
				}
				must.Succeed(t, importLines(t, store, tenant, lines, 40, 5))
				if got := readsOf(t, store, tenant); got != int64(len(lines)) {
					t.Errorf("started with %d rows, killed at transaction %d (after its commit: %v): got %d reads, want %d", first, lives, after, got, len(lines))
				}
			}
		}
	}
}

// seenCounter is a store that counts the calls to Seen.
type seenCounter struct {
	Store
	times int
}

func (a *seenCounter) Seen(ctx context.Context, ids []string) ([]bool, error) {
	a.times++
	return a.Store.Seen(ctx, ids)
}

// TestIDsAfterAGapAreNotLookedUp imports a file of four blocks, of which two and a half
// have been imported before. The import looks up the ids of three blocks, and then
// whether the rest of the third block was begun. It does not look up the fourth block,
// because nothing after a missing action can be stored.
func TestIDsAfterAGapAreNotLookedUp(t *testing.T) {
	store := openStore(t)
	lines := make([]line, 40)
	for i := range lines {
		lines[i] = line{"ann", strconv.Itoa(i % 7), "read", 1500000000}
	}
	must.Succeed(t, importLines(t, store, storage.DefaultTenant, lines[:25], 10, 10))
	again := &seenCounter{Store: store}
	must.Succeed(t, importLines(t, again, storage.DefaultTenant, lines, 10, 10))
	if again.times != 4 {
		t.Errorf("the store was asked %d times, want 4", again.times)
	}
	if got := readsOf(t, store, storage.DefaultTenant); got != int64(len(lines)) {
		t.Errorf("there are %d reads, want %d", got, len(lines))
	}
}

type line struct {
	user, subject, event string
	at                   int64
}

func (l line) String() string {
	return fmt.Sprintf("%s,%s,%s,%d\n", l.user, l.subject, l.event, l.at)
}

func lineGenerator() *rapid.Generator[line] {
	return rapid.Custom(func(t *rapid.T) line {
		return line{
			user:    rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user"),
			subject: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "subject"),
			event:   rapid.SampledFrom([]string{"read", "like", "dislike", "clear", "collect", "uncollect", "stare", "comment", "comment"}).Draw(t, "event"),
			at:      rapid.Int64Range(1500000000, 1500000004).Draw(t, "at"),
		}
	})
}

func importLines(t rapid.TB, to Store, tenant string, lines []line, block, group int) error {
	t.Helper()
	var text strings.Builder
	text.WriteString(header)
	for _, l := range lines {
		text.WriteString(l.String())
	}
	src, err := Open(context.Background(), "-", strings.NewReader(text.String()), "csv")
	must.Succeed(t, err)
	p, err := newParser(src, Options{Mapping: testMapping(), Tenant: tenant, block: block})
	must.Succeed(t, err)
	return pipe(context.Background(), p, &writer{to: to, group: group})
}

// commentsOf returns the comments on a subject, oldest first.
func commentsOf(t rapid.TB, store storage.CommentReader, of storage.Subject) []storage.Comment {
	t.Helper()
	lists, err := store.ListComments(context.Background(), []storage.CommentsQuery{{Subject: of, Order: storage.Oldest, Page: storage.Page{First: 1000}}})
	must.Succeed(t, err)
	return lists[0].Entries
}

func compareWithModel(t *rapid.T, store storage.Store, tenant string, lines []line) {
	t.Helper()
	type key struct{ user, subject string }
	type value struct {
		word string
		at   int64
	}
	reads, reaction, collection := map[key]int64{}, map[key]value{}, map[key]value{}
	comments := map[string][]string{} // by subject
	for _, l := range lines {
		k := key{l.user, l.subject}
		state := reaction
		switch l.event {
		case "stare":
			continue
		case "comment":
			comments[l.subject] = append(comments[l.subject], fmt.Sprint(l.at, " ", l.user))
			continue
		case "read":
			reads[k]++
			continue
		case "collect", "uncollect":
			state = collection
		}
		if state[k].at <= l.at {
			state[k] = value{l.event, l.at}
		}
	}
	for _, subject := range []string{"1", "2"} {
		var got []string
		times := []int64{0}
		for _, c := range commentsOf(t, store, storage.Subject{Tenant: tenant, Biz: "video", BizID: subject}) {
			got = append(got, fmt.Sprint(c.At().Unix(), " ", c.User.UserID))
			times = append(times, c.Created)
		}
		slices.Sort(got)
		slices.Sort(comments[subject])
		if !slices.Equal(got, comments[subject]) || !slices.IsSorted(times) {
			t.Fatalf("the comments of %s are %v, want %v, the oldest first: %v", subject, got, comments[subject], times)
		}
	}
	for _, user := range []string{"ann", "bob"} {
		for _, subject := range []string{"1", "2"} {
			k := key{user, subject}
			states, err := store.States(context.Background(), []storage.StateKey{{
				User:    storage.User{Tenant: tenant, UserID: user},
				Subject: storage.Subject{Tenant: tenant, Biz: "video", BizID: subject},
			}}, storage.AllKinds)
			must.Succeed(t, err)
			s := states[0]
			var times int64
			if s.Read != nil {
				times = s.Read.Times
			}
			like := s.Liked != nil && s.Liked.Reaction == storage.Like
			dislike := s.Liked != nil && s.Liked.Reaction == storage.Dislike
			if times != reads[k] || like != (reaction[k].word == "like") || dislike != (reaction[k].word == "dislike") ||
				(s.Collected != nil) != (collection[k].word == "collect") {
				t.Fatalf("%v: got %+v, want %d reads, %v, %v", k, s, reads[k], reaction[k], collection[k])
			}
		}
	}
}
