package media

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

func newUploads(registry prometheus.Registerer) *prometheus.CounterVec {
	return promauto.With(registry).NewCounterVec(prometheus.CounterOpts{
		Name: "ovation_uploads_total",
		Help: "Uploads of videos, by result: published, or the code of the error.",
	}, []string{"result"})
}

func newAvatars(registry prometheus.Registerer) *prometheus.CounterVec {
	return promauto.With(registry).NewCounterVec(prometheus.CounterOpts{
		Name: "ovation_avatars_total",
		Help: "Uploads of pictures for profiles, by result: stored, or the code of the error.",
	}, []string{"result"})
}

func newCovers(registry prometheus.Registerer) *prometheus.CounterVec {
	return promauto.With(registry).NewCounterVec(prometheus.CounterOpts{
		Name: "ovation_covers_total",
		Help: "Jobs for covers of videos, by result: made, failed (will be retried), deferred (the author's covers have taken too much time) or dead_lettered.",
	}, []string{"result"})
}

func newSwept(registry prometheus.Registerer) prometheus.Counter {
	return promauto.With(registry).NewCounter(prometheus.CounterOpts{
		Name: "ovation_blobs_swept_total",
		Help: "Files removed from the blob store because no video or profile names them.",
	})
}
