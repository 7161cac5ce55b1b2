package storage

// UserTotals counts what a user did, and what others did to the user and to the user's
// works. A work is a subject whose author is the user.
type UserTotals struct {
	Likes       int64 // subjects that the user likes
	Following   int64 // subjects that the user follows, of any biz
	Followers   int64 // the follower count of User.Subject
	Collections int64 // subjects in the user's folders
	// PublicCollections is the part of Collections that is in public folders: the sum of
	// their item counts.
	PublicCollections int64
	Comments          int64 // comments that the user wrote and that are not deleted
	Works             int64
	LikesReceived     int64 // likes on all works
}

// TotalsPerUser is the number of totals that are stored for a user: all but Followers and
// PublicCollections.
const TotalsPerUser = 6

// Work is a subject with a user as its author.
type Work struct {
	Subject Subject
	Since   int64 // the version of the declaration
}

// WorksQuery lists a user's works. If Biz is set, only works of that biz are listed.
type WorksQuery struct {
	User User
	Biz  string
	Page
}
