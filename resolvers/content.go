package resolvers

import (
	"context"

	"ovation/api/viewer"
	"ovation/loaders"
	"ovation/storage"
)

// Content returns the comment or video that a subject is, or nil.
func (r interactiveResolver) Content(ctx context.Context, obj *storage.Interactive) (storage.Node, error) {
	if key, is := storage.CommentOf(obj.Subject); is {
		found, err := visibleComment(ctx, viewer.FromContext(ctx), key)
		if err != nil || found == nil || found.Deleted() {
			return nil, err
		}
		return found, nil
	}
	if key, is := r.videoOf(obj.Subject); is {
		return orNull(loaders.Videos.Load(ctx, key))
	}
	return nil, nil //nolint:nilnil // null is the answer
}

// videoOf returns the key of the video that a subject is. The video need not exist. It
// returns false on a site without videos.
func (r *Root) videoOf(subject storage.Subject) (storage.VideoKey, bool) {
	key, is := storage.VideoOf(subject)
	return key, is && r.videos != nil
}
