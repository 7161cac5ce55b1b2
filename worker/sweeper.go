package worker

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"ovation/internal/outage"
	"ovation/storage"
)

const (
	sweepInterval = time.Second // between two looks at an empty queue
	// sweepBatch is the maximum number of states of each kind, and of comments, in one
	// transaction, which locks their rows and the totals of their users. At most a tenth
	// of them refers to one subject while more than ten are queued.
	sweepBatch = 200
)

// SweeperOptions configure a Sweeper. Store is required. If there is a mirror, the store
// must update it.
type SweeperOptions struct {
	Store storage.Deletions
	// Changed is called with the subjects whose comments have changed, after the commit.
	// It may be nil.
	Changed func(subjects []storage.Subject)
	// Logger logs failures; slog.Default() if nil.
	Logger  *slog.Logger
	Metrics *Metrics
}

// Sweeper clears what refers to deleted subjects. Several processes may run one.
type Sweeper struct {
	opts   SweeperOptions
	failed *outage.Log
}

// NewSweeper returns a Sweeper.
func NewSweeper(opts SweeperOptions) *Sweeper {
	opts.Logger, opts.Metrics = cmp.Or(opts.Logger, slog.Default()), cmp.Or(opts.Metrics, noMetrics)
	return &Sweeper{opts, outage.New(opts.Logger, "deleted subjects not swept; retrying", "deleted subjects are swept again")}
}

// Run sweeps until the context ends. After each transaction it pauses for as long as the
// transaction took, so that a large sweep takes at most half of one connection's time.
func (s *Sweeper) Run(ctx context.Context) {
	inShares(ctx, sweepInterval, s.failed, func() (more bool, err error) {
		swept, err := s.Sweep(ctx)
		return swept.Subjects > 0, err
	})
}

// inShares calls step until the context ends. If there is more to do, it pauses for as long
// as the call took, and otherwise, or after an error, for the interval, which is also the
// longest pause.
func inShares(ctx context.Context, interval time.Duration, failed *outage.Log, step func() (more bool, err error)) {
	for ctx.Err() == nil {
		began := time.Now()
		more, err := step()
		pause := min(time.Since(began), interval)
		if err != nil || !more {
			pause = interval
		}
		switch {
		case err == nil:
			failed.Worked()
		case ctx.Err() == nil:
			failed.Failed("error", err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// Sweep runs one transaction of the sweep. Errors: those of storage.Deletions.
func (s *Sweeper) Sweep(ctx context.Context) (storage.Swept, error) {
	swept, _, err := s.opts.Store.SweepDeleted(ctx, sweepBatch, nil)
	if err == nil {
		s.opts.Metrics.sweepQueue.Set(float64(swept.Queued))
	}
	if len(swept.Commented) > 0 && s.opts.Changed != nil {
		s.opts.Changed(swept.Commented)
	}
	return swept, err
}
