package resolvers

import (
	"context"
	"strings"

	"ovation/graph"
	"ovation/storage"
)

// CommentsChanged streams the changes to a subject's comments until ctx ends.
func (r subscriptionResolver) CommentsChanged(ctx context.Context, biz, bizID string, after *string) (<-chan *graph.CommentEvent, error) {
	subject, err := subjectOf(ctx, biz, bizID)
	if err != nil {
		return nil, err
	}
	version, err := r.commentsBegin(ctx, subject, after)
	if err != nil {
		return nil, err
	}
	return r.commentChanges(subject, version).stream(ctx, r.commentHub)
}

// commentChanges returns a stream of the changes made to a subject's comments after the
// given version.
func (r *Root) commentChanges(subject storage.Subject, version int64) *changeStream[graph.CommentEvent] {
	return &changeStream[graph.CommentEvent]{
		name: changesOf(subject), subject: subject, version: version,
		read: func(ctx context.Context, after int64, first int) ([]*graph.CommentEvent, error) {
			found, err := r.store.CommentChanges(ctx, storage.CommentChangesQuery{Subject: subject, Version: after, First: first})
			events := make([]*graph.CommentEvent, len(found))
			for i := range found {
				events[i] = r.commentEvent(&found[i])
			}
			return events, err
		},
		at:   func(e *graph.CommentEvent) int64 { return e.Comment.Version },
		size: func(e *graph.CommentEvent) int { return len(e.Comment.Text) },
	}
}

// commentsBegin returns the version after which a new stream delivers changes: that of
// the given cursor or, without a cursor, the current version.
func (r *Root) commentsBegin(ctx context.Context, subject storage.Subject, after *string) (int64, error) {
	if after != nil {
		at, err := r.cursors.decode(changesOf(subject), *after)
		return at.Version, err
	}
	counts, err := r.store.CommentCounts(ctx, []storage.Subject{subject})
	if err != nil {
		return 0, err
	}
	return counts[0].Version, nil
}

func (r *Root) changesCursor(of storage.Subject, version int64) string {
	return r.cursors.encode(changesOf(of), storage.Position{Version: version})
}

func changesOf(s storage.Subject) string {
	return strings.Join([]string{"comment changes", s.Tenant, s.Biz, s.BizID}, "\x00")
}

func (r *Root) commentEvent(of *storage.Comment) *graph.CommentEvent {
	kind := graph.CommentEventKindAdded
	switch {
	case of.Deleted():
		kind = graph.CommentEventKindDeleted
	case of.Edited != 0:
		kind = graph.CommentEventKindEdited
	}
	return &graph.CommentEvent{Kind: kind, Comment: *of, Cursor: r.changesCursor(of.Subject, of.Version)}
}
