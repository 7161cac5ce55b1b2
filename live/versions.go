package live

import (
	"context"

	"ovation/storage"
)

// CommentVersions returns a Reader for a Hub that notifies subscribers of changed
// comments. The reader returns the version of a subject's comments as the version of the
// counts; the counts themselves are zero.
func CommentVersions(of storage.CommentReader) Reader {
	return versionReader(func(ctx context.Context, subjects []storage.Subject) ([]int64, error) {
		counts, err := of.CommentCounts(ctx, subjects)
		if err != nil {
			return nil, err
		}
		out := make([]int64, len(counts))
		for i := range out {
			out[i] = counts[i].Version
		}
		return out, nil
	})
}

// MessageVersions returns a Reader for a Hub that notifies subscribers of changed
// messages. A user is given as a subject (storage.User.Subject). The version of the
// counts is the number of the latest message that the user has sent or received; the
// counts themselves are zero.
func MessageVersions(of storage.DirectMessageReader) Reader {
	return versionReader(func(ctx context.Context, subjects []storage.Subject) ([]int64, error) {
		users := make([]storage.User, len(subjects))
		for i, s := range subjects {
			users[i] = storage.User{Tenant: s.Tenant, UserID: s.BizID}
		}
		return of.LatestMessages(ctx, users)
	})
}

// versionReader is a Reader that returns versions; all counts are zero.
type versionReader func(ctx context.Context, subjects []storage.Subject) ([]int64, error)

func (v versionReader) Interactives(
	ctx context.Context, _ storage.User, subjects []storage.Subject, _ storage.Kinds,
) ([]storage.Interactive, error) {
	found, err := v(ctx, subjects)
	if err != nil {
		return nil, err
	}
	out := make([]storage.Interactive, len(subjects))
	for i := range out {
		out[i] = storage.Interactive{
			Subject: subjects[i], Counts: storage.Counts{Version: found[i]}, Freshness: storage.Live,
		}
	}
	return out, nil
}
