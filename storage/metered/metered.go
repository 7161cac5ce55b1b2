package metered

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"ovation/storage"
	"ovation/storage/calls"
)

// Store is a storage.Store that measures another storage.Store.
type Store struct {
	*calls.Store

	seconds *prometheus.HistogramVec
	errors  *prometheus.CounterVec
	replies *prometheus.CounterVec
}

// New returns a Store that passes every call to the given store. It registers three
// metrics with reg: ovation_storage_seconds and ovation_storage_errors_total, both by
// method, and ovation_replies_total, by freshness.
func New(next storage.Store, reg prometheus.Registerer) *Store {
	factory := promauto.With(reg)
	s := &Store{
		seconds: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ovation_storage_seconds",
			Help:    "Time that a call of the store took, in seconds, by method.",
			Buckets: prometheus.ExponentialBuckets(0.000_05, 2.5, 13), // 50 µs to 3 s
		}, []string{"method"}),
		errors: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "ovation_storage_errors_total",
			Help: "Calls of the store that found it unavailable or at fault, by method.",
		}, []string{"method"}),
		replies: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "ovation_replies_total",
			Help: "Subjects whose counts were looked up, by freshness of the reply (LIVE, STALE, UNAVAILABLE).",
		}, []string{"freshness"}),
	}
	s.Store = calls.New(next, s.measure)
	return s
}

// Interactives implements storage.Reader. It also counts the replies by freshness.
func (s *Store) Interactives(
	ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds,
) ([]storage.Interactive, error) {
	out, err := s.Store.Interactives(ctx, viewer, subjects, kinds)
	for from, to := 0, 0; from < len(out); from = to {
		for to < len(out) && out[to].Freshness == out[from].Freshness {
			to++
		}
		s.replies.WithLabelValues(string(out[from].Freshness)).Add(float64(to - from))
	}
	return out, err
}

// measure measures a call, except for scans, which take minutes, and calls that answer no
// request.
func (s *Store) measure(ctx context.Context, call calls.Call, do func(context.Context) error) error {
	if call.Class == calls.Scan || call.Class == calls.Other {
		return do(ctx)
	}
	begin := time.Now()
	err := do(ctx)
	s.seconds.WithLabelValues(call.Method).Observe(time.Since(begin).Seconds())
	if err != nil && !expected(err) {
		s.errors.WithLabelValues(call.Method).Inc()
	}
	return err
}

// expected reports whether an error is an answer to the caller, not a fault.
func expected(err error) bool {
	for _, answer := range []error{
		storage.ErrInvalid, storage.ErrNotFound, storage.ErrNameTaken, storage.ErrAccountNameTaken, storage.ErrTooManyFolders,
		storage.ErrDefaultFolder, storage.ErrFolderNotEmpty, context.Canceled,
	} {
		if errors.Is(err, answer) {
			return true
		}
	}
	return false
}
