package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"ovation/internal/testing/await"
	"ovation/storage"
	"ovation/worker"
)

// publishVideo publishes a video of alice in the store.
func publishVideo(t *testing.T, store storage.Videos) *storage.Video {
	t.Helper()
	out, _, err := store.PublishVideo(t.Context(), storage.NewVideo{
		Author: alice, Title: "film", File: "0123456789abcdef", Format: storage.MP4, Bytes: 1, Digest: "1",
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out.Video
}

func TestSweeperClearsWhatRefersToDeletedSubjects(t *testing.T) {
	store, queue, mirror := startLocal(t)
	recorder := newRecorder(t, queue, mirror, worker.RecorderOptions{})
	v := publishVideo(t, store)
	subject := v.Key().Subject()
	for _, a := range []storage.Action{react(alice, subject, storage.Like), collect(alice, subject, storage.DefaultFolderID)} {
		if _, err := recorder.Record(t.Context(), a, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.AddComments(t.Context(), []storage.NewComment{{Subject: subject, User: alice, Text: "text"}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.DeleteVideo(t.Context(), storage.VideoDeletion{Key: v.Key(), By: alice}, nil); err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	queued := func(n int) func() bool {
		text := fmt.Sprintf("# HELP ovation_sweep_queue_subjects Deleted videos and comments that wait for a sweep of what refers to them, at the latest sweep; 10000 if there are more.\n"+
			"# TYPE ovation_sweep_queue_subjects gauge\novation_sweep_queue_subjects %d\n", n)
		return func() bool {
			return testutil.GatherAndCompare(registry, strings.NewReader(text), "ovation_sweep_queue_subjects") == nil
		}
	}
	var changed atomic.Value
	sweeper := worker.NewSweeper(worker.SweeperOptions{Store: store, Changed: func(s []storage.Subject) { changed.Store(s[0]) }, Logger: quiet, Metrics: worker.NewMetrics(registry, worker.Works)})
	if _, err := sweeper.Sweep(t.Context()); err != nil || !queued(1)() {
		t.Errorf("the first sweep: got the error %v, or the metric is not 1", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); sweeper.Run(ctx) }()
	await.That(t, "alice has no totals", func() bool {
		totals, err := store.TotalsOf(t.Context(), []storage.User{alice})
		return err == nil && totals[0] == storage.UserTotals{}
	})
	await.That(t, "the queue is empty", queued(0))
	stop()
	<-ended
	if changed.Load() != subject {
		t.Errorf("Changed was called with %v, want %v", changed.Load(), subject)
	}
}

func TestActionsOnDeletedSubjectsAreRefused(t *testing.T) {
	store, queue, mirror := startLocal(t)
	recorder := newRecorder(t, queue, mirror, worker.RecorderOptions{})
	v := publishVideo(t, store)
	subject := v.Key().Subject()
	if _, err := recorder.Record(t.Context(), react(alice, subject, storage.Like), nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.DeleteVideo(t.Context(), storage.VideoDeletion{Key: v.Key(), By: alice}, nil); err != nil {
		t.Fatal(err)
	}
	for _, a := range []storage.Action{react(alice, subject, storage.Like), collect(alice, subject, storage.DefaultFolderID), follow(alice, subject)} {
		if _, err := recorder.Record(t.Context(), a, nil); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("Record of %+v on a deleted subject: got the error %v, want storage.ErrNotFound", a, err)
		}
	}
	if got, err := recorder.Record(t.Context(), unreact(alice, subject, storage.Like), nil); err != nil || !got.Changed {
		t.Errorf("Record of an unlike: got %+v, %v, want that it changes the state", got, err)
	}
}
