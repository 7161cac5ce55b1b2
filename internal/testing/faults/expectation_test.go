//go:build long

package faults_test

// stateSet is a set of possible values of one state, as bits. It has a single value,
// unless the outcome of an action is unknown.
type stateSet uint8

// The values of the three states: the reaction, the collection and the follow.
const (
	stateNone stateSet = 1 << iota
	stateLiked
	stateDisliked

	stateInDefault = stateLiked // the bits of the two reactions also represent the two folders
	stateInFolder  = stateDisliked

	stateFollowing = stateLiked
)

func (s stateSet) has(state stateSet) bool { return s&state != 0 }

// expectation holds the possible states of a client on one subject, as determined by the
// client's own actions.
type expectation struct {
	reaction, collection, follow stateSet
	reads, uncertainReads        int64 // numbers of acknowledged reads, and of reads whose outcome is unknown
}

// untouched is the expectation for a subject without any actions.
var untouched = expectation{reaction: stateNone, collection: stateNone, follow: stateNone}

// clientAction is a mutation of a client.
type clientAction struct {
	mutation string
	folder   stateSet // the folder of a collect
}

// apply returns the expectation after an acknowledged action.
func (b expectation) apply(d clientAction) expectation {
	switch d.mutation {
	case "like":
		b.reaction = stateLiked
	case "dislike":
		b.reaction = stateDisliked
	case "unlike":
		b.reaction = clearReaction(b.reaction, stateLiked)
	case "undislike":
		b.reaction = clearReaction(b.reaction, stateDisliked)
	case "collect":
		b.collection = d.folder
	case "uncollect":
		b.collection = stateNone
	case "follow":
		b.follow = stateFollowing
	case "unfollow":
		b.follow = stateNone
	case "read":
		b.reads++
	}
	return b
}

// clearReaction returns the possible reactions after the given reaction has been cleared.
// Other reactions in the set s remain possible.
func clearReaction(s, state stateSet) stateSet {
	if s.has(state) {
		return s&^state | stateNone
	}
	return s
}

// afterUnknown returns the expectation after an action whose outcome is unknown.
func (b expectation) afterUnknown(d clientAction) expectation {
	if d.mutation == "read" {
		b.uncertainReads++
		return b
	}
	after := b.apply(d)
	b.reaction |= after.reaction
	b.collection |= after.collection
	b.follow |= after.follow
	return b
}

// subjectView is one subject in a reply.
type subjectView struct {
	Biz, BizID, Freshness string
	Version               int64
	Liked                 *struct{ Reaction string }
	Collected             *struct{ At string }
	Followed              *struct{ At string }
	Read                  *struct{ Times int64 }
	counts
}

// counts holds the counts of a subject.
type counts struct{ ReadCount, ReaderCount, LikeCount, DislikeCount, CollectCount, FollowerCount int64 }

const subjectFields = `biz bizId freshness version readCount readerCount likeCount dislikeCount collectCount followerCount
	liked { reaction } collected { at } followed { at } read { times }`

func (s *subjectView) reactionState() stateSet {
	switch {
	case s.Liked == nil:
		return stateNone
	case s.Liked.Reaction == "LIKE":
		return stateLiked
	}
	return stateDisliked
}

func (s *subjectView) followState() stateSet {
	if s.Followed == nil {
		return stateNone
	}
	return stateFollowing
}

func (s *subjectView) readTimes() int64 {
	if s.Read == nil {
		return 0
	}
	return s.Read.Times
}

// ownCounts returns what the viewer's own states, except reads, contribute to the counts.
func (s *subjectView) ownCounts() counts {
	return counts{
		LikeCount: boolToInt(s.reactionState() == stateLiked), DislikeCount: boolToInt(s.reactionState() == stateDisliked),
		CollectCount: boolToInt(s.Collected != nil), FollowerCount: boolToInt(s.Followed != nil),
	}
}

// ownMismatchPrefix begins the text that mismatch returns for a reply that lacks the
// viewer's last action.
const ownMismatchPrefix = "not the viewer's own "

// mismatch returns a description of the error in a LIVE reply, or "" if the reply is
// correct. If alone is true, no other user acts on the subject, so that its counts are
// known, too.
func (b expectation) mismatch(s *subjectView, alone bool) string {
	own, counted := s.ownCounts(), s.counts
	counted.ReadCount, counted.ReaderCount = 0, 0
	switch {
	case !b.reaction.has(s.reactionState()):
		return ownMismatchPrefix + "reaction"
	case s.Collected != nil && b.collection == stateNone, s.Collected == nil && !b.collection.has(stateNone):
		return ownMismatchPrefix + "collection"
	case !b.follow.has(s.followState()):
		return ownMismatchPrefix + "follow"
	case s.LikeCount < own.LikeCount, s.DislikeCount < own.DislikeCount, s.CollectCount < own.CollectCount, s.FollowerCount < own.FollowerCount:
		return "counts that lack the viewer's own state"
	case alone && counted != own:
		return "counts that are not those of the only viewer's state"
	case s.readTimes() > b.reads+b.uncertainReads: // fewer reads are correct, because a read takes up to a second to become visible
		return "more reads than the viewer's"
	case alone && s.ReadCount > b.reads+b.uncertainReads:
		return "a read count above that of the only viewer's reads"
	}
	return ""
}

func boolToInt(is bool) int64 {
	if is {
		return 1
	}
	return 0
}
