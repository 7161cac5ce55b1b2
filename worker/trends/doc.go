// Package trends computes which subjects are interacted with most. A Consumer folds the log
// of events into the scores of the subjects, in buckets of time, and subtracts the buckets
// that have left their window.
//
// # Invariants
//
//   - The score of a subject in a window is the weighted sum of the events of the window's
//     buckets, whenever and however often the consumer is restarted:
//     TestTrendsEqualARecount.
//   - Of several processes, one at a time folds events, and each event counts once:
//     TestTwoConsumersCountOnce, and EventsAreFoldedOnce in storage/storagetest.
//   - The memory of a consumer is bounded by the events of one page, however many subjects
//     there are.
//
// This package imports storage and worker/events.
package trends
