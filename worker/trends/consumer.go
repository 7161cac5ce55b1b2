package trends

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ovation/storage"
	"ovation/storage/policy"
	"ovation/worker/events"
)

const (
	// consumer is the name under which the position in the log is saved.
	consumer = "trends"
	// expireRows is the maximum number of buckets of a window that one transaction
	// removes.
	expireRows = 2000
)

// Store is a database with a log of events.
type Store interface {
	storage.EventLog
	storage.Trends
}

// Options configure a consumer. Store is required.
type Options struct {
	Store Store
	// Policies configure the trends of each kind of content. Changed settings apply to the
	// events that are folded afterwards.
	Policies *policy.Handle
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Logger logs failures; slog.Default() if nil.
	Logger *slog.Logger
	// Registry registers the metrics. If it is nil, there are none.
	Registry prometheus.Registerer
}

// New returns a consumer that folds the log of events into trends, and expires buckets.
func New(opts Options) *events.Consumer {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return events.NewConsumer(events.ConsumerOptions{
		Name: consumer, Log: opts.Store, Handler: &folder{opts},
		Now: opts.Now, Logger: opts.Logger, Registry: opts.Registry,
	})
}

// folder is the handler of the consumer.
type folder struct{ opts Options }

var _ events.Maintainer = (*folder)(nil)

// Handle folds a page of events, and saves its position in the same transaction.
func (f *folder) Handle(ctx context.Context, lease storage.EventLease, page storage.EventPage) error {
	changes := fold(page.Events, f.opts.Policies.Trending, f.opts.Now())
	changes.Lease, changes.Position = lease, page.Next
	return f.opts.Store.FoldTrends(ctx, changes)
}

// Maintain removes buckets that have left their window, and reports whether more are left.
func (f *folder) Maintain(ctx context.Context, lease storage.EventLease) (more bool, err error) {
	n, err := f.opts.Store.ExpireTrends(ctx, lease, f.opts.Now(), expireRows)
	return n == expireRows, err
}
