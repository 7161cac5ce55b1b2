package resolvers

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"ovation/graph"
	"ovation/internal/testing/await"
	"ovation/internal/testing/sqlitetest"
	"ovation/live"
	"ovation/resolvers/codes"
)

func (q *quota) watched() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.subjects
}

func TestDocumentsOfSubscriptionsAreBounded(t *testing.T) {
	r := &quota{maxSubjects: 1000, maxText: 100}
	a, b, c := footprint{false, &ast.QueryDocument{}, 60, 0}, footprint{false, &ast.QueryDocument{}, 41, 0}, footprint{false, &ast.QueryDocument{}, 30, 10}
	take := func(one footprint, fits bool) {
		t.Helper()
		if err := r.acquire(one, 1); (err == nil) != fits {
			t.Errorf("acquiring %d bytes beside %d: got %v, want room: %t", one.text, r.text, err, fits)
		}
	}
	take(a, true)
	take(b, false)
	take(a, true) // this document is already counted
	take(c, true)
	take(c, false) // the document is shared, but its variables are not
	take(a, true)
	for range 3 {
		r.release(a, 1)
	}
	take(b, true)
	r.release(b, 1)
	r.release(c, 1)
	if r.text != 0 || r.subjects != 0 || len(r.documents) != 0 {
		t.Errorf("%d bytes, %d subjects and %d documents are left, want none", r.text, r.subjects, len(r.documents))
	}
}

func TestAnonymousSubscriptionsLeaveRoomForUsers(t *testing.T) {
	r := &quota{maxSubjects: 1000, maxText: 100, anonymousPercent: 75}
	nobody := func(text int) footprint { return footprint{true, &ast.QueryDocument{}, text, 0} }
	take := func(one footprint, subjects int, fits bool) {
		t.Helper()
		if err := r.acquire(one, subjects); (err == nil) != fits {
			t.Errorf("acquiring %d subjects and %d bytes beside %d and %d: got %v, want room: %t", subjects, one.text, r.subjects, r.text, err, fits)
		}
	}
	first := nobody(1)
	take(first, 700, true)
	take(nobody(1), 51, false)
	take(nobody(1), 50, true)
	take(footprint{false, &ast.QueryDocument{}, 1, 0}, 250, true)
	r.release(first, 700)
	take(nobody(74), 1, false)
	take(nobody(73), 1, true)
	take(footprint{false, &ast.QueryDocument{}, 25, 0}, 1, true)
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
	r := &Root{store: store, live: hub, quota: quota{maxSubjects: 3}}
	watch := func(n int) (context.CancelFunc, error) {
		inputs := make([]*graph.SubjectInput, n)
		for i := range inputs {
			inputs[i] = &graph.SubjectInput{Biz: "video", BizID: strconv.Itoa(i)}
		}
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), subscriptionKey{}, &subscription{Root: r}))
		_, err := subscriptionResolver{r}.InteractiveChanged(ctx, inputs)
		return cancel, err
	}
	end, err := watch(2)
	if err != nil {
		t.Fatal(err)
	}
	cancel, err := watch(2)
	defer cancel()
	if code, _ := codeOf(err); err == nil || code != codes.Unavailable {
		t.Errorf("watching two more of at most three subjects: got %v, want %s", err, codes.Unavailable)
	}
	end()
	await.That(t, "no subject is counted", func() bool { return r.quota.watched() == 0 })
	cancel, err = watch(3)
	defer cancel()
	if err != nil {
		t.Error(err)
	}
}
