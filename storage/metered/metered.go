package metered

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"ovation/storage"
)

// Store is a storage.Store that measures another storage.Store.
type Store struct {
	storage.Store

	seconds *prometheus.HistogramVec
	errors  *prometheus.CounterVec
	replies *prometheus.CounterVec
}

// New returns a Store that passes every call to the given store. It registers three
// metrics with reg: ovation_storage_seconds and ovation_storage_errors_total, both by
// method, and ovation_replies_total, by freshness.
func New(next storage.Store, reg prometheus.Registerer) *Store {
	factory := promauto.With(reg)
	return &Store{
		Store: next,
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
}

// measure records a call that ends now and began at begin. Each method defers a call to
// measure.
func (s *Store) measure(method string, begin time.Time, err *error) {
	s.seconds.WithLabelValues(method).Observe(time.Since(begin).Seconds())
	if *err != nil && !expected(*err) {
		s.errors.WithLabelValues(method).Inc()
	}
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
