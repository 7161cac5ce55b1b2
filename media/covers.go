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

	"ovation/api/rate"
	"ovation/storage"
	"ovation/worker"
)

const (
	// maxConcurrentCovers is the maximum number of covers that are made at the same time.
	maxConcurrentCovers = 2
	// retryTime is the delay after which a failed cover is due again;
	// retryTimeWithoutFFmpeg is the delay if ffmpeg is not installed.
	retryTime, retryTimeWithoutFFmpeg = 5 * time.Minute, time.Hour
	// The time that the covers of one author may take: coverBurst at once, then a second
	// in every ten. That is 5 % of the time of all covers. It is counted in coverUnits.
	coverBurst, coverUnit, coverEvery = 30 * time.Second, 100 * time.Millisecond, time.Second
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
	authors    *rate.Attempts // the time that their covers may take
	logMissing sync.Once      // logs once that ffmpeg is missing
}

// NewCoverMaker returns a CoverMaker.
func NewCoverMaker(o CoverOptions) *CoverMaker {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return &CoverMaker{CoverOptions: o, results: newCovers(o.Registry), authors: rate.NewAttempts(int(coverBurst/coverUnit), coverEvery)}
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
	err := m.process(ctx, d)
	dead, isDead := errors.AsType[*deadError](err)
	switch {
	case err == nil:
		_ = d.Ack()
	case ctx.Err() != nil:
	case isDead && d.Redelivered(): // by a worker that could not reject it any more
		_ = d.Reject(dead)
	case isDead: // another job is among the dead letters
		_ = d.Ack()
	default:
		m.fail(ctx, d, err)
	}
}

// fail records why a cover was not made, and settles the job.
func (m *CoverMaker) fail(ctx context.Context, d worker.Delivery, err error) {
	key, failure := d.Message().Cover, m.failure(err)
	log := m.Logger.With("tenant", key.Tenant, "video", key.Number)
	tries, noted := m.Store.FailCover(ctx, key, failure)
	result := "failed"
	if _, deferred := errors.AsType[*LimitedError](err); deferred {
		result = "deferred"
	}
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
		m.results.WithLabelValues(result).Inc()
		log.Info("cover not made; retrying", "tries", tries, "reason", err)
		_ = d.Requeue()
	default: // due later
		m.results.WithLabelValues(result).Inc()
		_ = d.Ack()
	}
}

// deadError is the reason why a cover was dead-lettered before.
type deadError struct{ reason string }

func (e *deadError) Error() string { return e.reason }

// process makes the cover of a job's video, unless the video has a cover, is deleted, or
// its author's covers have taken too much time. An operator may force it. Errors:
// *deadError, *LimitedError, and those of make.
func (m *CoverMaker) process(ctx context.Context, d worker.Delivery) error {
	key := d.Message().Cover
	found, err := m.Store.VideosOf(ctx, []storage.VideoKey{key})
	if err != nil {
		return err
	}
	v := found[0]
	if v == nil || v.Covered {
		return nil
	}
	author := publisher(v.Author)
	if !d.Message().Forced {
		reason, dead, err := m.Store.CoverReason(ctx, key)
		if err != nil {
			return err
		}
		if dead {
			return &deadError{reason}
		}
		if wait := m.authors.Take(author); wait > 0 {
			return &LimitedError{wait}
		}
	}
	begin := time.Now()
	defer func() { m.authors.Charge(author, int(time.Since(begin)/coverUnit)) }()
	return m.make(ctx, v)
}

// failure converts an error to its record: the reason, whether it counts as a try, and
// when the cover is due again.
func (m *CoverMaker) failure(err error) storage.CoverFailure {
	after := retryTime
	reason := err.Error()
	var fault *toolError
	limited, isLimited := errors.AsType[*LimitedError](err)
	switch {
	case isLimited:
		after, reason = limited.Wait, "the covers of this author have taken too much time; it is made later"
	case errors.Is(err, ErrNoFFmpeg):
		after = retryTimeWithoutFFmpeg
		m.logMissing.Do(func() {
			m.Logger.Warn("ffmpeg is not installed: videos show generated covers", "looked_for", m.Tool.name())
		})
	case errors.As(err, &fault):
	default:
		m.Logger.Warn("cover not made; retrying later", "error", err)
	}
	return storage.CoverFailure{Reason: reason, Counts: fault != nil, Due: storage.Micros(time.Now().Add(after))}
}

// make creates the cover of a video. Errors: ErrNoFFmpeg, errNotStarted, a *toolError, and errors from
// the stores.
func (m *CoverMaker) make(ctx context.Context, v *storage.Video) error {
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
	there, err := m.Store.SetCover(ctx, v.Key())
	if err == nil && !there { // deleted in the meantime
		return m.Blobs.remove(ctx, v.CoverKey())
	}
	if err == nil {
		m.results.WithLabelValues("made").Inc()
	}
	return err
}
