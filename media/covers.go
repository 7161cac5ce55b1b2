package media

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"

	"ovation/storage"
	"ovation/worker"
)

const (
	// maxConcurrentCovers is the maximum number of covers that are made at the same time.
	maxConcurrentCovers = 2
	// retryTime is the delay after which a failed cover is due again;
	// retryTimeWithoutFFmpeg is the delay if ffmpeg is not installed.
	retryTime, retryTimeWithoutFFmpeg = 5 * time.Minute, time.Hour
	// retryPause is the pause between attempts while the database is unavailable.
	retryPause = 2 * time.Second
)

// CoverOptions configures a CoverMaker. Store and Blobs are required.
type CoverOptions struct {
	Store storage.Videos
	Blobs *Blobs
	Tool  FFmpeg
	// Logger logs failures. The default is slog.Default().
	Logger *slog.Logger
	// Registry registers the metrics. If it is nil, they are not registered.
	Registry prometheus.Registerer
}

// CoverMaker makes covers.
type CoverMaker struct {
	CoverOptions

	results    *prometheus.CounterVec
	logMissing sync.Once // logs once that ffmpeg is missing
}

// NewCoverMaker returns a CoverMaker.
func NewCoverMaker(o CoverOptions) *CoverMaker {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return &CoverMaker{CoverOptions: o, results: newCovers(o.Registry)}
}

// Run processes jobs from the queue until ctx ends or the queue is closed. If the
// connection to the queue is lost, Run starts to consume again. When ctx ends, jobs in
// progress are cancelled; the queue redelivers unsettled jobs.
func (m *CoverMaker) Run(ctx context.Context, from worker.Consumer) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 100*time.Millisecond, 5*time.Second
	for ctx.Err() == nil {
		deliveries, err := from.Consume(ctx)
		if err == nil {
			wait.Reset()
			var hands sync.WaitGroup
			for range maxConcurrentCovers {
				hands.Go(func() {
					for d := range deliveries {
						if m.settle(ctx, d); ctx.Err() != nil {
							return
						}
					}
				})
			}
			hands.Wait()
		}
		if errors.Is(err, worker.ErrClosed) {
			return
		}
		pause(ctx, wait.NextBackOff())
	}
}

func pause(ctx context.Context, length time.Duration) {
	select {
	case <-time.After(length):
	case <-ctx.Done():
	}
}

// settle processes a job, and settles it unless the context ends. If the delivery can
// no longer be settled, the job is redelivered.
func (m *CoverMaker) settle(ctx context.Context, d worker.Delivery) {
	key := d.Message().Cover
	if err := key.Validate(); err != nil {
		_ = d.Reject(err)
		return
	}
	err := m.make(ctx, key)
	log := m.Logger.With("tenant", key.Tenant, "video", key.Number)
	switch {
	case err == nil:
		_ = d.Ack()
		return
	case ctx.Err() != nil:
		return
	}
	failure := m.failure(err)
	tries, noted := m.Store.FailCover(ctx, key, failure)
	switch {
	case errors.Is(noted, storage.ErrNotFound): // the video is deleted, or has a cover by now
		_ = d.Ack()
	case noted != nil:
		log.Warn("the reason why a cover was not made cannot be stored; retrying", "reason", err, "error", noted)
		pause(ctx, retryPause)
		_ = d.Requeue()
	case failure.Counts && tries >= storage.MaxCoverTries:
		m.results.WithLabelValues("dead_lettered").Inc()
		log.Warn("cover dead-lettered", "tries", tries, "reason", err)
		_ = d.Reject(err)
	case failure.Counts:
		m.results.WithLabelValues("failed").Inc()
		log.Info("cover not made; retrying", "tries", tries, "reason", err)
		_ = d.Requeue()
	default: // due later
		m.results.WithLabelValues("failed").Inc()
		_ = d.Ack()
	}
}

// failure converts an error to its record: the reason, whether it counts as a try, and
// when the cover is due again.
func (m *CoverMaker) failure(err error) storage.CoverFailure {
	after := retryTime
	var fault *toolError
	switch {
	case errors.Is(err, ErrNoFFmpeg):
		after = retryTimeWithoutFFmpeg
		m.logMissing.Do(func() {
			m.Logger.Warn("ffmpeg is not installed: videos show generated covers", "looked_for", m.Tool.name())
		})
	case errors.As(err, &fault):
	default:
		m.Logger.Warn("cover not made; retrying later", "error", err)
	}
	return storage.CoverFailure{Reason: err.Error(), Counts: fault != nil, Due: storage.Micros(time.Now().Add(after))}
}

// make creates the cover of a video that has no cover. Errors: ErrNoFFmpeg, a *toolError,
// and errors from the stores.
func (m *CoverMaker) make(ctx context.Context, key storage.VideoKey) error {
	found, err := m.Store.VideosOf(ctx, []storage.VideoKey{key})
	if err != nil {
		return err
	}
	v := found[0]
	if v == nil || v.Covered {
		return nil
	}
	if err := m.Tool.check(); err != nil {
		return err
	}
	path, done, err := m.Blobs.local(ctx, v.FileKey())
	if err != nil {
		return err
	}
	defer done()
	picture, err := m.Tool.cover(ctx, path, v.Format)
	if err != nil {
		return err
	}
	if err := m.Blobs.write(ctx, v.CoverKey(), types["covers"]["jpg"], bytes.NewReader(picture)); err != nil {
		return err
	}
	there, err := m.Store.SetCover(ctx, key)
	if err == nil && !there { // deleted in the meantime
		return m.Blobs.remove(ctx, v.CoverKey())
	}
	if err == nil {
		m.results.WithLabelValues("made").Inc()
	}
	return err
}
