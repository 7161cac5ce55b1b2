package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// simulatedUser is a user that performs one action after another, with pauses in between.
type simulatedUser struct {
	simulation  *simulation
	index       int
	name, token string
	address     string // of the node that receives the requests
	random      *rand.Rand

	feed       []feedVideo
	feedCursor string // the cursor for the next page of the feed; empty at the end of the feed
	current    int    // the index of the video on the screen

	tasks       []task // the remaining tasks of the current action
	currentTask *task
	sentAt      time.Time

	// The acknowledged actions, and the actions whose outcome is unknown.
	liked, followed           userStates
	commented, sent, uploaded tally
}

// userStates holds one user's states of one kind, for example likes, by subject.
type userStates struct {
	acked     map[string]bool // the last acknowledged state
	uncertain map[string]bool // the state is unknown, because a request failed
}

// tally counts a user's requests to create rows of one kind.
type tally struct{ acked, failed int }

const (
	minUsers       = 10
	friendsPerSide = 4 // a user has this many friends among the preceding users, and as many among the following users
)

func newSimulatedUser(d *simulation, n int, name, token string) *simulatedUser {
	return &simulatedUser{
		simulation: d, index: n, name: name, token: token,
		random:   rand.New(rand.NewPCG(d.seed, uint64(n))), //nolint:gosec // it is meant to be the same each time
		liked:    userStates{map[string]bool{}, map[string]bool{}},
		followed: userStates{map[string]bool{}, map[string]bool{}},
	}
}

// Next implements load.Client.
func (v *simulatedUser) Next(buf []byte) []byte {
	if len(v.tasks) == 0 {
		pause := min(time.Duration(v.random.ExpFloat64()*float64(meanPause)), maxPause)
		if time.Now().Add(pause).After(v.simulation.deadline) {
			return nil
		}
		time.Sleep(pause)
		v.chooseAction()
	}
	v.currentTask, v.tasks = &v.tasks[0], v.tasks[1:]
	buf = v.currentTask.appendRequest(buf)
	v.sentAt = time.Now()
	return buf
}

// Done implements load.Client.
func (v *simulatedUser) Done(status int, body []byte) error {
	one := v.currentTask
	v.currentTask = nil
	err := one.check(status, body)
	if err != nil {
		err = fmt.Errorf("%s: %s: %w", v.name, one.name, err)
		v.tasks = nil
	}
	v.simulation.recorder.record(one.name, time.Since(v.sentAt), err)
	return err
}

// recordMissingReply records the current request, if any, as unanswered.
func (v *simulatedUser) recordMissingReply() {
	if v.currentTask != nil {
		v.simulation.recorder.record(v.currentTask.name, time.Since(v.sentAt), fmt.Errorf("%s: %s: no reply", v.name, v.currentTask.name))
		_ = v.currentTask.check(0, nil) // counts the request as failed
		v.currentTask = nil
	}
	v.tasks = nil
}

// chooseAction draws the next action. The probabilities are in thousandths.
func (v *simulatedUser) chooseAction() {
	if len(v.feed) == 0 {
		v.tasks = []task{v.scrollFeed(true, "")}
		return
	}
	on := v.feed[v.current]
	switch draw := v.random.IntN(1000); {
	case draw < 350:
		v.tasks = []task{v.scrollFeed(v.feedCursor == "" || v.random.IntN(4) == 0, "")}
	case draw < 620:
		v.current = v.random.IntN(len(v.feed))
		v.tasks = []task{v.watchClip(v.feed[v.current]), v.recordView(v.feed[v.current])}
	case draw < 740:
		v.tasks = []task{v.like(on.VideoID)}
	case draw < 800:
		v.tasks = []task{v.addComment(on.VideoID)}
	case draw < 860:
		v.tasks = []task{v.readComments(on.VideoID, "")}
	case draw < 900:
		v.tasks = []task{v.follow(on.Author.UserID)}
	case draw < 970:
		v.tasks = []task{v.sendMessage()}
	case draw < 997:
		with := v.friend()
		v.tasks = []task{v.openChat(with), v.markRead(with)}
	default:
		v.tasks = []task{v.uploadClip()}
	}
}

// friend returns a random user to chat with.
func (v *simulatedUser) friend() string {
	by := 1 + v.random.IntN(friendsPerSide)
	if v.random.IntN(2) == 0 {
		by = -by
	}
	all := v.simulation.users
	return all[(v.index+by+len(all))%len(all)].name
}
