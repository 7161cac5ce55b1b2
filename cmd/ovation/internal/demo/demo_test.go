package demo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ovation/internal/testing/must"
	"ovation/internal/testing/sqlitetest"
	"ovation/storage"
)

var errKilled = errors.New("killed")

// interrupted is a store that fails to persist one message.
type interrupted struct {
	storage.Store

	at string // the id of that message
}

func (i interrupted) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (storage.Outcome, error) {
	if messages[0].ID == i.at {
		return storage.Outcome{}, errKilled
	}
	return i.Store.Persist(ctx, messages, mark)
}

// archived returns the number of elements of everything in a store.
func archived(t *testing.T, store storage.Store) (n int) {
	t.Helper()
	must.Succeed(t, store.Export(t.Context(), storage.ArchiveQuery{Tenant: storage.DefaultTenant}, func(part *storage.Archive) error {
		n += part.Len()
		return nil
	}))
	return n
}

// TestInterruptedDemoIsCompleted interrupts Add in each step, before the step's message is
// persisted. The next call must repeat the interrupted step, the last call must complete
// the demo data, and a further call must add nothing.
func TestInterruptedDemoIsCompleted(t *testing.T) {
	store, now := sqlitetest.Open(t), time.Now()
	for i, s := range steps {
		if err := Add(t.Context(), interrupted{store, s.id}, now.Add(time.Duration(i)*time.Minute)); !errors.Is(err, errKilled) {
			t.Fatalf("Add that is killed at %q = %v, want %v", s.id, err, errKilled)
		}
	}
	must.Succeed(t, Add(t.Context(), store, now.Add(time.Hour)))
	d := newDemo(now)
	d.begin(uint64(slices.IndexFunc(steps, func(s step) bool { return s.id == "demo-comments-1" })) + 1)
	want := int64(0)
	for _, one := range d.discussions() {
		want += 1 + int64(len(one.replies))
	}
	var on []storage.Subject
	for _, s := range d.subjects {
		on = append(on, s.Subject)
	}
	counts, err := store.CommentCounts(t.Context(), on)
	must.Succeed(t, err)
	comments := int64(0)
	for _, c := range counts {
		comments += c.Comments
	}
	if comments != want || want < 500 {
		t.Errorf("there are %d comments, want %d, and at least 500", comments, want)
	}
	before := archived(t, store)
	must.Succeed(t, Add(t.Context(), store, now.Add(2*time.Hour)))
	if after := archived(t, store); after != before {
		t.Errorf("a further call made %d elements of %d, want no change", after, before)
	}
}

func TestOtherDataIsLeftAlone(t *testing.T) {
	store, now := sqlitetest.Open(t), time.Now()
	_, err := store.Persist(t.Context(), []storage.Message{{ID: "other", Actions: []storage.Action{{
		User: named("dora"), Subject: storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: "1"}, Kind: storage.KindReaction, Reaction: storage.Like, Version: storage.Micros(now),
	}}}}, nil)
	must.Succeed(t, err)
	before := archived(t, store)
	must.Succeed(t, Add(t.Context(), store, now))
	if after := archived(t, store); after != before {
		t.Errorf("the store has %d elements, want %d", after, before)
	}
}

// TestCommentsFitTheirSubjects compares the files of comments with the titles that the
// page shows, and checks that no text is under one subject twice.
func TestCommentsFitTheirSubjects(t *testing.T) {
	source, err := os.ReadFile(filepath.FromSlash("../../../../web/demo/content/catalogue.ts"))
	must.Succeed(t, err)
	_, list, _ := strings.Cut(string(source), "const titles")
	list, _, _ = strings.Cut(list, "\n};")
	shown := regexp.MustCompile(`(?s)\n  (\w+): \[(.*?)\n  \]`).FindAllStringSubmatch(list, -1)
	if len(shown) != len(topics) {
		t.Fatalf("catalogue.ts has %d topics, want %d", len(shown), len(topics))
	}
	c := newCatalogue()
	for i, topic := range shown {
		var titles, parts []string
		for _, title := range regexp.MustCompile(`'([^']+)'`).FindAllStringSubmatch(topic[2], -1) {
			titles = append(titles, title[1])
		}
		for _, p := range c.parts[i] {
			parts = append(parts, p.heading)
		}
		titles = append(titles, anyTitle)
		if topic[1] != topics[i] || !slices.Equal(parts, titles) {
			t.Errorf("the parts of %s are %q, want those of %s, %q", topics[i], parts, topic[1], titles)
		}
	}
	type text struct {
		on   storage.Subject
		text string
	}
	said, chinese, answers := map[text]bool{}, 0, 0
	for _, one := range newDemo(time.Now()).discussions() {
		for _, line := range append([]string{one.text}, one.replies...) {
			if key := (text{one.on, line}); said[key] {
				t.Errorf("%q is twice under %v", line, one.on)
			} else {
				said[key] = true
			}
			if regexp.MustCompile(`\p{Han}`).MatchString(line) {
				chinese++
			}
		}
		answers += len(one.replies)
		if one.by == one.maker || slices.Contains(one.another, one.maker) {
			t.Errorf("the author of %v writes %q as another", one.on, one.text)
		}
	}
	if chinese < len(said)/8 || chinese > len(said)/2 || answers < len(said)/5 {
		t.Errorf("of %d texts, %d are Chinese and %d are replies, want an eighth to a half, and a fifth", len(said), chinese, answers)
	}
}
