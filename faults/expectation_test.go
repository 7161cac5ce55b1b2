//go:build long

package faults_test

// set is a set of states, as bits. What a client knows of one state is the set of its
// possible values: a single one, unless the outcome of an action is unknown.
type set uint8

// The states of a reaction, of a collection and of a follow.
const (
	none set = 1 << iota
	like
	dislike

	inDefault = like // the bits of the two reactions stand for the two folders
	inBox     = dislike

	following = like
)

func (s set) has(state set) bool { return s&state != 0 }

// expectation is what a client knows about its own actions on one subject.
type expectation struct {
	reaction, collected, followed set
	reads, maybeReads             int64 // acknowledged; of unknown outcome
}

// untouched is the expectation about a subject to which nothing was done.
var untouched = expectation{reaction: none, collected: none, followed: none}

// action is a mutation of a client.
type action struct {
	mutation string
	folder   set // the folder that a collect names
}

// apply returns the expectation after the action was acknowledged.
func (b expectation) apply(d action) expectation {
	switch d.mutation {
	case "like":
		b.reaction = like
	case "dislike":
		b.reaction = dislike
	case "unlike":
		b.reaction = cleared(b.reaction, like)
	case "undislike":
		b.reaction = cleared(b.reaction, dislike)
	case "collect":
		b.collected = d.folder
	case "uncollect":
		b.collected = none
	case "follow":
		b.followed = following
	case "unfollow":
		b.followed = none
	case "read":
		b.reads++
	}
	return b
}

// cleared returns the reaction s after a clear of taken, which leaves any other reaction.
func cleared(s, taken set) set {
	if s.has(taken) {
		return s&^taken | none
	}
	return s
}

// afterUnknown returns the expectation after an action of unknown outcome.
func (b expectation) afterUnknown(d action) expectation {
	if d.mutation == "read" {
		b.maybeReads++
		return b
	}
	after := b.apply(d)
	b.reaction |= after.reaction
	b.collected |= after.collected
	b.followed |= after.followed
	return b
}

// shown is one subject in a reply.
type shown struct {
	Biz, BizID, Freshness string
	Version               int64
	Liked                 *struct{ Reaction string }
	Collected             *struct{ At string }
	Followed              *struct{ At string }
	Read                  *struct{ Times int64 }
	counts
}

// counts are those of a subject.
type counts struct{ ReadCount, LikeCount, DislikeCount, CollectCount, FollowerCount int64 }

const fields = `biz bizId freshness version readCount likeCount dislikeCount collectCount followerCount
	liked { reaction } collected { at } followed { at } read { times }`

func (s *shown) reaction() set {
	switch {
	case s.Liked == nil:
		return none
	case s.Liked.Reaction == "LIKE":
		return like
	}
	return dislike
}

func (s *shown) following() set {
	if s.Followed == nil {
		return none
	}
	return following
}

func (s *shown) times() int64 {
	if s.Read == nil {
		return 0
	}
	return s.Read.Times
}

// own are the counts of the viewer's own states, reads excepted.
func (s *shown) own() counts {
	return counts{
		LikeCount: bit(s.reaction() == like), DislikeCount: bit(s.reaction() == dislike),
		CollectCount: bit(s.Collected != nil), FollowerCount: bit(s.Followed != nil),
	}
}

// notOwn begins the result of mismatch for a reply that lacks the viewer's last action.
const notOwn = "not the viewer's own "

// mismatch returns what is wrong with a LIVE reply, or "" if it is right. If alone is true,
// nobody else acts on the subject, so that its counts are known, too.
func (b expectation) mismatch(s *shown, alone bool) string {
	own, counted := s.own(), s.counts
	counted.ReadCount = 0
	switch {
	case !b.reaction.has(s.reaction()):
		return notOwn + "reaction"
	case s.Collected != nil && b.collected == none, s.Collected == nil && !b.collected.has(none):
		return notOwn + "collection"
	case !b.followed.has(s.following()):
		return notOwn + "follow"
	case s.LikeCount < own.LikeCount, s.DislikeCount < own.DislikeCount, s.CollectCount < own.CollectCount, s.FollowerCount < own.FollowerCount:
		return "counts that lack the viewer's own state"
	case alone && counted != own:
		return "counts that are not those of the only viewer's state"
	case s.times() > b.reads+b.maybeReads: // fewer are right: reads follow within a second
		return "more reads than the viewer's"
	case alone && s.ReadCount > b.reads+b.maybeReads:
		return "a read count above that of the only viewer's reads"
	}
	return ""
}

func bit(is bool) int64 {
	if is {
		return 1
	}
	return 0
}
