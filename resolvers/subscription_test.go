package resolvers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"ovation/resolvers/viewer"
	"ovation/storage"
)

// stream is one subscription.
type stream struct {
	ctx       context.Context
	end       context.CancelFunc
	responses graphql.ResponseHandler
}

// subscribe begins a subscription as the user of the default tenant.
func (s *service) subscribe(t *testing.T, user, query string, variables map[string]any) *stream {
	t.Helper()
	ctx, end := context.WithTimeout(viewer.With(context.Background(), storage.User{Tenant: storage.DefaultTenant, UserID: user}), 20*time.Second)
	t.Cleanup(end)
	ctx = graphql.StartOperationTrace(ctx)
	op, errs := s.engine.CreateOperationContext(ctx, &graphql.RawParams{Query: query, Variables: variables})
	if errs != nil {
		t.Fatal(errs)
	}
	out := &stream{end: end}
	out.responses, out.ctx = s.engine.DispatchOperation(ctx, op)
	return out
}

// next waits for the next response. It is nil when the stream has ended.
func (s *stream) next() *graphql.Response { return s.responses(s.ctx) }

// data waits for the next event.
func (s *stream) data(t *testing.T) any {
	t.Helper()
	got := s.next()
	if got == nil || len(got.Errors) > 0 {
		t.Fatalf("got %+v", got)
	}
	var data map[string]any
	must(t, json.Unmarshal(got.Data, &data))
	return data["interactiveChanged"]
}

const watchOne = `subscription { interactiveChanged(subjects: [{biz: "video", bizId: "1"}]) { bizId likeCount freshness liked { reaction } } }`

func TestSubscriptionBeginsWithTheSnapshotAndTellsOfChanges(t *testing.T) {
	s := start(t)
	s.ok(t, "alice", `mutation { like(input: {biz: "video", bizId: "1"}) { changed } }`)
	alice, bob, nobody := s.subscribe(t, "alice", watchOne, nil), s.subscribe(t, "bob", watchOne, nil), s.subscribe(t, "", watchOne, nil)
	const anyone = `{"bizId":"1","likeCount":%d,"freshness":"LIVE","liked":%s}`
	same(t, alice.data(t), fmt.Sprintf(anyone, 1, `{"reaction":"LIKE"}`))
	same(t, bob.data(t), fmt.Sprintf(anyone, 1, "null"))
	same(t, nobody.data(t), fmt.Sprintf(anyone, 1, "null"))
	s.ok(t, "bob", `mutation { like(input: {biz: "video", bizId: "1"}) { changed } }`)
	same(t, alice.data(t), fmt.Sprintf(anyone, 2, `{"reaction":"LIKE"}`))
	same(t, bob.data(t), fmt.Sprintf(anyone, 2, `{"reaction":"LIKE"}`))
	same(t, nobody.data(t), fmt.Sprintf(anyone, 2, "null"))
	alice.end()
	if got := alice.next(); got != nil {
		t.Errorf("after its end the stream has %+v", got)
	}
}

func TestSubscriptionRefusesWhatCannotBeWatched(t *testing.T) {
	s := start(t)
	const query = `subscription($s: [SubjectInput!]!) { interactiveChanged(subjects: $s) { likeCount } }`
	subject := func(id any) any { return map[string]any{"biz": "video", "bizId": fmt.Sprint(id)} }
	many := make([]any, 101)
	for i := range many {
		many[i] = subject(i)
	}
	for name, test := range map[string]struct {
		subjects []any
		want     string
	}{
		"none":      {[]any{}, "subjects must be 1 to 100; there are 0"},
		"101":       {many, "subjects must be 1 to 100; there are 101"},
		"twice":     {[]any{subject(1), subject(2), subject(1)}, "subjects[2] is the same as subjects[0]; name each once"},
		"a bad biz": {[]any{subject(1), map[string]any{"biz": "V", "bizId": "1"}}, "subjects[1].biz must be 1 to 32 of a-z, 0-9, _ and -, starting with a letter"},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.subscribe(t, "alice", query, map[string]any{"s": test.subjects})
			first := got.next()
			if first == nil || len(first.Errors) != 1 || first.Errors[0].Message != test.want ||
				first.Errors[0].Extensions["code"] != "BAD_USER_INPUT" || len(first.Data) > 0 {
				t.Errorf("got %+v", first)
			}
			if got.next() != nil {
				t.Error("and the stream goes on")
			}
		})
	}
}
