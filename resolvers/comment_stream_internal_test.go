package resolvers

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"ovation/graph"
	"ovation/resolvers/plan"
	"ovation/storage"
)

// commentStore is a store with a number of comments on one subject. It counts the reads
// of subjects.
type commentStore struct {
	stubStore

	comments int64
	text     string
	reads    int // number of calls to Interactives
	read     int // number of subjects in these calls
}

func (t *commentStore) CommentChanges(_ context.Context, query storage.CommentChangesQuery) (out []storage.Comment, err error) {
	for v := query.Version + 1; v <= t.comments && len(out) < query.First; v++ {
		out = append(out, storage.Comment{Subject: query.Subject, Number: v, Version: v, Text: t.text})
	}
	return out, nil
}

func (t *commentStore) Interactives(ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds) ([]storage.Interactive, error) {
	t.reads, t.read = t.reads+1, t.read+len(subjects)
	return t.stubStore.Interactives(ctx, viewer, subjects, kinds)
}

// A subscription buffers few comments at a time. What the operation selects from each
// comment is loaded once for a fast client, and at most twice for a slow one.
func TestCommentStreamsLoadNoMoreThanTheirCost(t *testing.T) {
	const comments = 3 * maxChanges
	schema := graph.NewExecutableSchema(graph.Config{}).Schema()
	document, errs := gqlparser.LoadQueryWithRules(schema, `subscription { commentsChanged(biz: "video", bizId: "1") { comment { interactive { likeCount } } } }`, rules.NewDefaultRules())
	if errs != nil {
		t.Fatal(errs)
	}
	operation := document.Operations[0]
	for name, test := range map[string]struct {
		text    string
		slow    bool
		reads   int // maximum number of calls
		perRead int
	}{
		"fast":       {"text", false, 3, maxChanges},
		"slow":       {"text", true, comments, maxChanges},
		"long texts": {strings.Repeat("\U00010000", storage.MaxCommentRunes), false, comments / (maxWaiting / 8000), maxWaiting / 8000},
	} {
		t.Run(name, func(t *testing.T) {
			// Time stands still, so that the snapshot of a fast client is never too old.
			synctest.Test(t, func(t *testing.T) {
				store := &commentStore{comments: comments, text: test.text}
				r := &Root{store: store, fieldTable: fieldTable, cursors: newCursors([]byte("key")), logSuccess: func() {}}
				c := r.commentChanges(storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: "1"}, 0)
				c.more, c.out = true, make(chan *graph.CommentEvent, 1)
				s := &subscription{Root: r, plan: plan.NewPlanner(schema, planTable(fieldTable, schema), nil).Plan(operation)}
				ctx := graphql.WithOperationContext(t.Context(), &graphql.OperationContext{Doc: document, Operation: operation})
				for want := int64(1); want <= comments; want++ {
					var got *graph.CommentEvent
					c.respond(ctx, s, func(context.Context) *graphql.Response {
						got = <-c.out
						return &graphql.Response{}
					})
					if got == nil || got.Comment.Number != want {
						t.Fatalf("got the event %+v, want comment %d", got, want)
					}
					if len(c.waiting) >= test.perRead {
						t.Errorf("got %d buffered comments, want at most %d", len(c.waiting)+1, test.perRead)
					}
					if test.slow {
						s.at = time.Time{}
					}
				}
				if most := 2 * comments; store.reads > test.reads || store.read > most || !test.slow && store.read > comments {
					t.Errorf("got %d calls for %d subjects, want at most %d for %d, twice as many for a slow client", store.reads, store.read, test.reads, comments)
				}
			})
		})
	}
}
