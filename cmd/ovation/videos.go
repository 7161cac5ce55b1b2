package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"ovation/api/douyin"
	"ovation/media"
	"ovation/resolvers"
	"ovation/storage"
	"ovation/worker"
	"ovation/worker/amqp"
	"ovation/worker/local"
)

// blobFlag holds the URL of the store for video files.
type blobFlag struct {
	BlobURL string `help:"Where the files of videos are stored: file:///folder, or s3://bucket?region=REGION with credentials from the usual AWS sources." name:"blob-url" placeholder:"URL" env:"OVATION_BLOB_URL"`
}

// videoFlags holds the flags of a site that publishes videos.
type videoFlags struct {
	blobFlag `embed:""`

	PublishesPerUser int `default:"30" help:"Videos that one user may publish per hour through one node; 0 means no limit." type:"units" env:"OVATION_PUBLISHES_PER_USER"`
	MaxUpload        int `default:"512" help:"Maximum size of an uploaded video, in MiB." type:"mebibytes" env:"OVATION_MAX_UPLOAD"`
}

const blobFlagNames = "--blob-url or OVATION_BLOB_URL"

func (f blobFlag) openBlobs(ctx context.Context, store storage.Store) (*media.Blobs, error) {
	blobs, err := media.OpenBlobs(ctx, f.BlobURL, store)
	return blobs, withFlag(blobFlagNames, err)
}

// videoSite holds the components of a site that publishes videos. The zero value stands
// for a site without videos.
type videoSite struct {
	blobs   *media.Blobs
	service *media.Service
	ends    []func() error // functions that close the components, in the order in which close calls them
}

// install adds the videos to cfg, unless the site has none.
func (v *videoSite) install(cfg *resolvers.Config) {
	if v.service == nil {
		return
	}
	cfg.Videos, cfg.Uploads, cfg.Avatars, cfg.Files = v.service, v.service.Uploads(), v.service.Avatars(), media.Files(v.blobs, cfg.Logger)
}

// close closes the components. Call close when no request is in progress.
func (v *videoSite) close() (err error) {
	for _, end := range v.ends {
		err = errors.Join(err, end())
	}
	v.ends = nil
	return err
}

// openVideos returns the components that an API node needs for videos. Jobs for covers
// are published through the parameter covers, which may be nil. The parameter accounts
// states whether the site has accounts, whose avatars can be uploaded.
func (f videoFlags) openVideos(ctx context.Context, store storage.Store, accounts bool, covers worker.Publisher, log *slog.Logger, registry prometheus.Registerer) (*videoSite, error) {
	blobs, err := f.openBlobs(ctx, store)
	if err != nil {
		return nil, err
	}
	cfg := media.Config{
		Store: store, Blobs: blobs, Covers: covers, MaxBytes: int64(f.MaxUpload) << 20, PublishesPerUser: f.PublishesPerUser, Logger: log, Registry: registry,
	}
	if accounts {
		cfg.Accounts = store
	}
	service := media.New(cfg)
	return &videoSite{blobs: blobs, service: service, ends: []func() error{
		func() error { service.Close(); blobs.Close(); return nil },
	}}, nil
}

// openVideosAlone is like openVideos, but for a single process, which also makes the
// covers and sweeps the blob store.
func (f videoFlags) openVideosAlone(ctx context.Context, store storage.Store, accounts bool, log *slog.Logger, registry prometheus.Registerer) (*videoSite, error) {
	queue := local.NewQueue(local.Options{})
	v, err := f.openVideos(ctx, store, accounts, queue, log, registry)
	if err != nil {
		return nil, errors.Join(err, queue.Close())
	}
	stop := workOnVideos(ctx, store, v.blobs, queue, log, registry)
	v.ends = append([]func() error{stop, queue.Close}, v.ends...)
	return v, nil
}

// coverQueue is a queue of jobs for covers.
type coverQueue interface {
	worker.Publisher
	worker.Consumer
}

// workOnVideos makes covers and sweeps the blob store until the returned function is
// called.
func workOnVideos(ctx context.Context, store media.JanitorStore, blobs *media.Blobs, queue coverQueue, log *slog.Logger, registry prometheus.Registerer) (stop func() error) {
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	maker := media.NewCoverMaker(media.CoverOptions{Store: store, Blobs: blobs, Logger: log, Registry: registry})
	janitor := media.NewJanitor(media.JanitorOptions{Store: store, Blobs: blobs, Covers: queue, Logger: log, Registry: registry})
	var run sync.WaitGroup
	run.Go(func() { maker.Run(running, queue) })
	run.Go(func() { janitor.Run(running) })
	return func() error {
		end()
		run.Wait()
		return nil
	}
}

// coversName is the name, without the prefix, of the queue of jobs for covers.
const coversName = "covers"

// coverOptions returns o, adapted to the queue of jobs for covers: with the name, the
// number of partitions and the prefetch limit that this queue has.
func coverOptions(o amqp.Options) amqp.Options {
	o.Name, o.Partitions, o.Prefetch = coversName, 1, 4
	return o
}

// openCovers opens the queue of jobs for covers in RabbitMQ.
func (f servicesFlags) openCovers(ctx context.Context, log *slog.Logger) (*amqp.Queue, error) {
	queue, err := amqp.Open(ctx, coverOptions(f.options(f.Prefix, log)))
	return queue, withFlag(queueFlagNames, err)
}

// startVideos starts the components that a node needs for videos, if videos are enabled.
func (c *serveCommand) startVideos(p *program, behind *process, store storage.Store) (*videoSite, error) {
	if !c.Videos {
		return new(videoSite), nil
	}
	queue, err := c.openCovers(p.ctx, behind.log)
	if err != nil {
		return nil, err
	}
	v, err := c.openVideos(p.ctx, store, c.Accounts, queue, behind.log, behind.registry)
	if err != nil {
		return nil, errors.Join(err, queue.Close())
	}
	v.ends = append(v.ends, queue.Close)
	return v, nil
}

// startVideos starts the components that a single process needs for videos, if videos are
// enabled.
func (c *devCommand) startVideos(ctx context.Context, store storage.Store, log *slog.Logger, registry prometheus.Registerer) (*videoSite, error) {
	if !c.Videos {
		return new(videoSite), nil
	}
	flags := c.videoFlags
	if flags.BlobURL == "" {
		var err error
		if flags.BlobURL, err = media.FolderURL(c.file(mediaFolder)); err != nil {
			return nil, err
		}
	}
	return flags.openVideosAlone(ctx, store, c.Accounts, log, registry)
}

// mediaFolder is the name of the folder for video files in the data folder.
const mediaFolder = "media"

// startVideos makes covers and sweeps the blob store, if one is configured, until the
// returned function is called.
func (c *workCommand) startVideos(p *program, behind *process, store storage.Store) (stop func() error, err error) {
	if c.BlobURL == "" {
		return func() error { return nil }, nil
	}
	blobs, err := c.openBlobs(p.ctx, store)
	if err != nil {
		return nil, err
	}
	queue, err := c.openCovers(p.ctx, behind.log)
	if err != nil {
		blobs.Close()
		return nil, err
	}
	end := workOnVideos(p.ctx, store, blobs, queue, behind.log, behind.registry)
	return func() error {
		defer blobs.Close()
		return errors.Join(end(), queue.Close())
	}, nil
}

// exemptUploads exempts file uploads and downloads from the server's timeouts, within the
// limits that media.WithMinRate sets.
func exemptUploads(next http.Handler) http.Handler {
	steady := media.WithMinRate(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, storage.MediaPath) || douyin.IsUpload(r) {
			steady.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}
