package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ovation/internal/testing/await"
	"ovation/internal/testing/must"
	"ovation/internal/testing/seed"
)

const (
	ownSubjects   = 6  // number of subjects that only the viewer acts on
	allSubjects   = 12 // number of all subjects; others act on the rest as well
	longestUnseen = 10 * time.Second
	shown         = `bizId version freshness readCount likeCount dislikeCount collectCount followerCount liked { reaction } collected { folder { id } } followed { at }`
	shownWithRead = shown + ` read { times }`
)

// ownState is what the viewer did to a subject, except for reads.
type ownState struct {
	reaction, folder string
	following        bool
}

// reply is a subject in an API response.
type reply struct {
	BizID     string
	Version   int64
	Freshness string
	counted
	Liked     *struct{ Reaction string }
	Collected *struct{ Folder struct{ ID string } }
	Followed  *struct{ At string }
	Read      *struct{ Times int }
}

// counted holds the counts of a subject.
type counted struct{ ReadCount, LikeCount, DislikeCount, CollectCount, FollowerCount int }

// own returns what the viewer's state contributes to the counts.
func (d ownState) own() counted {
	return counted{0, count(d.reaction == "LIKE"), count(d.reaction == "DISLIKE"), count(d.folder != ""), count(d.following)}
}

// ownState returns the viewer's state according to a reply.
func (r reply) ownState() (d ownState) {
	if r.Liked != nil {
		d.reaction = r.Liked.Reaction
	}
	if r.Collected != nil {
		d.folder = r.Collected.Folder.ID
	}
	d.following = r.Followed != nil
	return d
}

// sequentialViewer sends one request after another, each to the next node. It records
// what every reply must contain.
type sequentialViewer struct {
	nodes        []*server
	random       *rand.Rand
	others       *others
	folders      []string
	step         int
	known        [allSubjects]ownState
	reads        [allSubjects][]time.Time          // when the viewer's reads were acknowledged
	comments     [allSubjects][]listedComment      // the viewer's comments
	firstReplies map[*server]*[allSubjects]int64   // the newest version that each node has shown
	at           [allSubjects]map[int64]firstReply // the first reply with each version
	notLive      []time.Time                       // when replies that were not LIVE arrived
	replies      int
}

// firstReply describes the first reply with a given version.
type firstReply struct {
	others counted
	reply  string
}

// do sends a random request.
func (v *sequentialViewer) do() error {
	v.step++
	node := v.nodes[v.step%len(v.nodes)]
	switch subject := v.random.IntN(allSubjects); v.random.IntN(12) {
	case 10:
		return v.comment(node, subject)
	case 11:
		return v.readComments(node, subject)
	case 0:
		return v.query(node, 0, allSubjects)
	case 1, 2, 3:
		return v.query(node, subject, subject+1)
	default:
		return v.mutate(node, subject)
	}
}

// query queries the subjects whose numbers are in the range [from, to).
func (v *sequentialViewer) query(node *server, from, to int) error {
	var query strings.Builder
	query.WriteString(`{ interactives(subjects: [`)
	for i := from; i < to; i++ {
		fmt.Fprintf(&query, `{biz: "video", bizId: "%d"} `, i)
	}
	query.WriteString(`]) { ` + v.fields() + ` } }`)
	var got struct{ Interactives []reply }
	asked := time.Now()
	if err := node.graphQL("loner", query.String(), &got); err != nil {
		return err
	}
	if len(got.Interactives) != to-from {
		return fmt.Errorf("got %d subjects, want %d", len(got.Interactives), to-from)
	}
	for i := range got.Interactives {
		if err := v.check(node, asked, from+i, &got.Interactives[i]); err != nil {
			return fmt.Errorf("query: %w", err)
		}
	}
	return nil
}

// fields returns the fields that a query requests for a subject. In every fourth step,
// the fields include the number of times that the viewer has read the subject.
func (v *sequentialViewer) fields() string {
	if v.step%4 == 0 {
		return shownWithRead
	}
	return shown
}

// mutate makes the viewer perform a random action on a subject.
func (v *sequentialViewer) mutate(node *server, subject int) error {
	next, folder := v.known[subject], ""
	var mutation string
	switch v.random.IntN(12) {
	case 0, 1:
		mutation, next.reaction = "like", "LIKE"
	case 2:
		mutation, next.reaction = "dislike", "DISLIKE"
	case 3:
		if mutation = "unlike"; next.reaction == "LIKE" {
			next.reaction = ""
		}
	case 4:
		if mutation = "undislike"; next.reaction == "DISLIKE" {
			next.reaction = ""
		}
	case 5:
		mutation, next.folder = "collect", v.folders[v.random.IntN(len(v.folders))]
		folder = fmt.Sprintf(`, folderId: %q`, next.folder)
	case 6:
		mutation, next.folder = "uncollect", ""
	case 7, 8:
		mutation, next.following = "follow", true
	case 9:
		mutation, next.following = "unfollow", false
	default:
		mutation = "read"
		v.others.mu.Lock()
		v.others.began[subject].ReadCount++
		v.others.mu.Unlock()
	}
	var got struct {
		Did struct {
			Changed     *bool // null if unknown
			Interactive reply
		}
	}
	asked := time.Now()
	err := node.graphQL("loner", fmt.Sprintf(`mutation { did: %s(input: {biz: "video", bizId: "%d"%s}) { changed interactive { %s } } }`,
		mutation, subject, folder, v.fields()), &got)
	if err != nil {
		return fmt.Errorf("%s: %w", mutation, err)
	}
	before := v.known[subject]
	v.known[subject] = next
	if mutation == "read" {
		v.reads[subject] = append(v.reads[subject], time.Now())
		v.others.mu.Lock()
		v.others.acked[subject][2] = append(v.others.acked[subject][2], time.Now())
		v.others.mu.Unlock()
	}
	if err := v.check(node, asked, subject, &got.Did.Interactive); err != nil {
		return fmt.Errorf("%s: %w", mutation, err)
	}
	if changed := got.Did.Changed; changed != nil && *changed != (next != before || mutation == "read") {
		return fmt.Errorf("%s after %+v: got changed: %t, want %t", mutation, before, *changed, !*changed)
	}
	return nil
}

// check checks a reply against the actions of the viewer and of the others. The request
// was sent at the time asked.
func (v *sequentialViewer) check(node *server, asked time.Time, subject int, got *reply) error {
	v.replies++
	if got.Freshness != "LIVE" {
		v.notLive = append(v.notLive, time.Now())
		return nil
	}
	wrong := func(why string, about any) error {
		return fmt.Errorf("%w: step %d: %s: %+v; the viewer did %+v; the reply is %+v", errWrongAnswer, v.step, why, about, v.known[subject], *got)
	}
	if v.fields() == shownWithRead {
		times := 0
		if got.Read != nil {
			times = got.Read.Times
		}
		if least := visibleSince(v.reads[subject], asked); times < least || times > len(v.reads[subject]) {
			return wrong("the viewer's reads: at least, shown and at most", [3]int{least, times, len(v.reads[subject])})
		}
	}
	if got.BizID != strconv.Itoa(subject) || got.ownState() != v.known[subject] {
		return wrong("want what the viewer did to subject", subject)
	}
	newest := &v.firstReplies[node][subject]
	if got.Version < *newest {
		return wrong("want at least the version that the same node has shown before", *newest)
	}
	*newest = got.Version

	own := v.known[subject].own()
	least, most := v.others.bounds(subject, asked)
	rest := counted{got.ReadCount - own.ReadCount, got.LikeCount - own.LikeCount, got.DislikeCount - own.DislikeCount, got.CollectCount - own.CollectCount, got.FollowerCount - own.FollowerCount}
	if rest.DislikeCount != 0 || !rest.atLeast(least) || !most.atLeast(rest) {
		return wrong("the counts of the others: at least, shown and at most", [3]counted{least, rest, most})
	}
	if before, seen := v.at[subject][got.Version]; !seen {
		v.at[subject][got.Version] = firstReply{rest, fmt.Sprintf("%s: step %d on %s: the viewer did %+v; the reply is %+v",
			time.Now().Format(time.StampMilli), v.step, node.url, v.known[subject], *got)}
	} else if before.others != rest {
		return wrong("want the counts of the others that this version had before", before)
	}
	return nil
}

func (c counted) atLeast(least counted) bool {
	return c.ReadCount >= least.ReadCount && c.LikeCount >= least.LikeCount && c.DislikeCount >= least.DislikeCount && c.CollectCount >= least.CollectCount &&
		c.FollowerCount >= least.FollowerCount
}

// checkMonotonic checks that no version counts fewer actions of others than an earlier
// version does.
func (v *sequentialViewer) checkMonotonic(t *testing.T) {
	t.Helper()
	for subject, at := range v.at {
		var before firstReply
		var versions []int64
		for version := range at {
			versions = append(versions, version)
		}
		slices.Sort(versions)
		for _, version := range versions {
			if !at[version].others.atLeast(before.others) {
				t.Errorf("subject %d: version %d counts %+v, an older one %+v, want no fewer of others", subject, version, at[version], before)
			}
			before = at[version]
		}
	}
}

// newSequentialViewer returns a viewer that has created three folders.
func newSequentialViewer(t *testing.T, seed uint64, nodes ...*server) *sequentialViewer {
	t.Helper()
	v := &sequentialViewer{nodes: nodes, random: rand.New(rand.NewPCG(seed, 1)), others: &others{}, firstReplies: map[*server]*[allSubjects]int64{}}
	for _, node := range nodes {
		v.firstReplies[node] = &[allSubjects]int64{}
	}
	for i := range v.at {
		v.at[i] = map[int64]firstReply{}
	}
	for i := range 3 {
		var got struct {
			CreateFolder struct{ Folder struct{ ID string } }
		}
		must.Succeed(t, nodes[0].graphQL("loner", fmt.Sprintf(`mutation { createFolder(input: {name: "folder %d"}) { folder { id } } }`, i), &got))
		v.folders = append(v.folders, got.CreateFolder.Folder.ID)
	}
	return v
}

// TestOwnActionsAreInEveryReply makes one viewer act and query on two nodes in turn,
// while others act on half of the subjects. Every LIVE reply must include the viewer's
// own actions once. If only the viewer acts on a subject, its counts are known exactly.
// Otherwise, the counts must include all actions that were acknowledged more than
// longestUnseen ago, and no action that has not begun. The counts must not fall from one
// version to the next, and must be equal for equal versions. Comments, including those of
// others, must be in every reply as soon as they are acknowledged.
func TestOwnActionsAreInEveryReply(t *testing.T) { ownActions(t, 1_000) }

// ownActions takes steps until n steps have had only LIVE replies. Replies that are not
// LIVE are not checked; a node sends them if it polled too late, which is allowed only if
// the machine or a server stalled.
func ownActions(t *testing.T, n int) {
	t.Helper()
	seed := seed.Of(t)
	s := newSite(t)
	a, b := s.start(t, "serve"), s.start(t, "serve")
	first, second := s.start(t, "work"), s.start(t, "work")
	v := newSequentialViewer(t, seed, a, b)

	var crowd sync.WaitGroup
	over := make(chan struct{})
	crowd.Go(func() {
		random, tick := rand.New(rand.NewPCG(seed, 2)), time.NewTicker(10*time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			if err := v.others.act(v.nodes[random.IntN(2)], fmt.Sprintf("other-%d", i), random); err != nil {
				t.Error(err)
				return
			}
		}
	})
	began := time.Now()
	var err error
	stalled := watchStalls(t, s)
	for checked, lastLive := 0, began; checked < n && err == nil; {
		before := len(v.notLive)
		if err = v.do(); len(v.notLive) == before {
			checked, lastLive = checked+1, time.Now()
		} else if err == nil && time.Since(lastLive) > waitTimeout {
			err = fmt.Errorf("no reply is LIVE for %v", waitTimeout)
		}
	}
	took := time.Since(began)
	stalled.stop()
	close(over)
	crowd.Wait()
	t.Logf("%d steps in %v: %d subjects shown, %d of them not LIVE; %d stalls",
		v.step, took.Round(time.Millisecond), v.replies, len(v.notLive), stalled.count())
	if err != nil {
		t.Error(err)
	}
	unexplained := slices.DeleteFunc(v.notLive, stalled.explain)
	if len(unexplained) > 0 {
		t.Errorf("%d of %d subjects shown are not LIVE although nothing stalled, the first at %s", len(unexplained), v.replies, unexplained[0].Format(time.StampMilli))
	}
	v.checkMonotonic(t)
	if t.Failed() {
		for _, process := range []*server{a, b, first, second} {
			t.Logf("log of %s:\n%s", process.url, process.log())
		}
	}
	await.That(t, "both nodes show what everybody did", func() bool { return v.allVisible(t, a) && v.allVisible(t, b) })
	s.run(t, "verify").want(t, 0, "0 differences; ")
}

// allVisible reports whether the counts that a node shows include every action and every
// comment.
func (v *sequentialViewer) allVisible(t *testing.T, node *server) bool {
	t.Helper()
	for subject := range allSubjects {
		var got struct {
			Interactive struct {
				reply

				CommentCount int
			}
		}
		must.Succeed(t, node.graphQL("", fmt.Sprintf(`{ interactive(biz: "video", bizId: "%d") { commentCount %s } }`, subject, shown), &got))
		want := v.known[subject].own()
		want.LikeCount += v.others.began[subject].LikeCount
		want.CollectCount += v.others.began[subject].CollectCount
		want.ReadCount += v.others.began[subject].ReadCount
		want.FollowerCount += v.others.began[subject].FollowerCount
		if got.Interactive.counted != want || got.Interactive.CommentCount != len(v.comments[subject])+v.others.comments[subject].began {
			return false
		}
	}
	return true
}
