package media

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ovation/storage"
	"ovation/worker"
)

const (
	dueInterval   = time.Minute      // between two searches for due covers
	dueBatch      = 100              // covers requested per search
	firstSweep    = 10 * time.Minute // after the start
	sweepInterval = 6 * time.Hour    // between two sweeps
	// sweepAge is the minimum age of files that are swept. It exceeds the time that an
	// upload and the writing of its row may take.
	sweepAge   = 24 * time.Hour
	sweepBatch = 500
)

// JanitorStore is the part of a store that a Janitor uses.
type JanitorStore interface {
	storage.Videos
	NamedAvatars(ctx context.Context, files []string) ([]bool, error)
}

// JanitorOptions configures a Janitor. Store and Blobs are required.
type JanitorOptions struct {
	Store JanitorStore
	Blobs *Blobs
	// Covers receives jobs for covers. If it is nil, no covers are requested.
	Covers worker.Publisher
	// Age is the minimum age of files that are swept. The default is 24 h.
	Age time.Duration
	// Logger logs failures and sweeps. The default is slog.Default().
	Logger *slog.Logger
	// Registry registers the metrics. If it is nil, they are not registered.
	Registry prometheus.Registerer
}

// Janitor requests covers that are due and sweeps the blob store. Several Janitors may
// run on the same stores.
type Janitor struct {
	JanitorOptions

	swept prometheus.Counter
}

// NewJanitor returns a Janitor.
func NewJanitor(o JanitorOptions) *Janitor {
	o.Logger, o.Age = cmp.Or(o.Logger, slog.Default()), cmp.Or(o.Age, sweepAge)
	return &Janitor{JanitorOptions: o, swept: newSwept(o.Registry)}
}

// Run requests due covers and sweeps the blob store periodically until ctx ends.
func (j *Janitor) Run(ctx context.Context) {
	due, sweep := time.NewTicker(dueInterval), time.NewTimer(firstSweep)
	defer due.Stop()
	defer sweep.Stop()
	j.logFailure("due covers not requested; retrying", j.RequestDueCovers(ctx))
	for {
		select {
		case <-due.C:
			j.logFailure("due covers not requested; retrying", j.RequestDueCovers(ctx))
		case <-sweep.C:
			j.sweep(ctx)
			sweep.Reset(sweepInterval)
		case <-ctx.Done():
			return
		}
	}
}

func (j *Janitor) sweep(ctx context.Context) {
	n, err := j.Sweep(ctx)
	if n > 0 {
		j.Logger.Info("files without a video or a profile removed", "files", n)
	}
	j.logFailure("blob store not swept; retrying", err)
}

func (j *Janitor) logFailure(what string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		j.Logger.Warn(what, "error", err)
	}
}

// RequestDueCovers publishes jobs for covers that are due.
func (j *Janitor) RequestDueCovers(ctx context.Context) error {
	if j.Covers == nil {
		return nil
	}
	keys, err := j.Store.DueCovers(ctx, dueBatch)
	if err != nil {
		return err
	}
	errs := make([]error, len(keys))
	var asking sync.WaitGroup // with a local queue, Publish returns when the job is done
	for i, key := range keys {
		asking.Go(func() { errs[i] = publishCoverRequest(ctx, j.Covers, key) })
	}
	asking.Wait()
	return errors.Join(errs...)
}

// Sweep deletes files that are old enough and belong to no video or profile, and returns
// their number.
func (j *Janitor) Sweep(ctx context.Context) (removed int, err error) {
	before := time.Now().Add(-j.Age)
	for folder := range types {
		var keys []string
		for of, err := range j.Blobs.bucket.list(ctx, folder) {
			if err != nil {
				return removed, j.Blobs.failed("list "+folder, err)
			}
			if of.change.Before(before) {
				keys = append(keys, of.key)
			}
			if len(keys) < sweepBatch {
				continue
			}
			n, err := j.removeUnnamed(ctx, folder, keys)
			if removed += n; err != nil {
				return removed, err
			}
			keys = keys[:0]
		}
		n, err := j.removeUnnamed(ctx, folder, keys)
		if removed += n; err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// removeUnnamed deletes those of the given files that belong to no video or profile, and
// returns their number.
func (j *Janitor) removeUnnamed(ctx context.Context, folder string, keys []string) (int, error) {
	var names []string
	at := make([]int, len(keys)) // the places in names; -1 for what only an unfinished upload has left
	for i, key := range keys {
		stem, ending, _ := strings.Cut(strings.TrimPrefix(key, folder+"/"), ".")
		if at[i] = -1; types[folder][ending] != "" && storage.ValidateFile(stem) == nil {
			at[i] = len(names)
			names = append(names, stem)
		}
	}
	look := j.Store.NamedFiles
	if folder == "avatars" {
		look = j.Store.NamedAvatars
	}
	named, err := look(ctx, names)
	if err != nil {
		return 0, err
	}
	removed := 0
	for i, key := range keys {
		if at[i] >= 0 && named[at[i]] {
			continue
		}
		if err := j.Blobs.remove(ctx, key); err != nil {
			return removed, err
		}
		j.swept.Inc()
		removed++
	}
	return removed, nil
}
