package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// others records the actions of all users except the viewer. Each of these users acts
// only once, so that the counts of their actions only rise. The viewer's reads are
// recorded here as well, because all reads become visible only once they are persisted.
type others struct {
	mu       sync.Mutex
	began    [allSubjects]counted
	acked    [allSubjects][4][]time.Time // times of likes, collections, reads and follows
	comments [allSubjects]struct{ began, acked int }
}

// act performs an action as a new user: a like, collection, read, follow or comment on
// one of the shared subjects.
func (o *others) act(node *server, user string, random *rand.Rand) error {
	subject, kind := ownSubjects+random.IntN(allSubjects-ownSubjects), random.IntN(5)
	if kind == 4 {
		return o.comment(node, user, subject)
	}
	o.mu.Lock()
	o.began[subject].LikeCount += count(kind == 0)
	o.began[subject].CollectCount += count(kind == 1)
	o.began[subject].ReadCount += count(kind == 2)
	o.began[subject].FollowerCount += count(kind == 3)
	o.mu.Unlock()
	mutation := []string{"like", "collect", "read", "follow"}[kind]
	err := node.graphQL(user, fmt.Sprintf(`mutation { %s(input: {biz: "video", bizId: "%d"}) { changed } }`, mutation, subject), nil)
	o.mu.Lock()
	o.acked[subject][kind] = append(o.acked[subject][kind], time.Now())
	o.mu.Unlock()
	return err
}

// bounds returns limits on the counts of others in a reply that was received just now and
// whose request was sent at the time asked. The result least holds the lowest counts that
// the reply may show, and most holds the highest.
func (o *others) bounds(subject int, asked time.Time) (least, most counted) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return counted{
		LikeCount: visibleSince(o.acked[subject][0], asked), CollectCount: visibleSince(o.acked[subject][1], asked), ReadCount: visibleSince(o.acked[subject][2], asked),
		FollowerCount: visibleSince(o.acked[subject][3], asked),
	}, o.began[subject]
}

// visibleSince returns how many actions must be visible in a reply to a request that was
// sent at the time asked. The slice acked holds the times at which the actions were
// acknowledged, in order.
func visibleSince(acked []time.Time, asked time.Time) int {
	n, _ := slices.BinarySearchFunc(acked, asked.Add(-longestUnseen), time.Time.Compare)
	return n
}

// comment adds the user's comment on a subject.
func (o *others) comment(node *server, user string, subject int) error {
	o.mu.Lock()
	o.comments[subject].began++
	o.mu.Unlock()
	err := node.graphQL(user, fmt.Sprintf(`mutation { addComment(input: {biz: "video", bizId: "%d", text: "seen"}) { comment { id } } }`, subject), nil)
	o.mu.Lock()
	o.comments[subject].acked++
	o.mu.Unlock()
	return err
}

// commentCounts returns how many comments by others on a subject have been acknowledged,
// and how many the others have begun to add.
func (o *others) commentCounts(subject int) (acked, began int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.comments[subject].acked, o.comments[subject].began
}
