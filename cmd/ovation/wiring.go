package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ovation/live"
	"ovation/storage"
	"ovation/storage/metered"
	"ovation/worker"
	"ovation/worker/local"
)

// backends holds the components behind the API: the store, the queue, and the worker that
// persists queued actions in the store.
type backends struct {
	store      storage.Store
	recorder   *worker.Recorder
	folders    *worker.Folders
	histories  *worker.Histories
	comments   *worker.Comments
	authors    *worker.Authors
	batches    *worker.ActionBatches
	messages   *worker.Messages
	live       *live.Hub
	commentHub *live.Hub
	messageHub *live.Hub

	worker     *worker.Worker
	queue      *local.Queue
	stopWorker context.CancelFunc
	stopped    chan struct{} // closed when the worker has stopped
	failed     error         // why the worker failed; valid once stopped is closed
}

// startEmbedded starts the embedded mode, which needs no services: the worker and the
// queue run in this process. startEmbedded takes ownership of store, which backends.stop
// closes.
func startEmbedded(store storage.Store, log *slog.Logger, registry prometheus.Registerer) *backends {
	hub := live.New(store, live.Options{Logger: log, Metrics: live.NewMetrics(registry)})
	commentHub := live.New(live.CommentVersions(store), commentHubOptions(log))
	messageHub := live.New(live.MessageVersions(store), messageHubOptions(log))
	store = live.Notifying(metered.New(store, registry), hub.Changed, hub.ChangedAll)
	metrics := worker.NewMetrics(registry, worker.Records|worker.Works)
	queue := local.NewQueue(local.Options{})
	mirror := local.Mirror{Reader: store}
	w := worker.New(queue, store, mirror, worker.Options{
		// Retrying on a local file is cheap, and an outage should not outlast its cause.
		MaxBackoff: time.Second,
		Logger:     log, Metrics: metrics,
	})
	ctx, stop := context.WithCancel(context.Background())
	b := &backends{
		store:      store,
		recorder:   worker.NewRecorder(queue, mirror, worker.RecorderOptions{Logger: log, Metrics: metrics}),
		folders:    worker.NewFolders(store, time.Now),
		histories:  worker.NewHistories(store, time.Now),
		comments:   worker.NewComments(store, worker.CommentsOptions{Changed: commentHub.Changed, Logger: log, Metrics: metrics}),
		authors:    worker.NewAuthors(store, log),
		batches:    worker.NewActionBatches(store, mirror, worker.ActionBatchesOptions{Logger: log, Metrics: metrics}),
		messages:   worker.NewMessages(store, worker.MessagesOptions{Changed: messageHub.Changed, Logger: log, Metrics: metrics}),
		live:       hub,
		commentHub: commentHub,
		messageHub: messageHub,
		worker:     w,
		queue:      queue,
		stopWorker: stop,
		stopped:    make(chan struct{}),
	}
	sweeper := worker.NewSweeper(worker.SweeperOptions{Store: store, Changed: commentHub.Changed, Logger: log, Metrics: metrics})
	go func() {
		defer close(b.stopped)
		var sweeping sync.WaitGroup
		sweeping.Go(func() { sweeper.Run(ctx) })
		sweeping.Go(func() { worker.NewIndexer(store, log).Run(ctx) })
		b.failed = w.Run(ctx)
		sweeping.Wait()
	}()
	return b
}

// messageHubOptions returns the options of a hub of messages. Events about messages are
// delayed for less time than those about counts: a new message does not replace earlier
// messages, and each user receives few messages.
func messageHubOptions(log *slog.Logger) live.Options {
	return live.Options{Gap: 10 * time.Millisecond, Logger: log.With("hub", "messages")}
}

// commentHubOptions returns the options of a hub of comments. The hubs of comments and
// messages add the attribute hub to their log lines; the hub of counts does not.
func commentHubOptions(log *slog.Logger) live.Options {
	return live.Options{Logger: log.With("hub", "comments")}
}

// ready returns an error while nothing can be written, for example because the
// disk is full. Reads still work.
func (b *backends) ready(ctx context.Context) error {
	if b.worker.Failing() != nil {
		return errors.New("actions cannot be persisted at the moment; the log has the reason")
	}
	if b.store.Ping(ctx) != nil {
		return errors.New("the store does not answer")
	}
	return nil
}

// stop stops the components in stages. It rejects new writes and finishes the accepted
// writes, then stops the worker, and finally closes the hubs, the queue and the store.
// Call stop when no request is in progress.
func (b *backends) stop(ctx context.Context) error {
	flushed := errors.Join(b.recorder.Close(ctx), b.comments.Close(ctx), b.messages.Close(ctx), b.authors.Close(ctx), b.batches.Close(ctx))
	if flushed != nil {
		flushed = fmt.Errorf("flush the accepted actions: %w", flushed)
	}
	b.stopWorker()
	<-b.stopped
	b.live.Close()
	b.commentHub.Close()
	b.messageHub.Close()
	return errors.Join(flushed, b.failed, b.queue.Close(), b.store.Close())
}
