package resolvers

import (
	"context"
	"encoding/json"
	"net/netip"
	"strconv"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/api/codes"
	"ovation/api/quota"
	"ovation/graph"
	"ovation/internal/testing/await"
	"ovation/internal/testing/sqlitetest"
	"ovation/live"
	"ovation/resolvers/limits"
	"ovation/storage"
)

// tester is a room in which tests acquire and release.
type tester struct {
	*room

	t *testing.T
}

func (r tester) take(one footprint, subjects int, want string) {
	r.t.Helper()
	err := r.acquire(one, subjects)
	if code, _ := codeOf(err); err == nil && want != "" || err != nil && code != want {
		r.t.Errorf("acquiring %d subjects and %d bytes beside %d and %d: got %v, want %q", subjects, one.text, r.subjects.Used(), r.text.Used(), err, want)
	}
}

func user(name string) quota.Owner { return quota.Owner{User: storage.User{UserID: name}} }

func TestDocumentsOfSubscriptionsAreBounded(t *testing.T) {
	r := tester{&room{quota.New(quota.Usual(1000, 100)), quota.New(quota.Shares{Total: 100, User: 100})}, t}
	alice := user("alice")
	a, b, c := footprint{alice, &ast.QueryDocument{}, 60, 0}, footprint{alice, &ast.QueryDocument{}, 41, 0}, footprint{user("bob"), &ast.QueryDocument{}, 30, 10}
	r.take(a, 1, "")
	r.take(b, 1, codes.LimitExceeded)
	r.take(a, 1, "") // this document is already counted
	r.take(c, 1, "")
	r.take(c, 1, codes.Unavailable) // the document is shared, but its variables are not
	r.take(a, 1, "")
	for range 3 {
		r.release(a, 1)
	}
	r.take(b, 1, "")
	r.release(b, 1)
	r.release(c, 1)
	if r.text.Used() != 0 || r.subjects.Used() != 0 {
		t.Errorf("%d bytes and %d subjects are left, want none", r.text.Used(), r.subjects.Used())
	}
}

func TestAnonymousSubscriptionsLeaveRoomForUsers(t *testing.T) {
	r := tester{newRoom(1000, 1000, 75), t}
	nobody := func(i, text int) footprint {
		return footprint{quota.Owner{Address: netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})}, &ast.QueryDocument{}, text, 0}
	}
	for i := range 15 {
		r.take(nobody(i, 50), 50, "")
	}
	r.take(nobody(15, 0), 1, codes.Unavailable)
	r.take(footprint{user("alice"), &ast.QueryDocument{}, 50, 0}, 50, "")
	r.take(footprint{user("alice"), &ast.QueryDocument{}, 1, 0}, 0, codes.LimitExceeded)
	r.take(footprint{user("alice"), &ast.QueryDocument{}, 0, 0}, 1, codes.LimitExceeded)
	r.take(footprint{user("bob"), &ast.QueryDocument{}, 50, 0}, 50, "")
}

func TestTextInVariables(t *testing.T) {
	value := map[string]any{"a": "four", "b": []any{"one", map[string]any{"c": json.Number("12"), "d": nil}}, "e": true}
	if n := textBytes(value); n != 9 {
		t.Errorf("textBytes(%v) = %d, want 9", value, n)
	}
}

func TestWatchedSubjectsAreBounded(t *testing.T) {
	store := sqlitetest.Open(t)
	hub := live.New(store, live.Options{})
	defer hub.Close()
	r := &Root{store: store, live: hub, limits: limits.Install(executor.New(graph.NewExecutableSchema(graph.Config{})), limits.Config{}), room: &room{quota.New(quota.Shares{Total: 3, Visitors: 3, Anonymous: 3}), quota.New(quota.Usual(1, 100))}}
	watch := func(n int) (context.CancelFunc, error) {
		inputs := make([]*graph.SubjectInput, n)
		for i := range inputs {
			inputs[i] = &graph.SubjectInput{Biz: "video", BizID: strconv.Itoa(i)}
		}
		operation := graphql.WithOperationContext(t.Context(), &graphql.OperationContext{Doc: &ast.QueryDocument{}})
		ctx, cancel := context.WithCancel(context.WithValue(operation, subscriptionKey{}, &subscription{Root: r}))
		_, err := subscriptionResolver{r}.InteractiveChanged(ctx, inputs)
		return cancel, err
	}
	end, err := watch(2)
	if err != nil {
		t.Fatal(err)
	}
	cancel, err := watch(2)
	defer cancel()
	if code, _ := codeOf(err); err == nil || code != codes.LimitExceeded {
		t.Errorf("watching two more of at most three subjects: got %v, want %s", err, codes.LimitExceeded)
	}
	end()
	await.That(t, "no subject is counted", func() bool { return r.room.subjects.Used() == 0 })
	cancel, err = watch(3)
	defer cancel()
	if err != nil {
		t.Error(err)
	}
}
