package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/coder/websocket"
	"golang.org/x/sync/errgroup"

	"ovation/internal/testing/must"
)

// actorSubjects is the number of subjects that each actor acts on.
const actorSubjects = 50

// subjectEvent is a subject as an event shows it to a viewer.
type subjectEvent struct {
	BizID        string
	Version      int64
	Freshness    string
	LikeCount    int
	DislikeCount int
	CollectCount int
	Liked        *struct{ Reaction string }
	Collected    *struct{ Folder struct{ Name string } }
}

// actorState is what an actor did to one subject.
type actorState struct {
	reaction  string
	collected bool
}

// own returns the viewer's state according to the event.
func (e subjectEvent) own() (did actorState) {
	if did.collected = e.Collected != nil; e.Liked != nil {
		did.reaction = e.Liked.Reaction
	}
	return did
}

// counts reports whether the event's counts include the actions in did and no others.
func (e subjectEvent) counts(did actorState) bool {
	return e.LikeCount == count(did.reaction == "LIKE") && e.DislikeCount == count(did.reaction == "DISLIKE") && e.CollectCount == count(did.collected)
}

// actor is a user who acts on subjects that no other actor acts on. Every actor watches
// the subjects of all actors.
type actor struct {
	name string
	from int // the id of its first subject
	conn *websocket.Conn
	did  [actorSubjects]actorState
	last map[string]subjectEvent
	live int // the number of LIVE events about its own subjects
}

// act performs the given number of actions, one after another.
func (a *actor) act(through *server, n int, random *rand.Rand) error {
	for range n {
		at := random.IntN(actorSubjects)
		did := &a.did[at]
		var mutation string
		switch random.IntN(4) {
		case 0:
			mutation, did.reaction = "like", "LIKE"
		case 1:
			mutation, did.reaction = "dislike", "DISLIKE"
		case 2:
			mutation, did.collected = "collect", true
		default:
			mutation, did.collected = "uncollect", false
		}
		query := fmt.Sprintf(`mutation { %s(input: {biz: "video", bizId: "%d"}) { changed } }`, mutation, a.from+at)
		if err := through.graphQL(a.name, query, nil); err != nil {
			return fmt.Errorf("%s of %s: %w", mutation, a.name, err)
		}
	}
	return nil
}

// checkEvents checks every event. It returns once ended is closed and the events have
// reported everything that the actors did.
func (a *actor) checkEvents(ctx context.Context, actors []*actor, ended <-chan struct{}) error {
	for !isClosed(ended) || !a.upToDate(actors) {
		var got struct{ InteractiveChanged subjectEvent }
		if err := nextOn(ctx, a.conn, &got); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		e := got.InteractiveChanged
		id, err := strconv.Atoi(e.BizID)
		if err != nil {
			return err
		}
		mine := id >= a.from && id < a.from+actorSubjects
		switch before := a.last[e.BizID]; {
		case e.Version < before.Version:
			return fmt.Errorf("%w: %s received %+v after %+v, want no older version", errWrongAnswer, a.name, e, before)
		case !mine && e.own() != actorState{}:
			return fmt.Errorf("%w: %s received %+v without having acted on it", errWrongAnswer, a.name, e)
		case mine && e.Freshness == "LIVE":
			if a.live++; !e.counts(e.own()) {
				return fmt.Errorf("%w: %s received %+v, but no other user has acted on it", errWrongAnswer, a.name, e)
			}
		}
		a.last[e.BizID] = e
	}
	return nil
}

// upToDate reports whether the last events agree with the last actions of all actors.
func (a *actor) upToDate(actors []*actor) bool {
	for _, one := range actors {
		for at, did := range one.did {
			e := a.last[strconv.Itoa(one.from+at)]
			if !e.counts(did) || one == a && e.own() != did {
				return false
			}
		}
	}
	return len(a.last) == len(actors)*actorSubjects
}

// TestEventsAreTrueForTheirViewers makes two users act on one node, each on subjects of
// their own. On another node, each user watches the subjects of both users. In every LIVE
// event about a user's own subject, the counts must agree with the states. Events about
// the other user's subjects must have no states. The last events must agree with the last
// actions.
func TestEventsAreTrueForTheirViewers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, b := s.start(t, "serve"), s.start(t, "serve")
	s.start(t, "work")
	s.start(t, "work")
	subjects := make([]map[string]string, 2*actorSubjects)
	for i := range subjects {
		subjects[i] = map[string]string{"biz": "video", "bizId": strconv.Itoa(i)}
	}
	var actors []*actor
	for i, name := range []string{"alice", "bob"} {
		conn, err := b.watch(t.Context(), name, map[string]any{
			"query": `subscription($s: [SubjectInput!]!) { interactiveChanged(subjects: $s) {
				bizId version freshness likeCount dislikeCount collectCount liked { reaction } collected { folder { name } } } }`,
			"variables": map[string]any{"s": subjects},
		})
		must.Succeed(t, err)
		t.Cleanup(func() { _ = conn.CloseNow() })
		actors = append(actors, &actor{name: name, from: i * actorSubjects, conn: conn, last: map[string]subjectEvent{}})
	}
	ended := make(chan struct{})
	hearing, ctx := errgroup.WithContext(t.Context())
	var acting errgroup.Group
	for i, one := range actors {
		hearing.Go(func() error { return one.checkEvents(ctx, actors, ended) })
		acting.Go(func() error { return one.act(a, 150, rand.New(rand.NewPCG(1, uint64(i)))) })
	}
	must.Succeed(t, acting.Wait())
	close(ended)
	// The read causes one more event for a subscriber that has already received
	// everything.
	must.Succeed(t, a.graphQL("", `mutation { read(input: {biz: "video", bizId: "0"}) { changed } }`, nil))
	must.Succeed(t, hearing.Wait())
	for _, one := range actors {
		t.Logf("%s received %d LIVE events of their own subjects", one.name, one.live)
		if one.live <= actorSubjects { // the snapshot
			t.Errorf("%s received %d LIVE events of their own subjects, want more than the %d of the snapshot", one.name, one.live, actorSubjects)
		}
	}
	s.run(t, "verify").want(t, 0, "0 differences; ")
}
