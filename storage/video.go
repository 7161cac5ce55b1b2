package storage

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// BizVideo is the kind of content of subjects that are videos: the bizId is the video's
// id.
const BizVideo = "video"

// Limits for videos.
const (
	MaxTitleRunes = 150 // characters: code points
	// MaxCoverTries is the number of attempts to create a cover before it is
	// dead-lettered.
	MaxCoverTries = 3
	// MaxCoverReasonBytes is the maximum length of the stored reason of a CoverFailure.
	MaxCoverReasonBytes = 500

	minFileBytes, maxFileBytes = 16, 64 // of a file name
)

// VideoFormat is the container format of a file. The numbers are stored.
type VideoFormat uint8

// The formats.
const (
	MP4       VideoFormat = 1
	WebM      VideoFormat = 2
	QuickTime VideoFormat = 3
)

// Extension returns the extension of files in this format, without the dot. It is empty
// if there is no such format.
func (f VideoFormat) Extension() string {
	switch f {
	case MP4:
		return "mp4"
	case WebM:
		return "webm"
	case QuickTime:
		return "mov"
	}
	return ""
}

// Video is a file that a user has published. Its subject has likes, comments and so
// on; the publisher is the subject's author.
//
// Number is the video's id: below MaxCommentID, and increasing with time.
type Video struct {
	Author  User
	Number  int64
	Title   string
	File    string // names the file and its cover in the blob store; cannot be guessed
	Format  VideoFormat
	Bytes   int64
	Covered bool  // the cover is in the blob store
	Created int64 // in microseconds since 1970
}

// VideoID is Number in decimal.
func (v *Video) VideoID() string { return strconv.FormatInt(v.Number, 10) }

// At is when the video was published.
func (v *Video) At() time.Time { return Time(v.Created) }

// Key is the video's key.
func (v *Video) Key() VideoKey { return VideoKey{v.Author.Tenant, v.Number} }

// Place is the video's position in a list.
func (v *Video) Place() Position { return Position{Version: v.Number} }

// FileKey is the key of the file in the blob store.
func (v *Video) FileKey() string { return "videos/" + v.File + "." + v.Format.Extension() }

// CoverKey is the key of the cover in the blob store, whether or not the cover exists.
func (v *Video) CoverKey() string { return "covers/" + v.File + ".jpg" }

// MediaPath is the prefix of the paths of all media files on a site.
const MediaPath = "/media/"

// PlayURL is the path of the file on the site.
func (v *Video) PlayURL() string { return MediaPath + v.FileKey() }

// Placeholders is the number of generated pictures for videos without a cover.
const Placeholders = 48

// CoverURL is the path of the cover on the site, or of a generated picture while the
// video has no cover.
func (v *Video) CoverURL() string {
	if v.Covered {
		return MediaPath + v.CoverKey()
	}
	// The numbers of videos of different milliseconds often have the same lower bits.
	return fmt.Sprintf("%splaceholders/%d.png", MediaPath, uint64(v.Number)*0x9e3779b97f4a7c15>>32%Placeholders)
}

// VideoKey identifies a video.
type VideoKey struct {
	Tenant string
	Number int64
}

// Subject returns the video as a subject.
func (k VideoKey) Subject() Subject {
	return Subject{k.Tenant, BizVideo, strconv.FormatInt(k.Number, 10)}
}

// VideoOf returns the key of the video that a subject stands for. The result ok is false
// if the subject does not stand for a video. The video need not exist.
func VideoOf(s Subject) (key VideoKey, ok bool) {
	if s.Biz != BizVideo {
		return VideoKey{}, false
	}
	number, ok := ParseCommentID(s.BizID)
	return VideoKey{s.Tenant, number}, ok
}

// Validate returns an *InvalidError that names the first part of k that is out of
// bounds, or nil.
func (k VideoKey) Validate() error {
	if err := ValidateTenant(k.Tenant); err != nil {
		return err
	}
	if k.Number <= 0 || k.Number >= MaxCommentID {
		return &InvalidError{Field: "videoId", Reason: "must be a positive number below 2^53"}
	}
	return nil
}

// NewVideo is a video to publish. Its file is in the blob store.
type NewVideo struct {
	Author User
	Title  string
	File   string
	Format VideoFormat
	Bytes  int64
	// Digest is a hash of the file, which distinguishes a repeated request from a
	// different one with the same id.
	Digest string
	// RequestID makes it safe to repeat a request: a second video with the same author
	// and RequestID within RequestAge is not published. If RequestID is empty, every
	// request publishes a video.
	RequestID string
}

// Check returns the video with its title as it will be stored, or an *InvalidError.
func (v NewVideo) Check() (NewVideo, error) {
	if err := ValidateTenant(v.Author.Tenant); err != nil {
		return v, err
	}
	if err := ValidateUserID(v.Author.UserID); err != nil {
		return v, err
	}
	if err := ValidateRequestID(v.RequestID); err != nil {
		return v, err
	}
	if err := ValidateFile(v.File); err != nil {
		return v, err
	}
	if v.Format.Extension() == "" || v.Bytes <= 0 {
		return v, &InvalidError{Field: "file", Reason: "must have a format and bytes"}
	}
	var err error
	v.Title, err = CleanText("title", v.Title, MaxTitleRunes)
	return v, err
}

// ValidateFile checks the name of a file: 16 to 64 characters of a–z and 0–9.
func ValidateFile(name string) error {
	unfit := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	if len(name) < minFileBytes || len(name) > maxFileBytes || strings.ContainsFunc(name, unfit) {
		return &InvalidError{Field: "file", Reason: fmt.Sprintf("must have a name of %d to %d of a-z and 0-9", minFileBytes, maxFileBytes)}
	}
	return nil
}

// Fingerprint returns a hash that distinguishes v from other videos with the same request
// id.
func (v NewVideo) Fingerprint() string { return fingerprint("video", v.Title, v.Digest) }

// PublishedVideo is the result of publishing a NewVideo.
type PublishedVideo struct {
	Video *Video
	// Repeated is true if the video was already published with the same request id; its
	// file is then the one from the first request.
	Repeated bool
}

// VideoDeletion names a video to delete and the user who deletes it.
type VideoDeletion struct {
	Key VideoKey
	By  User
	// Moderates lets the user delete the videos of others.
	Moderates bool
}

// Allows reports whether the user may delete the video.
func (d VideoDeletion) Allows(of *Video) bool {
	return of != nil && d.By.Tenant == of.Author.Tenant && (d.Moderates || d.By == of.Author)
}

// CoverFailure describes a failed attempt to create a cover.
type CoverFailure struct {
	Reason string // at most MaxCoverReasonBytes of it are kept
	// Counts is true if the failure counts towards MaxCoverTries.
	Counts bool
	// Due is when the cover is due again, in microseconds since 1970, unless the cover is
	// dead-lettered.
	Due int64
}

// Text is the reason as it is stored.
func (f CoverFailure) Text() string {
	text := strings.ReplaceAll(strings.ToValidUTF8(f.Reason, "?"), "\x00", "?")
	return strings.ToValidUTF8(text[:min(len(text), MaxCoverReasonBytes)], "")
}

// The lists of videos, newest first.
type (
	// FeedQuery lists the videos of a tenant.
	FeedQuery struct {
		Tenant string
		Page
	}
	// UserVideosQuery lists the videos that a user has published.
	UserVideosQuery struct {
		User User
		Page
	}
)

// VideoReader looks up videos.
type VideoReader interface {
	// VideosOf returns the video for each key, or nil if there is none.
	VideosOf(ctx context.Context, keys []VideoKey) ([]*Video, error)
	// Feed pages through the videos of tenants.
	Feed(ctx context.Context, queries []FeedQuery) ([]ListPage[Video], error)
	// UserVideos pages through the videos of users.
	UserVideos(ctx context.Context, queries []UserVideosQuery) ([]ListPage[Video], error)
}

// Videos stores videos. Changes are committed before a method returns, and are then
// visible to every later call to any store on the same database.
type Videos interface {
	VideoReader
	// PublishVideo adds a video and declares its publisher the author of its subject. It
	// runs in one transaction and calls mark, as Persist does. The function mark may be
	// nil, and is not called for a repeated request. Errors: ErrInvalid, also for a
	// request id that was used for something else.
	PublishVideo(ctx context.Context, video NewVideo, mark Mark) (PublishedVideo, Outcome, error)
	// DeleteVideo removes a video, deletes its subject (Deletions) and declares that the
	// subject has no author. It runs in one transaction and calls mark, as Persist does. It returns the video as it was;
	// the caller removes its file and its cover. Errors: ErrNotFound, also if this user
	// may not delete the video.
	DeleteVideo(ctx context.Context, deletion VideoDeletion, mark Mark) (*Video, Outcome, error)
	// NamedFiles reports for each file name whether a video has a file with this name.
	NamedFiles(ctx context.Context, names []string) ([]bool, error)

	// DueCovers returns the keys of up to limit videos whose covers are due, by the
	// store's clock, and reschedules these covers. The time until a cover is due again
	// equals the time since its video was published, but is at least CoverEvery and at
	// most a day. The first time, a cover is due CoverEvery after the publication. At most
	// CoverShare(limit) of the covers are of one author; if more are due, they are
	// rescheduled, so many for each of the next minutes.
	DueCovers(ctx context.Context, limit int) ([]VideoKey, error)
	// SetCover records that the cover of a video is in the blob store. It reports whether
	// the video exists.
	SetCover(ctx context.Context, key VideoKey) (bool, error)
	// FailCover records why a cover could not be created and returns the number of
	// failures that have counted so far. A cover with MaxCoverTries such failures is
	// dead-lettered: it is not due again. Errors: ErrNotFound if there is no such video,
	// or if it has a cover.
	FailCover(ctx context.Context, key VideoKey, failure CoverFailure) (tries int, err error)
	// CoverReason returns why the cover of a video could not be created, and whether it
	// is dead-lettered. The reason is empty if there has been no failure or there is no
	// such video.
	CoverReason(ctx context.Context, key VideoKey) (reason string, deadLettered bool, err error)
}

// CoverEvery is how long after the publication of a video its cover becomes due, in
// microseconds. A job for the cover is also queued at the publication; if the cover is
// due nevertheless, that job was never queued, was lost or failed.
const CoverEvery = 5 * 60 * 1_000_000

// CoverShare returns how many of limit due covers one author may have: a twentieth, at
// least one.
func CoverShare(limit int) int { return max(limit/20, 1) }
