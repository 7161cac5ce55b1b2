package storage

import "time"

// Freshness is the degree to which the counts of an Interactive can be trusted.
type Freshness string

// The degrees of freshness.
const (
	Live        Freshness = "LIVE"        // as of now
	Stale       Freshness = "STALE"       // outdated, or possibly without the latest changes
	Unavailable Freshness = "UNAVAILABLE" // not known: the counts are zeros as placeholders
	Hidden      Freshness = "HIDDEN"      // not shown to the viewer: the counts are zeros as placeholders; no store returns it
)

// Counts holds a subject's counts and its author. Version is 0 for a subject without
// actions and increases with every change to a counted state or to the author.
type Counts struct {
	ReadCount     int64
	ReaderCount   int64 // users who have read it, without anonymous ones
	LikeCount     int64
	DislikeCount  int64
	CollectCount  int64
	FollowerCount int64
	AuthorID      string // empty if the subject has no author
	Deleted       bool   // see Deletions; a deleted subject has no author
	Version       int64
}

// CountsPerSubject is the number of counts in Counts.
const CountsPerSubject = 6

// Interactive is a subject as one viewer sees it. Each of the four states is nil if the
// viewer is anonymous, has no such state, or did not select it. The mirror needs the
// states to determine what the counts include. Therefore every kind of state that is
// counted has a field, even if the API does not return it.
type Interactive struct {
	Subject
	Counts
	Freshness Freshness
	Liked     *Liked
	Collected *Collected
	Read      *Read
	Followed  *Followed
}

// Author returns the author of the subject, or nil if there is none.
func (i *Interactive) Author() *User {
	if i.AuthorID == "" {
		return nil
	}
	return &User{i.Tenant, i.AuthorID}
}

// States holds the states of one user on one subject; nil means none. For the reaction,
// the collection and the follow, there is also the version of the latest action, or 0 if
// there was none.
type States struct {
	Liked             *Liked
	Collected         *Collected
	Read              *Read
	Followed          *Followed
	Reaction          Register // its Value is the reaction of Liked, or NoReaction
	CollectionVersion int64
	FollowVersion     int64
	// Deleted reports that the subject is deleted. It is set only if the store knows that
	// without another call to a server.
	Deleted bool
	// CountsVersion is the version that the subject's counts had when the states were
	// read. Only a mirror.Database sets it, and only if there was an action of a
	// requested kind; otherwise it is 0.
	CountsVersion int64
}

// CurrentReaction returns the reaction of Liked, or NoReaction if Liked is nil.
func (s *States) CurrentReaction() Reaction {
	if s.Liked == nil {
		return NoReaction
	}
	return s.Liked.Reaction
}

// Liked is the reaction of one user to one subject: a like or a dislike,
// never none.
type Liked struct {
	User     User
	Subject  Subject
	Reaction Reaction
	Version  int64
}

// At is when the user reacted.
func (l *Liked) At() time.Time { return Time(l.Version) }

// Collected is one subject in one of a user's folders.
type Collected struct {
	User     User
	Subject  Subject
	FolderID string
	Version  int64
}

// At is when the user put the subject into the folder.
func (c *Collected) At() time.Time { return Time(c.Version) }

// FolderKey names the folder that the subject is in.
func (c *Collected) FolderKey() FolderKey { return FolderKey{c.User, c.FolderID} }

// Followed is a user's follow of one subject.
type Followed struct {
	User    User
	Subject Subject
	Version int64
}

// At is when the user began to follow the subject.
func (f *Followed) At() time.Time { return Time(f.Version) }

// Friend is a user who is followed by another user and follows that user back.
type Friend struct {
	Of       User // the user that User is a friend of
	User     User
	Version  int64    // the version of the later of the two follows
	Position Position // in the list that was searched (FriendsQuery)
}

// Since is when the two began to follow each other.
func (f *Friend) Since() time.Time { return Time(f.Version) }

// FollowedLike is a like by a user whom another user follows.
type FollowedLike struct {
	Liked

	Position Position // in the follows that were searched (FollowedLikersQuery)
}

// Read records how often and when a user has read a subject.
type Read struct {
	User    User
	Subject Subject
	Times   int64 // at least 1
	First   int64
	Last    int64
}

// FirstAt is when the user first read the subject.
func (r *Read) FirstAt() time.Time { return Time(r.First) }

// LastAt is when the user last read the subject.
func (r *Read) LastAt() time.Time { return Time(r.Last) }
