package sqlite

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"ovation/internal/testing/must"
	"ovation/storage"
)

// TestSurveysLeaveReadsAndListsTheirConnections checks that a slow survey delays other
// surveys, and nothing else.
func TestSurveysLeaveReadsAndListsTheirConnections(t *testing.T) {
	s := open(t)
	begun, held, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- s.readSurvey(context.WithoutCancel(t.Context()), "hold", func(tx) error {
			close(begun)
			<-held
			return nil
		})
	}()
	<-begun
	subject := storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: "1"}
	for range 2 * readers {
		if _, err := s.Interactives(t.Context(), storage.User{Tenant: storage.DefaultTenant}, []storage.Subject{subject}, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Likers(t.Context(), []storage.LikersQuery{{Subject: subject, Page: storage.Page{First: 1}}}); err != nil {
			t.Fatal(err)
		}
	}
	waits, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Survey(waits, storage.DefaultTenant); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled survey that waits for another: got %v, want %v", err, context.Canceled)
	}
	close(held)
	if err := <-done; err != nil {
		t.Errorf("the slow survey: %v", err)
	}
	if _, err := s.Survey(t.Context(), storage.DefaultTenant); err != nil {
		t.Errorf("the next survey: %v", err)
	}
}

// TestSurveyMatchesPersistedActions checks that a survey returns the sums of counts.
// History must return the latest change to each state, with the previous state.
func TestSurveyMatchesPersistedActions(t *testing.T) {
	s := open(t)
	user := func(id string) storage.User { return storage.User{Tenant: storage.DefaultTenant, UserID: id} }
	video := func(id int) storage.Subject {
		return storage.Subject{Tenant: storage.DefaultTenant, Biz: "video", BizID: fmt.Sprint(id)}
	}
	var version int64
	persist := func(a storage.Action) {
		t.Helper()
		version++
		a.Version = version
		if a.Kind == storage.KindRead {
			a.Times, a.First = 1, version
		}
		if _, err := s.Persist(t.Context(), []storage.Message{{ID: fmt.Sprint("m", version), Actions: []storage.Action{a}}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	const users, videos = 7, 5
	for u := range users {
		for v := range videos {
			persist(storage.Action{User: user(fmt.Sprint(u)), Subject: video(v), Kind: storage.KindRead})
			if v <= u { // video 0 has 7 likes, video 4 has 3
				persist(storage.Action{User: user(fmt.Sprint(u)), Subject: video(v), Kind: storage.KindReaction, Reaction: storage.Like})
			}
		}
	}
	persist(storage.Action{User: user("0"), Subject: video(0), Kind: storage.KindReaction})
	persist(storage.Action{User: user("1"), Subject: video(0), Kind: storage.KindReaction, Reaction: storage.Dislike})

	latest := version
	got, err := s.Survey(t.Context(), storage.DefaultTenant)
	must.Succeed(t, err)
	want := storage.KindSummary{Biz: "video", Subjects: videos, Counts: storage.Counts{ReadCount: users * videos, ReaderCount: users * videos, LikeCount: 7 + 6 + 5 + 4 + 3 - 2, DislikeCount: 1}}
	if len(got.Kinds) != 1 || got.Kinds[0] != want || got.Users != users || got.Persisted == 0 {
		t.Errorf("Survey = %+v, want %d users, the time of persisting and the one kind %+v", got, users, want)
	}
	hottest, err := s.Hottest(t.Context(), storage.HottestQuery{Tenant: storage.DefaultTenant, By: "likeCount", Limit: 2})
	if err != nil || len(hottest) != 2 || hottest[0].Subject != video(1) || hottest[0].LikeCount != 6 || hottest[1].LikeCount != 5 {
		t.Errorf("Hottest = %+v, %v, want %v with 6 likes, then one with 5", hottest, err, video(1))
	}
	if _, err := s.Hottest(t.Context(), storage.HottestQuery{By: "version; DROP TABLE interactive", Limit: 1}); !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("Hottest by an unknown count: got %v, want %v", err, storage.ErrInvalid)
	}
	const hour = 3_600_000_000
	version = 100*hour + 1
	persist(storage.Action{User: user("0"), Subject: video(3), Kind: storage.KindRead})
	version = 101 * hour
	persist(storage.Action{User: user("1"), Subject: video(3), Kind: storage.KindRead})
	version = 200 * hour
	persist(storage.Action{User: user("1"), Subject: video(4), Kind: storage.KindReaction, Reaction: storage.Like})
	for subject, want := range map[storage.Subject][3]int64{{}: {1, 1, 1}, video(3): {1, 1, 0}} {
		activity, err := s.Activity(t.Context(), storage.ActivityQuery{Tenant: storage.DefaultTenant, Subject: subject, Since: 100 * hour})
		if err != nil || len(activity) != 1 || activity[0].Biz != "video" || [3]int64{activity[0].Hours[0], activity[0].Hours[1], activity[0].Hours[23]} != want {
			t.Errorf("Activity of %v = %+v, %v, want the changes %v in the hours 0, 1 and 23", subject, activity, err, want)
		}
	}
	history, err := s.History(t.Context(), video(0), 3)
	if err != nil || len(history) != 3 {
		t.Fatalf("History = %+v, %v, want 3 entries", history, err)
	}
	for i, want := range []struct {
		id       string
		kind     storage.Kind
		was, is  storage.Reaction
		atLatest bool
	}{
		{"1", storage.KindReaction, storage.Like, storage.Dislike, true},
		{"0", storage.KindReaction, storage.Like, storage.NoReaction, false},
		{"6", storage.KindReaction, storage.NoReaction, storage.Like, false},
	} {
		if c := history[i]; c.User != user(want.id) || c.Kind != want.kind || c.OldReaction != want.was || c.Reaction != want.is || (c.Version == latest) != want.atLatest {
			t.Errorf("change %d: got %+v, want %+v", i, c, want)
		}
	}
}
