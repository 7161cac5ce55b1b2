package storage

import "context"

// Surveyor summarises a store as a whole. Its methods read whole tables, so they are for
// development and must not serve user requests. A store need not implement it.
type Surveyor interface {
	// Survey summarises the data of a tenant.
	Survey(ctx context.Context, tenant string) (Survey, error)
	// Hottest returns the subjects with the highest values of a count, highest first. It
	// omits subjects whose count is 0. Errors: ErrInvalid for an unknown count.
	Hottest(ctx context.Context, query HottestQuery) ([]SubjectCounts, error)
	// History returns the latest change to each state that any user has on a subject,
	// newest first. Earlier changes to the same state are not stored.
	History(ctx context.Context, subject Subject, limit int) ([]PastChange, error)
	// Activity returns, in the order of biz, when the states of each kind of content changed
	// last. It omits kinds without a change in that time.
	Activity(ctx context.Context, query ActivityQuery) ([]Activity, error)
}

// Survey summarises the data of a tenant.
type Survey struct {
	Kinds   []KindSummary // in the order of biz
	Users   int64         // users with a like, follow, collection or comment, and authors
	Folders int64
	// Persisted is when the latest message from any tenant was persisted, in microseconds
	// since 1970, or 0 if none was. Imported messages are disregarded.
	Persisted int64
}

// KindSummary holds sums over all subjects of one kind of content.
type KindSummary struct {
	Biz      string
	Subjects int64
	Counts   // the sums; Version and AuthorID are not set
	Comments int64
}

// HottestQuery selects subjects by one of their counts.
type HottestQuery struct {
	Tenant string
	Biz    string // only subjects of this kind, or of every kind if empty
	By     string // one of HottestBy
	Limit  int
}

// HottestBy returns the valid values of HottestQuery.By.
func HottestBy() []string {
	return []string{"readCount", "readerCount", "likeCount", "dislikeCount", "collectCount", "followerCount"}
}

// ActivityQuery selects states by their tenant and, unless Subject is the zero value, by
// their subject.
type ActivityQuery struct {
	Tenant  string
	Subject Subject
	Since   int64 // the beginning of the first hour, in microseconds since 1970
}

// Activity counts, by the hour, the states of a kind of content whose latest change was in
// that hour of the day that begins at Since. Later changes count for the last hour.
type Activity struct {
	Biz   string
	Hours [24]int64
}

// PastChange is the latest change to one state. Times and First are set for KindRead
// only: how often the subject was read, and when it was first read.
type PastChange struct {
	StateChange

	Times int64
	First int64
}
