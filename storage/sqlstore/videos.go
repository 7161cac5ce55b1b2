package sqlstore

import "ovation/storage"

// Publication computes the result of publishing a video. A store fills in Before and
// calls Repeated. If that returns 0, the store calls Publish and writes the video and
// New.
type Publication struct {
	RequestLog

	video storage.NewVideo
}

// NewPublication validates a video and returns a Publication for it.
func NewPublication(v storage.NewVideo) (*Publication, error) {
	v, err := v.Check()
	if err != nil {
		return nil, err
	}
	return &Publication{newRequestLog(map[RequestKey]bool{requestKey(v.Author, v.RequestID): true}), v}, nil
}

// Author returns the author of the video.
func (p *Publication) Author() storage.User { return p.video.Author }

// Tenant returns the tenant of the video.
func (p *Publication) Tenant() string { return p.video.Author.Tenant }

// Repeated returns the number of the video that the same request has already published,
// or 0 if there is none. Errors: ErrRequestReuse.
func (p *Publication) Repeated() (int64, error) {
	before, known := p.Before[requestKey(p.video.Author, p.video.RequestID)]
	if known && before.Fingerprint != p.video.Fingerprint() {
		return 0, ErrRequestReuse
	}
	return before.ResultID, nil
}

// Publish returns the video with the given id, and records its request.
func (p *Publication) Publish(id NewID) *storage.Video {
	of := &p.video
	p.record(requestKey(of.Author, of.RequestID), id.ID, of.Fingerprint())
	return &storage.Video{
		Author: of.Author, Number: id.ID, Title: of.Title, File: of.File, Format: of.Format, Bytes: of.Bytes, Created: id.At,
	}
}

// PublishDeclaration returns the declaration that the publisher is the author of the
// video's subject.
func PublishDeclaration(v *storage.Video) storage.Action {
	return declaration(v.Key().Subject(), v.Author.UserID, v.Created)
}

// Withdraw returns the declaration that a subject, which is deleted, has no author. The
// parameter at is the current time in microseconds since 1970.
func Withdraw(subject storage.Subject, at int64) storage.Action {
	return declaration(subject, "", at)
}

func declaration(of storage.Subject, author string, version int64) storage.Action {
	return storage.Action{
		User: storage.User{Tenant: of.Tenant}, Subject: of, Kind: storage.KindAuthor, Author: author, Version: version,
	}
}

// MaxCoverWait is the maximum time, in microseconds, between two times at which a cover
// is due.
const MaxCoverWait = 24 * 3600 * 1_000_000

// CoverPause is the time, in microseconds, by which the due covers of an author beyond
// storage.CoverShare are postponed.
const CoverPause = 60 * 1_000_000
