package resolvers

import (
	"context"
	"errors"

	"ovation/api/codes"
	"ovation/api/viewer"
	"ovation/graph"
	"ovation/loaders"
	"ovation/resolvers/plan"
	"ovation/storage"
)

// Videos deletes videos with their files, and the files of former avatars. *media.Service
// implements it.
type Videos interface {
	Delete(ctx context.Context, deletion storage.VideoDeletion) (*storage.Video, error)
	RemoveFormerAvatar(ctx context.Context, after *storage.UpdatedProfile)
}

var errVideosDisabled = &problem{
	codes.NotFound,
	"this site has no videos of its own: --videos (OVATION_VIDEOS) turns them on",
}

// feed identifies the list of all videos of a tenant.
type feed struct{ tenant string }

func (r queryResolver) Feed(ctx context.Context, first *int, after *string) (*graph.VideoConnection, error) {
	if r.videos == nil {
		return nil, errVideosDisabled
	}
	edges, info, err := connect[graph.VideoEdge](ctx, r.Root, &feeds, &feed{viewer.FromContext(ctx).Tenant}, pageArgs{nil, first, after})
	return &graph.VideoConnection{Edges: edges, PageInfo: info}, err
}

func (r queryResolver) Video(ctx context.Context, videoID string) (*storage.Video, error) {
	if r.videos == nil {
		return nil, errVideosDisabled
	}
	key, ok := videoKey(viewer.FromContext(ctx), videoID)
	if !ok {
		return nil, nil //nolint:nilnil // null is the answer
	}
	return loaders.Videos.Load(ctx, key)
}

func (r userResolver) Videos(ctx context.Context, obj *storage.User, first *int, after *string) (*graph.VideoConnection, error) {
	if r.videos == nil {
		return nil, errVideosDisabled
	}
	edges, info, err := connect[graph.VideoEdge](ctx, r.Root, &userVideos, obj, pageArgs{nil, first, after})
	return &graph.VideoConnection{Edges: edges, PageInfo: info}, err
}

func (r videoResolver) Interactive(ctx context.Context, obj *storage.Video) (*storage.Interactive, error) {
	return loaders.Interactives.Load(ctx, obj.Key().Subject())
}

func (r mutationResolver) DeleteVideo(ctx context.Context, in graph.DeleteVideoInput) (*graph.DeleteVideoPayload, error) {
	if r.videos == nil {
		return nil, errVideosDisabled
	}
	me, err := authenticated(ctx)
	if err != nil {
		return nil, err
	}
	key, ok := videoKey(me, in.VideoID)
	if !ok {
		return nil, notFound("input.videoId")
	}
	deleted, err := r.videos.Delete(ctx, storage.VideoDeletion{Key: key, By: me, Moderates: moderates(ctx)})
	if errors.Is(err, storage.ErrNotFound) {
		return nil, notFound("input.videoId")
	}
	if err != nil {
		return nil, err
	}
	subject, err := r.afterComment(ctx, key.Subject(), nil)
	return &graph.DeleteVideoPayload{DeletedID: deleted.ID(), Interactive: subject}, err
}

// videoKey returns the key of a video of the viewer's tenant, whether or not the video
// exists. It returns false if the id is invalid.
func videoKey(me storage.User, videoID string) (storage.VideoKey, bool) {
	number, ok := storage.ParseCommentID(videoID)
	return storage.VideoKey{Tenant: me.Tenant, Number: number}, ok
}

var feeds = listSpec[feed, storage.FeedQuery, storage.Video]{
	lookup: loaders.Feeds,
	name:   func(of *feed, _ string) []string { return []string{"feed", of.tenant} },
	query: func(_ storage.User, of *feed, _ string, page storage.Page) storage.FeedQuery {
		return storage.FeedQuery{Tenant: of.tenant, Page: page}
	},
	place: (*storage.Video).Place,
}

var userVideos = listSpec[storage.User, storage.UserVideosQuery, storage.Video]{
	lookup: loaders.UserVideos,
	name:   func(of *storage.User, _ string) []string { return []string{"videos", of.Tenant, of.UserID} },
	sees:   seesUser,
	query: func(_ storage.User, of *storage.User, _ string, page storage.Page) storage.UserVideosQuery {
		return storage.UserVideosQuery{User: *of, Page: page}
	},
	place: (*storage.Video).Place,
}

func (p *prefetch) feed(field *plan.Field, _ any) {
	if p.videos != nil {
		feeds.field().prefetch(p, field, &feed{p.me.Tenant})
	}
}

func (p *prefetch) userVideos(field *plan.Field, object any) {
	if p.videos != nil {
		userVideos.field().prefetch(p, field, object)
	}
}
