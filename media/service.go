package media

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"ovation/api/quota"
	"ovation/api/rate"
	"ovation/storage"
	"ovation/worker"
)

const (
	// DefaultMaxBytes is the default maximum size of a video, in bytes.
	DefaultMaxBytes = 512 << 20
	// The maximum numbers of concurrent uploads: in total, by one user, and by one address
	// or, for IPv6, one /48.
	maxUploads, maxUploadsOfUser, maxUploadsOfAddress = 32, 2, 4
	// The maximum numbers of concurrent uploads whose user is not known yet: in total, and
	// by one address or /64.
	maxAnonymousUploads, maxAnonymousUploadsOfAddress = 8, 2
	// writeTime bounds the work that follows an upload. The client may have
	// disconnected by then.
	writeTime = 10 * time.Second
	// maxCoverRequests and maxCoverRequestsOfUser are the maximum numbers of cover jobs
	// that are published at the same time: in total, and for one author. Further covers
	// are requested when they are due.
	maxCoverRequests, maxCoverRequestsOfUser = 256, 12
)

// Upload errors that are reported to the client.
var (
	ErrTooLarge = errors.New("the file is too large")
	ErrBusy     = errors.New("too many uploads are in progress")
)

// LimitedError is returned if a user has published too many videos, or uploaded too many
// pictures, within an hour.
type LimitedError struct {
	Wait time.Duration // until the next file may be uploaded, or the cover of a video be made
}

func (e *LimitedError) Error() string { return "too many files have been uploaded" }

// errNoVideo is returned for files that are not videos in a supported format.
var errNoVideo = &storage.InvalidError{Field: "file", Reason: "is not a video in MP4, WebM or QuickTime, by its bytes"}

// Config configures a Service. Store and Blobs are required.
type Config struct {
	Store storage.Videos
	Blobs *Blobs
	// Accounts keeps the avatars of users. If it is nil, the site has no accounts.
	Accounts Accounts
	// Covers receives jobs for covers. If it is nil, no covers are made.
	Covers worker.Publisher
	// MaxBytes is the maximum size of a video, in bytes. The default is DefaultMaxBytes.
	MaxBytes int64
	// PublishesPerUser is the number of videos that a user may publish per hour, and at
	// once after an hour without any. If it is 0, there is no limit.
	PublishesPerUser int
	// Logger logs failures. The default is slog.Default().
	Logger *slog.Logger
	// Registry registers the metrics. If it is nil, they are not registered.
	Registry prometheus.Registerer
}

// Service publishes and deletes videos, and stores the pictures of profiles. It is safe
// for concurrent use.
type Service struct {
	Config

	uploads       *prometheus.CounterVec
	avatars       *prometheus.CounterVec
	coverRequests sync.WaitGroup
	stop          context.CancelFunc
	running       context.Context //nolint:containedctx // ended by Close
	uploadPlaces  places
	coverPlaces   places
	publishes     *rate.Attempts // of users
	pictures      *rate.Attempts // of users
	decodings     chan struct{}  // one element for each picture that is being decoded
}

// New returns a Service. Call Close when it is no longer needed.
func New(cfg Config) *Service {
	cfg.Logger, cfg.MaxBytes = cmp.Or(cfg.Logger, slog.Default()), cmp.Or(cfg.MaxBytes, DefaultMaxBytes)
	s := &Service{
		Config:  cfg,
		uploads: newUploads(cfg.Registry), avatars: newAvatars(cfg.Registry),
		pictures: newPictures(), decodings: make(chan struct{}, maxDecodings),
		uploadPlaces: newPlaces(quota.Shares{
			Total: maxUploads, User: maxUploadsOfUser, Visitors: maxAnonymousUploadsOfAddress,
			Address: maxUploadsOfAddress, Anonymous: maxAnonymousUploads,
		}),
		coverPlaces: newPlaces(quota.Shares{Total: maxCoverRequests, User: maxCoverRequestsOfUser}),
	}
	if cfg.PublishesPerUser > 0 {
		s.publishes = rate.NewAttempts(cfg.PublishesPerUser, time.Hour/time.Duration(cfg.PublishesPerUser))
	}
	s.running, s.stop = context.WithCancel(context.Background())
	return s
}

// Close cancels the publishing of cover jobs; the Janitor requests those covers later.
// Close may be called twice.
func (s *Service) Close() {
	s.stop()
	s.coverRequests.Wait()
}

// Flush waits until all cover jobs are published. With a local queue, the jobs are then
// done.
func (s *Service) Flush() { s.coverRequests.Wait() }

// File is a file in the blob store that belongs to no video yet.
type File struct {
	name   string
	format storage.VideoFormat
	bytes  int64
	digest string
}

func (f *File) key() string {
	return (&storage.Video{File: f.name, Format: f.format}).FileKey()
}

// StoreFile writes a whole file to the blob store, or nothing. Errors: storage.ErrInvalid
// if the file is not a video; ErrTooLarge; storage.ErrUnavailable; and any error from
// reading the file.
func (s *Service) StoreFile(ctx context.Context, from io.Reader) (*File, error) {
	head, source := make([]byte, headBytes), &sourceReader{Reader: from}
	n, err := io.ReadFull(source, head)
	if source.err != nil {
		return nil, source.err
	}
	f := &File{name: strings.ToLower(rand.Text()), format: detectFormat(head[:n])}
	if f.format == 0 {
		return nil, errNoVideo
	}
	m := &hashingReader{Reader: bytes.NewReader(head[:n]), maxBytes: s.MaxBytes, hash: sha256.New()}
	if err == nil { // the head is complete: more may follow
		m.Reader = io.MultiReader(m.Reader, from)
	}
	if err := s.Blobs.write(ctx, f.key(), types["videos"][f.format.Extension()], m); err != nil {
		return nil, err
	}
	f.bytes, f.digest = m.bytes, hex.EncodeToString(m.hash.Sum(nil))
	return f, nil
}

// hashingReader limits the bytes that are read, and counts and hashes them.
type hashingReader struct {
	io.Reader

	maxBytes, bytes int64
	hash            hash.Hash
}

func (m *hashingReader) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	m.bytes += int64(n)
	_, _ = m.hash.Write(p[:n]) // never fails
	if m.bytes > m.maxBytes {
		return n, ErrTooLarge
	}
	return n, err
}

// Discard deletes a file that will not be published.
func (s *Service) Discard(ctx context.Context, f *File) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	if err := s.Blobs.remove(ctx, f.key()); err != nil {
		s.Logger.Debug("file not removed; it is swept later", "file", f.key(), "error", err)
	}
}

// Publish publishes a file and requests its cover. If the video is invalid, or if
// requestID repeats an earlier upload, Publish discards the file. Publish continues even
// if ctx is cancelled. Errors: storage.ErrInvalid; *LimitedError if the author has no
// publish left, in which case the file is discarded, too; storage.ErrUnavailable, in which
// case the video may or may not be published.
func (s *Service) Publish(ctx context.Context, author storage.User, title, requestID string, f *File) (*storage.Video, error) {
	key := publisher(author)
	if wait := s.publishes.Take(key); wait > 0 {
		s.Discard(ctx, f)
		return nil, &LimitedError{wait}
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	out, _, err := s.Store.PublishVideo(within, storage.NewVideo{
		Author: author, Title: title, File: f.name, Format: f.format, Bytes: f.bytes, Digest: f.digest, RequestID: requestID,
	}, nil)
	if err != nil {
		if errors.Is(err, storage.ErrInvalid) { // otherwise a row may refer to the file
			s.Discard(ctx, f)
			s.publishes.Return(key)
		}
		return nil, fmt.Errorf("publish video: %w", err)
	}
	if out.Repeated {
		s.Discard(ctx, f)
		s.publishes.Return(key)
		return out.Video, nil
	}
	s.requestCover(out.Video)
	return out.Video, nil
}

// Delete deletes a video with its file and its cover. Files that cannot be deleted now
// are swept later. Errors: those of DeleteVideo in storage.Videos.
func (s *Service) Delete(ctx context.Context, deletion storage.VideoDeletion) (*storage.Video, error) {
	v, _, err := s.Store.DeleteVideo(ctx, deletion, nil)
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	if err := s.Blobs.remove(within, v.FileKey(), v.CoverKey()); err != nil {
		s.Logger.Warn("files of a deleted video not removed; they are swept later", "video", v.VideoID(), "error", err)
	}
	return v, nil
}

// Erase deletes a video of an erased user. Unlike Delete, it deletes the file and the
// cover first, so that a call that failed can be repeated. Errors: those of DeleteVideo in
// storage.Videos, except storage.ErrNotFound.
func (s *Service) Erase(ctx context.Context, v *storage.Video) error {
	if err := s.Blobs.remove(ctx, v.FileKey(), v.CoverKey()); err != nil {
		return err
	}
	_, _, err := s.Store.DeleteVideo(ctx, storage.VideoDeletion{Key: v.Key(), By: v.Author}, nil)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	return s.Blobs.remove(ctx, v.CoverKey()) // it may have been made meanwhile
}

// requestCover publishes a cover job in the background. If that fails, the Janitor
// requests the cover later.
func (s *Service) requestCover(v *storage.Video) {
	if s.Covers == nil || s.running.Err() != nil {
		return
	}
	release, ok := s.coverPlaces.take(quota.Owner{User: v.Author})
	if !ok {
		return
	}
	s.coverRequests.Go(func() {
		defer release()
		if err := publishCoverRequest(s.running, s.Covers, v.Key()); err != nil && s.running.Err() == nil {
			s.Logger.Debug("cover not asked for; it is due later", "video", v.Number, "error", err)
		}
	})
}

// publishCoverRequest publishes a cover job. With a local queue it returns when the job
// is done.
func publishCoverRequest(ctx context.Context, covers worker.Publisher, key storage.VideoKey) error {
	_, err := covers.Publish(ctx, 0, storage.Message{ID: uuid.Must(uuid.NewV7()).String(), Cover: key})
	if errors.Is(err, worker.ErrRejected) { // dead-lettered and logged by the queue
		return nil
	}
	return err
}

// Reserve reserves a place for an upload. The returned function releases the place.
// Errors: ErrBusy; *LimitedError if the user has no publish left.
func (s *Service) Reserve(by quota.Owner) (end func(), err error) {
	if !by.User.Anonymous() {
		key := publisher(by.User)
		if wait := s.publishes.Take(key); wait > 0 {
			return nil, &LimitedError{wait}
		}
		s.publishes.Return(key) // Publish takes it
	}
	end, ok := s.uploadPlaces.take(by)
	if !ok {
		return nil, ErrBusy
	}
	return end, nil
}

// publisher returns the key of a user in publishes.
func publisher(of storage.User) string { return of.Tenant + "\x00" + of.UserID }

// Count adds the result of an upload to the metrics: "published", or the code of the
// error. The handler that Uploads returns calls Count itself; other handlers must call
// it.
func (s *Service) Count(result string) { s.uploads.WithLabelValues(result).Inc() }
