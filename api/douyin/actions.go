package douyin

import (
	"context"
	"errors"

	"ovation/accounts"
	"ovation/api/rate"
	"ovation/api/viewer"
	"ovation/loaders"
	"ovation/media"
	"ovation/resolvers/transport"
	"ovation/storage"
)

func (a *api) register(ctx context.Context, c *call, out *sessionReply) error {
	if a.Accounts == nil {
		return errAccountsOff
	}
	return out.begin(a.Accounts.Register(ctx, credentials(ctx, c)))
}

func (a *api) logIn(ctx context.Context, c *call, out *sessionReply) error {
	if a.Accounts == nil {
		return errAccountsOff
	}
	return out.begin(a.Accounts.LogIn(ctx, credentials(ctx, c)))
}

func credentials(ctx context.Context, c *call) accounts.Credentials {
	return accounts.Credentials{
		Tenant: viewer.FromContext(ctx).Tenant, Name: c.values["username"], Password: c.values["password"], From: rate.FromContext(ctx).Address(),
	}
}

func (r *sessionReply) begin(s accounts.Session, err error) error {
	r.UserID, _ = s.User.AccountID()
	r.Token = s.Token
	return err
}

// favorite likes a video, or removes the like.
func (a *api) favorite(ctx context.Context, c *call, _ *status) error {
	user, err := requireViewer(ctx)
	if err != nil {
		return err
	}
	key, err := a.videoKey(c, user)
	if err != nil {
		return err
	}
	action, err := c.action(2)
	if err != nil {
		return err
	}
	if v, err := loaders.Videos.Fetch(ctx, key); unlessUnavailable(err) != nil || err == nil && v == nil {
		return orNotFound(err, "video_id")
	}
	like := storage.Action{User: user, Subject: key.Subject(), Kind: storage.KindReaction, Reaction: storage.Like}
	if action == undo {
		like.Reaction, like.If = storage.NoReaction, storage.Like
	}
	_, err = a.Recorder.Record(ctx, like, nil)
	return err
}

// undo is the action_type that undoes an action.
const undo = 2

// unlessUnavailable returns the error from a lookup, or nil if the database is
// unavailable. Likes and follows are then recorded without the lookup.
func unlessUnavailable(err error) error {
	if errors.Is(err, storage.ErrUnavailable) {
		return nil
	}
	return err
}

// relation follows or unfollows a user.
func (a *api) relation(ctx context.Context, c *call, _ *status) error {
	user, err := requireViewer(ctx)
	if err != nil {
		return err
	}
	number, err := c.requiredID("to_user_id")
	if err != nil {
		return err
	}
	action, err := c.action(2)
	if err != nil {
		return err
	}
	to := storage.AccountUser(user.Tenant, number)
	if err := a.registered(ctx, "to_user_id", to); unlessUnavailable(err) != nil {
		return err
	}
	_, err = a.Recorder.Record(ctx, storage.Action{User: user, Subject: to.Subject(), Kind: storage.KindFollow, Following: action != undo}, nil)
	return named("to_user_id", err)
}

func (a *api) send(ctx context.Context, c *call, _ *status) error {
	key, err := conversation(ctx, c)
	if err != nil {
		return err
	}
	if _, err := c.action(1); err != nil {
		return err
	}
	m := storage.NewDirectMessage{From: key.Owner, To: key.With, Text: c.values["content"], RequestID: c.values["request_id"]}
	if _, err := m.Check(); err != nil {
		return named("content", err)
	}
	if err := a.registered(ctx, "to_user_id", key.With); err != nil {
		return err
	}
	if wait := a.limiter.TakeMessage(key.Owner); wait > 0 {
		return limited(wait)
	}
	_, err = a.Messages.Send(ctx, m)
	return named("content", err)
}

// comment adds a comment to a video, or deletes one.
func (a *api) comment(ctx context.Context, c *call, out *commentReply) error {
	user, err := requireViewer(ctx)
	if err != nil {
		return err
	}
	key, err := a.videoKey(c, user)
	if err != nil {
		return err
	}
	action, err := c.action(2)
	if err != nil {
		return err
	}
	if action == undo {
		return a.deleteComment(ctx, c, key)
	}
	s := a.newReplyBuilder(ctx, c)
	if v, err := loaders.Videos.Fetch(ctx, key); err != nil || v == nil {
		return orNotFound(err, "video_id")
	}
	added, err := a.Comments.Add(ctx, storage.NewComment{
		Subject: key.Subject(), User: user, Text: c.values["comment_text"], RequestID: c.values["request_id"],
	})
	if err != nil {
		return named("comment_text", err)
	}
	if err := s.load(ctx, nil, []storage.User{user}); err != nil {
		return err
	}
	written := *added
	written.User = user // also if a repeated request finds the comment deleted
	one, err := s.comment(ctx, &written)
	out.Comment = &one
	return err
}

// deleteComment deletes a comment on a video. The comment's author, the video's author
// and moderators may do so.
func (a *api) deleteComment(ctx context.Context, c *call, of storage.VideoKey) error {
	number, err := c.requiredID("comment_id")
	if err != nil {
		return err
	}
	l, me, key := loaders.FromContext(ctx), viewer.FromContext(ctx), storage.CommentKey{Tenant: of.Tenant, CommentID: number}
	loaders.Videos.Want(l, of)
	loaders.Comments.Want(l, key)
	if err := l.Fetch(ctx); err != nil {
		return err
	}
	v, err := loaders.Videos.Load(ctx, of)
	if err != nil || v == nil {
		return orNotFound(err, "video_id")
	}
	comment, err := loaders.Comments.Load(ctx, key)
	if err != nil || comment == nil || comment.Subject != of.Subject() {
		return orNotFound(err, "comment_id")
	}
	_, err = a.Comments.Delete(ctx, storage.CommentChange{
		Key: key, By: me, Moderates: v.Author == me || viewer.HasScope(ctx, viewer.Moderate),
	})
	if errors.Is(err, storage.ErrNotFound) {
		err = notFound("comment_id")
	}
	return err
}

// publish receives a video. The token may come before the file or after it.
func (a *api) publish(ctx context.Context, c *call, _ *status) error {
	if a.Videos == nil {
		return errVideosOff
	}
	u := &upload{api: a, call: c, ctx: ctx}
	if err := u.reserve(); err != nil {
		return err
	}
	defer func() { u.end() }()
	form, err := a.Videos.ReadForm(c.writer, c.request, "data", u.identify)
	if err != nil {
		return err
	}
	if err := u.identify(form.Values); err != nil { //nolint:contextcheck // it is the upload's, as below
		u.discard(form.File)
		return err
	}
	user, err := requireViewer(u.ctx) //nolint:contextcheck // as above
	if err != nil {
		u.discard(form.File)
		return err
	}
	if form.File == nil {
		return &storage.InvalidError{Field: "data", Reason: "is missing"}
	}
	_, err = a.Videos.Publish(u.ctx, user, u.values["title"], u.values["request_id"], form.File) //nolint:contextcheck // as above
	return err
}

// upload is an upload in progress.
type upload struct {
	*api
	*call

	ctx context.Context //nolint:containedctx // of the request, with the viewer once the token has been received
	end func()          // releases the place
}

// reserve reserves one of the limited number of places for uploads. The place is reserved
// for the viewer or, if the viewer is not known yet, for the client's address.
func (u *upload) reserve() (err error) {
	u.end, err = u.Videos.Reserve(rate.FromContext(u.ctx).Owner())
	return err
}

// identify reads the fields received so far, and authenticates the viewer by the token
// among them.
func (u *upload) identify(fields map[string]string) error {
	for name, value := range fields {
		if u.merge(map[string][]string{name: {value}}); u.refused != nil {
			return u.refused
		}
	}
	if err := media.CheckFields(u.values, "request_id"); err != nil {
		return err
	}
	token := u.values["token"]
	if token == "" || !viewer.FromContext(u.ctx).Anonymous() {
		return nil
	}
	is, err := u.identity(u.ctx, token)
	if err != nil {
		return err
	}
	ctx, wait := transport.Identify(u.ctx, is)
	if wait == 0 {
		wait = rate.FromContext(ctx).Take(u.endpoint.cost)
	}
	if wait > 0 {
		return limited(wait)
	}
	u.ctx = ctx
	u.end()
	if err := u.reserve(); err != nil {
		u.end = func() {}
		return err
	}
	return nil
}

func (u *upload) discard(file *media.File) {
	if file != nil {
		u.Videos.Discard(u.ctx, file)
	}
}
