package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// visitor is one user. It performs one action after the other, with a pause in between.
type visitor struct {
	day         *day
	n           int
	name, token string
	address     string // of the node where it is
	random      *rand.Rand

	feed  []feedVideo
	after string // the cursor of the next page of the feed, empty at its end
	at    int    // the index of the video on the screen

	tasks   []task // the remaining tasks of the current action
	current *task
	asked   time.Time

	// What was acknowledged, and what had no valid reply.
	liked, followed           marks
	commented, sent, uploaded tally
}

// marks are the subjects that one visitor has marked, for example liked.
type marks struct {
	is    map[string]bool // the state that was acknowledged last
	maybe map[string]bool // the state is unknown, because a request failed
}

// tally counts the rows that one visitor has created.
type tally struct{ acked, failed int }

const (
	minVisitors = 10
	friendships = 4 // on either side of a person
)

func newVisitor(d *day, n int, name, token string) *visitor {
	return &visitor{
		day: d, n: n, name: name, token: token,
		random:   rand.New(rand.NewPCG(d.seed, uint64(n))), //nolint:gosec // it is meant to be the same each time
		liked:    marks{map[string]bool{}, map[string]bool{}},
		followed: marks{map[string]bool{}, map[string]bool{}},
	}
}

// Next implements load.Client.
func (v *visitor) Next(buf []byte) []byte {
	if len(v.tasks) == 0 {
		pause := min(time.Duration(v.random.ExpFloat64()*float64(dayPause)), maxDayPause)
		if time.Now().Add(pause).After(v.day.leave) {
			return nil
		}
		time.Sleep(pause)
		v.decide()
	}
	v.current, v.tasks = &v.tasks[0], v.tasks[1:]
	buf = v.current.write(buf)
	v.asked = time.Now()
	return buf
}

// Done implements load.Client.
func (v *visitor) Done(status int, body []byte) error {
	one := v.current
	v.current = nil
	err := one.judge(status, body)
	if err != nil {
		err = fmt.Errorf("%s: %s: %w", v.name, one.what, err)
		v.tasks = nil
	}
	v.day.recorder.record(one.what, time.Since(v.asked), err)
	return err
}

// gone records that the current request was not answered.
func (v *visitor) gone() {
	if v.current != nil {
		v.day.recorder.record(v.current.what, time.Since(v.asked), fmt.Errorf("%s: %s: no reply", v.name, v.current.what))
		_ = v.current.judge(0, nil) // counts it as failed
		v.current = nil
	}
	v.tasks = nil
}

// decide draws the next action. The shares are in thousandths.
func (v *visitor) decide() {
	if len(v.feed) == 0 {
		v.tasks = []task{v.scroll(true, "")}
		return
	}
	on := v.feed[v.at]
	switch draw := v.random.IntN(1000); {
	case draw < 350:
		v.tasks = []task{v.scroll(v.after == "" || v.random.IntN(4) == 0, "")}
	case draw < 620:
		v.at = v.random.IntN(len(v.feed))
		v.tasks = []task{v.watch(v.feed[v.at]), v.view(v.feed[v.at])}
	case draw < 740:
		v.tasks = []task{v.like(on.VideoID)}
	case draw < 800:
		v.tasks = []task{v.comment(on.VideoID)}
	case draw < 860:
		v.tasks = []task{v.comments(on.VideoID, "")}
	case draw < 900:
		v.tasks = []task{v.follow(on.Author.UserID)}
	case draw < 970:
		v.tasks = []task{v.message()}
	case draw < 997:
		with := v.friend()
		v.tasks = []task{v.chat(with), v.markRead(with)}
	default:
		v.tasks = []task{v.upload()}
	}
}

// friend returns a random user to chat with.
func (v *visitor) friend() string {
	by := 1 + v.random.IntN(friendships)
	if v.random.IntN(2) == 0 {
		by = -by
	}
	all := v.day.visitors
	return all[(v.n+by+len(all))%len(all)].name
}
