package douyin

import (
	"context"
	"fmt"
	"strings"

	"ovation/api/viewer"
	"ovation/loaders"
	"ovation/storage"
)

// replyBuilder converts stored objects to parts of a reply, as the viewer sees them.
type replyBuilder struct {
	api  *api
	me   storage.User
	base string // prefix that turns paths of this site into URLs
}

// newReplyBuilder starts a reply.
func (a *api) newReplyBuilder(ctx context.Context, c *call) *replyBuilder {
	return &replyBuilder{a, viewer.FromContext(ctx), a.base(c)}
}

// base returns the scheme and host of the site as the client sees it.
func (a *api) base(c *call) string {
	switch {
	case a.PublicURL != "":
		return a.PublicURL
	case c.request.TLS != nil:
		return "https://" + c.request.Host
	}
	return "http://" + c.request.Host
}

// url turns a path of this site into an absolute URL.
func (b *replyBuilder) url(address string) string {
	if strings.HasPrefix(address, "/") {
		return b.base + address
	}
	return address
}

// load prefetches the videos and users of a reply, and the keys that are wanted already.
// It makes one call per kind of object, and makes these calls concurrently.
func (b *replyBuilder) load(ctx context.Context, videos []*storage.Video, users []storage.User) error {
	l := loaders.FromContext(ctx)
	for _, v := range videos {
		loaders.Interactives.Want(l, v.Key().Subject())
		loaders.CommentCounts.Want(l, v.Key().Subject())
		users = append(users, v.Author)
	}
	for _, u := range users {
		loaders.Interactives.Want(l, u.Subject())
	}
	if b.api.Accounts != nil {
		loaders.Profiles.Want(l, users...)
	}
	loaders.Totals.Want(l, users...)
	return l.Fetch(ctx)
}

// errCountsUnknown is the error for a reply whose counts are unknown: clients of this API
// cannot distinguish unknown counts from zeros.
var errCountsUnknown = fmt.Errorf("%w: counts are unknown", storage.ErrUnavailable)

// user returns a loaded user as the API shows it.
func (b *replyBuilder) user(ctx context.Context, of storage.User) (out userJSON, err error) {
	out.ID, _ = of.AccountID()
	out.Name = of.UserID
	subject, err := loaders.Interactives.Load(ctx, of.Subject())
	if err != nil {
		return out, err
	}
	if subject.Freshness == storage.Unavailable { // its zeros are not counts
		return out, errCountsUnknown
	}
	out.FollowerCount, out.IsFollow = subject.FollowerCount, subject.Followed != nil
	if b.api.Accounts != nil {
		profile, err := loaders.Profiles.Load(ctx, of)
		if err != nil {
			return out, err
		}
		if profile != nil {
			out.Name, out.Signature = profile.Name, profile.Signature
			out.Avatar, out.BackgroundImage = b.url(profile.Avatar), b.url(profile.Background)
		}
	}
	totals, err := loaders.Totals.Load(ctx, of)
	out.FollowCount, out.TotalFavorited = totals.Following, totals.LikesReceived
	out.WorkCount, out.FavoriteCount = totals.Works, totals.Likes
	return out, err
}

// users returns users as the API shows them.
func (b *replyBuilder) users(ctx context.Context, of []storage.User) (list[userJSON], error) {
	if err := b.load(ctx, nil, of); err != nil {
		return nil, err
	}
	return each(of, func(u storage.User) (userJSON, error) { return b.user(ctx, u) })
}

// videos returns videos as the API shows them.
func (b *replyBuilder) videos(ctx context.Context, of []*storage.Video) (list[videoJSON], error) {
	if err := b.load(ctx, of, nil); err != nil {
		return nil, err
	}
	return each(of, func(v *storage.Video) (videoJSON, error) { return b.video(ctx, v) })
}

// video returns a loaded video as the API shows it.
func (b *replyBuilder) video(ctx context.Context, v *storage.Video) (out videoJSON, err error) {
	out.ID, out.Title, out.PlayURL, out.CoverURL = v.Number, v.Title, b.url(v.PlayURL()), b.url(v.CoverURL())
	subject, err := loaders.Interactives.Load(ctx, v.Key().Subject())
	if err != nil {
		return out, err
	}
	if subject.Freshness == storage.Unavailable {
		return out, errCountsUnknown
	}
	out.FavoriteCount, out.IsFavorite = subject.LikeCount, subject.Liked != nil && subject.Liked.Reaction == storage.Like
	comments, err := loaders.CommentCounts.Load(ctx, v.Key().Subject())
	if err != nil {
		return out, err
	}
	out.CommentCount = comments.Comments
	out.Author, err = b.user(ctx, v.Author)
	return out, err
}

// comment returns a comment as the API shows it. The comment's user must be loaded.
func (b *replyBuilder) comment(ctx context.Context, of *storage.Comment) (commentJSON, error) {
	user, err := b.user(ctx, of.User)
	return commentJSON{ID: of.Number, User: user, Content: of.Text, CreateDate: of.At().Format("01-02")}, err
}

// each calls show for each element of a list, and returns the list of results.
func each[T, V any](of []T, show func(T) (V, error)) (list[V], error) {
	out := make(list[V], len(of))
	for i, one := range of {
		var err error
		if out[i], err = show(one); err != nil {
			return nil, err
		}
	}
	return out, nil
}
