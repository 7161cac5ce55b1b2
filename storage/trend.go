package storage

import (
	"context"
	"time"
)

// TrendWindow is a period of the recent past over which trends are computed. The values
// are stored.
type TrendWindow uint8

// The windows. Each consists of buckets; the last one is still being filled.
const (
	TrendHour TrendWindow = 1 // 60 buckets of a minute
	TrendDay  TrendWindow = 2 // 24 buckets of an hour
	TrendWeek TrendWindow = 3 // 28 buckets of six hours
)

// TrendWindows lists all windows.
var TrendWindows = [...]TrendWindow{TrendHour, TrendDay, TrendWeek}

var trendBuckets = [...]struct {
	width time.Duration
	n     int64
}{TrendHour: {time.Minute, 60}, TrendDay: {time.Hour, 24}, TrendWeek: {6 * time.Hour, 28}}

// Bucket returns the number of the bucket in which a time lies. The numbers of a window
// increase by 1 from one bucket to the next.
func (w TrendWindow) Bucket(at time.Time) int64 {
	return Micros(at) / trendBuckets[w].width.Microseconds()
}

// Oldest returns the number of the oldest bucket that belongs to the window at the given
// time.
func (w TrendWindow) Oldest(at time.Time) int64 { return w.Bucket(at) - trendBuckets[w].n + 1 }

// TrendDelta is added to the score of a subject in a bucket of a window.
type TrendDelta struct {
	Subject Subject
	Window  TrendWindow
	Bucket  int64
	Score   int64
}

// TrendFold is what a part of the log of events changes in the trends.
type TrendFold struct {
	// Lease is that of the consumer. Its Position is where the part begins.
	Lease EventLease
	// Position is that of the last event of the part.
	Position int64
	// Removed are subjects that were deleted. They lose their scores before the deltas are
	// added.
	Removed []Subject
	Deltas  []TrendDelta
}

// Trends stores the scores of subjects. The score of a subject in a window is always the
// sum of what its stored buckets have.
type Trends interface {
	// FoldTrends applies a part of the log and saves the position of the consumer in the
	// same transaction, so that every event counts once. Errors: ErrLeaseLost if the
	// consumer has another holder or another position; nothing is changed then.
	FoldTrends(ctx context.Context, fold TrendFold) error
	// ExpireTrends removes up to limit buckets of each window that are older than the
	// window at the given time, and subtracts what they have from the scores. It returns
	// how many it removed; if it is less than limit, none is left. Errors: ErrLeaseLost.
	ExpireTrends(ctx context.Context, lease EventLease, at time.Time, limit int) (int, error)
}

// TrendingQuery lists the subjects of a tenant and a biz that have a positive score in a
// window, those with the highest first. Deleted subjects are left out. Position holds the
// score as its Version and the bizId as its ID.
type TrendingQuery struct {
	Tenant string
	Biz    string
	Window TrendWindow
	Page
}

// Trend is an entry of a list of trends.
type Trend struct {
	Subject Subject
	Score   int64
}
