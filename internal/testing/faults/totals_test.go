//go:build long

package faults_test

import (
	"fmt"
	"testing"
	"time"

	"ovation/api/viewer"
	"ovation/internal/testing/must"
	"ovation/storage"
)

// declare declares the author of a subject.
func declare(node *process, sub subject, author string) error {
	user := storage.User{Tenant: storage.DefaultTenant, UserID: "catalogue"}
	token, err := viewer.Sign([]byte(secret), user, time.Hour, viewer.Scope(viewer.WriteSubjects))
	if err != nil {
		return err
	}
	return post(node, token, fmt.Sprintf(`mutation { declareSubjects(input: {subjects: [{%s, author: %q}]}) { __typename } }`, sub.input(), author), &struct{}{})
}

// totals holds a user's totals.
type totals struct{ Following, Followers, Likes, Collections, Comments, Works, LikesReceived int64 }

// countedTotals computes the totals of every user from the rows in the database.
func (s *installation) countedTotals(t *testing.T) map[string]totals {
	t.Helper()
	out := map[string]totals{}
	likes := map[subject]int64{}
	add := func(user string, change func(*totals)) {
		of := out[user]
		change(&of)
		out[user] = of
	}
	for key, r := range s.storedStates(t) {
		likes[key.subject] += boolToInt(r.reaction == stateLiked)
		add(key.user, func(of *totals) {
			of.Likes += boolToInt(r.reaction == stateLiked)
			of.Collections += boolToInt(r.collection != stateNone)
			of.Following += boolToInt(r.follow == stateFollowing)
		})
		if key.biz == "user" && r.follow == stateFollowing {
			add(key.id, func(of *totals) { of.Followers++ })
		}
	}
	for _, r := range s.storedComments(t) {
		if !r.deleted {
			add(r.user, func(of *totals) { of.Comments++ })
		}
	}
	rows, err := s.database.Query(t.Context(), `SELECT biz, biz_id, author FROM interactive WHERE author <> ''`)
	must.Succeed(t, err)
	defer rows.Close()
	for rows.Next() {
		var sub subject
		var author string
		must.Succeed(t, rows.Scan(&sub.biz, &sub.id, &author))
		add(author, func(of *totals) { of.Works++; of.LikesReceived += likes[sub] })
	}
	must.Succeed(t, rows.Err())
	return out
}

// checkTotals compares the totals that a node returns for every client with the totals
// that countedTotals computes.
func (s *installation) checkTotals(t *testing.T, node *process) {
	t.Helper()
	counted := s.countedTotals(t)
	for _, c := range s.clients {
		var got struct{ Viewer struct{ Totals totals } }
		var err error
		if !pollUntil(func() bool {
			err = post(node, c.token, `{ viewer { totals { following followers likes collections comments works likesReceived } } }`, &got)
			return err == nil && got.Viewer.Totals == counted[c.name]
		}) {
			t.Errorf("the totals of %s on %s are %+v (%v), want %+v as counted", c.name, node.name, got.Viewer.Totals, err, counted[c.name])
		}
	}
}
