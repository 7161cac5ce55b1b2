package live

import (
	"context"

	"ovation/storage"
)

// CommentVersions returns a Reader of the versions of subjects' comments, for a Hub that
// signals changes of comments. All counts but the version are zero.
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

// MessageVersions returns a Reader of the versions of users' messages, for a Hub that
// signals changes of messages. A user is given as a subject (storage.User.Subject); the
// version is the number of the latest message that the user has sent or received. All
// counts but the version are zero.
func MessageVersions(of storage.DirectMessageReader) Reader {
	return versionReader(func(ctx context.Context, subjects []storage.Subject) ([]int64, error) {
		users := make([]storage.User, len(subjects))
		for i, s := range subjects {
			users[i] = storage.User{Tenant: s.Tenant, UserID: s.BizID}
		}
		return of.LatestMessages(ctx, users)
	})
}

// versionReader is a Reader whose counts are all zero except the version.
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
