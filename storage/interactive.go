package storage

import "time"

// Freshness says how far the counts of an Interactive can be trusted.
type Freshness string

// How fresh counts are.
const (
	Live        Freshness = "LIVE"        // as of now
	Stale       Freshness = "STALE"       // true once; what changed since is not known
	Unavailable Freshness = "UNAVAILABLE" // not known: the counts are zeros in place of them
)

// Counts is how often what was done to one subject. Version is 0 for a
// subject nobody has touched and rises with every change of a state behind
// the counts.
type Counts struct {
	ReadCount    int64
	LikeCount    int64
	DislikeCount int64
	CollectCount int64
	Version      int64
}

// Interactive is a subject as one viewer sees it. The three states are nil
// where the viewer is anonymous, did no such thing, or did not ask.
type Interactive struct {
	Subject
	Counts
	Freshness Freshness
	Liked     *Liked
	Collected *Collected
	Read      *Read
}

// States is what one user did to one subject. A nil state is one that is not,
// except that reaction and collection stay known by their versions: the
// version of the latest action, 0 where there was none.
type States struct {
	Liked             *Liked
	Collected         *Collected
	Read              *Read
	Reaction          Register // Liked is its value
	CollectionVersion int64
	// CountsVersion is the version that the subject's counts had at the same
	// moment, for whoever keeps a copy of a database's answer: of States and
	// Windows of a Database, where there was an action of the kinds asked. It is
	// 0 otherwise.
	CountsVersion int64
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

// Collected is one subject in one folder of one user.
type Collected struct {
	User     User
	Subject  Subject
	FolderID string
	Version  int64
}

// At is when the user put the subject into the folder.
func (c *Collected) At() time.Time { return Time(c.Version) }

// FolderKey names the folder it lies in.
func (c *Collected) FolderKey() FolderKey { return FolderKey{c.User, c.FolderID} }

// Read is how often and when one user read one subject.
type Read struct {
	User    User
	Subject Subject
	Times   int64 // at least 1
	First   int64
	Last    int64
}

// FirstAt is when the user read the subject first.
func (r *Read) FirstAt() time.Time { return Time(r.First) }

// LastAt is when the user read the subject last.
func (r *Read) LastAt() time.Time { return Time(r.Last) }
