package douyin

import (
	"context"
	"slices"

	"ovation/loaders"
	"ovation/storage"
)

const (
	feedPage = 20
	// listPage is the maximum length of all other lists. These lists are not paged: only
	// the newest entries are returned.
	listPage = 100
)

func (a *api) feed(ctx context.Context, c *call, out *feedReply) error {
	if a.Videos == nil {
		return errVideosOff
	}
	begin, end, err := c.time("latest_time")
	if err != nil {
		return err
	}
	s := a.newReplyBuilder(ctx, c)
	query := storage.FeedQuery{Tenant: s.me.Tenant, Page: storage.Page{First: feedPage + 1}}
	if begin > 0 {
		if end-begin == 1 { // a next_time: the last page had the videos of this millisecond
			end = begin
		}
		query.After.Version = storage.FirstID(end)
	}
	page, err := loaders.Feeds.Fetch(ctx, query)
	if err != nil {
		return err
	}
	videos := whole(page.Entries)
	out.NextTime = a.Now().UnixMilli() // the feed has ended: start again
	if n := len(videos); n > 0 {
		out.NextTime = storage.IDMillis(videos[n-1].Number)
	}
	out.VideoList, err = s.videos(ctx, pointers(videos))
	return err
}

// whole cuts the feed's videos down to one page. The next page begins below the last
// millisecond of this page, so the page does not end between two videos of the same
// millisecond. If that would leave no video, the page ends after feedPage videos.
func whole(videos []storage.Video) []storage.Video {
	if len(videos) <= feedPage {
		return videos
	}
	next, n := storage.IDMillis(videos[feedPage].Number), feedPage
	for n > 0 && storage.IDMillis(videos[n-1].Number) == next {
		n--
	}
	if n == 0 {
		n = feedPage
	}
	return videos[:n]
}

func pointers[T any](of []T) []*T {
	out := make([]*T, len(of))
	for i := range of {
		out[i] = &of[i]
	}
	return out
}

// of begins a reply about the user that the parameter user_id names. If the parameter is
// absent, the reply is about the viewer.
func (a *api) of(ctx context.Context, c *call) (*replyBuilder, storage.User, error) {
	user, err := requireViewer(ctx)
	if err == nil {
		user, err = c.user("user_id", user)
	}
	return a.newReplyBuilder(ctx, c), user, err
}

func (a *api) user(ctx context.Context, c *call, out *userReply) error {
	s, user, err := a.of(ctx, c)
	if err != nil {
		return err
	}
	found, err := s.users(ctx, []storage.User{user})
	if err != nil {
		return err
	}
	if user != s.me {
		if err := a.registered(ctx, "user_id", user); err != nil {
			return err
		}
	}
	out.User = &found[0]
	return nil
}

// registered returns an error if the site has accounts and the user has none.
func (a *api) registered(ctx context.Context, parameter string, user storage.User) error {
	if a.Accounts == nil {
		return nil
	}
	profile, err := loaders.Profiles.Fetch(ctx, user)
	if err == nil && profile == nil {
		err = notFound(parameter)
	}
	return err
}

func (a *api) published(ctx context.Context, c *call, out *videosReply) error {
	if a.Videos == nil {
		return errVideosOff
	}
	s, user, err := a.of(ctx, c)
	if err != nil {
		return err
	}
	query := storage.UserVideosQuery{User: user, Page: storage.Page{First: listPage}}
	page, err := loaders.UserVideos.Fetch(ctx, query)
	if err != nil {
		return err
	}
	out.VideoList, err = s.videos(ctx, pointers(page.Entries))
	return err
}

func (a *api) favorites(ctx context.Context, c *call, out *videosReply) error {
	if a.Videos == nil {
		return errVideosOff
	}
	s, user, err := a.of(ctx, c)
	if err != nil {
		return err
	}
	query := storage.LikesQuery{User: user, Biz: storage.BizVideo, Page: storage.Page{First: listPage}}
	page, err := loaders.Likes.Fetch(ctx, query)
	if err != nil {
		return err
	}
	var keys []storage.VideoKey
	for _, liked := range page.Entries {
		if number, ok := storage.ParseCommentID(liked.Subject.BizID); ok { // any bizId can be liked
			keys = append(keys, storage.VideoKey{Tenant: user.Tenant, Number: number})
		}
	}
	videos, err := loaders.Videos.FetchMany(ctx, keys)
	if err != nil {
		return err
	}
	videos = slices.DeleteFunc(videos, func(v *storage.Video) bool { return v == nil }) // it was deleted
	out.VideoList, err = s.videos(ctx, videos)
	return err
}

func (a *api) comments(ctx context.Context, c *call, out *commentsReply) error {
	s := a.newReplyBuilder(ctx, c)
	key, err := a.videoKey(c, s.me)
	if err != nil {
		return err
	}
	query := storage.CommentsQuery{Subject: key.Subject(), Order: storage.Newest, Page: storage.Page{First: listPage}}
	l := loaders.FromContext(ctx)
	loaders.Videos.Want(l, key)
	loaders.CommentLists.Want(l, query)
	if err := l.Fetch(ctx); err != nil {
		return err
	}
	if v, err := loaders.Videos.Load(ctx, key); err != nil || v == nil {
		return orNotFound(err, "video_id")
	}
	page, err := loaders.CommentLists.Load(ctx, query)
	if err != nil {
		return err
	}
	entries := slices.DeleteFunc(pointers(page.Entries), (*storage.Comment).Deleted) // the list includes deleted comments that have replies
	users := make([]storage.User, len(entries))
	for i, one := range entries {
		users[i] = one.User
	}
	if err := s.load(ctx, nil, users); err != nil {
		return err
	}
	out.CommentList, err = each(entries, func(one *storage.Comment) (commentJSON, error) { return s.comment(ctx, one) })
	return err
}

// videoKey returns the key of the video that the parameter video_id names.
func (a *api) videoKey(c *call, me storage.User) (storage.VideoKey, error) {
	if a.Videos == nil {
		return storage.VideoKey{}, errVideosOff
	}
	number, err := c.requiredID("video_id")
	return storage.VideoKey{Tenant: me.Tenant, Number: number}, err
}

// orNotFound returns err. If err is nil, it returns an error that states that the object
// which the given request parameter names was not found.
func orNotFound(err error, parameter string) error {
	if err == nil {
		err = notFound(parameter)
	}
	return err
}

func (a *api) following(ctx context.Context, c *call, out *usersReply) error {
	s, user, err := a.of(ctx, c)
	if err != nil {
		return err
	}
	query := storage.FollowingQuery{User: user, Biz: storage.BizUser, Page: storage.Page{First: listPage}}
	page, err := loaders.Following.Fetch(ctx, query)
	if err != nil {
		return err
	}
	users := make([]storage.User, len(page.Entries))
	for i, one := range page.Entries {
		users[i] = storage.User{Tenant: user.Tenant, UserID: one.Subject.BizID}
	}
	out.UserList, err = s.users(ctx, users)
	return err
}

func (a *api) followers(ctx context.Context, c *call, out *usersReply) error {
	s, user, err := a.of(ctx, c)
	if err != nil {
		return err
	}
	query := storage.FollowersQuery{Subject: user.Subject(), Page: storage.Page{First: listPage}}
	page, err := loaders.Followers.Fetch(ctx, query)
	if err != nil {
		return err
	}
	users := make([]storage.User, len(page.Entries))
	for i, one := range page.Entries {
		users[i] = one.User
	}
	out.UserList, err = s.users(ctx, users)
	return err
}

// friends lists a user's friends. The viewer's own friends are listed with the latest
// message of each conversation.
func (a *api) friends(ctx context.Context, c *call, out *friendsReply) error {
	s, user, err := a.of(ctx, c)
	if err != nil {
		return err
	}
	query := storage.FriendsQuery{User: user, Page: storage.Page{First: listPage}}
	page, err := loaders.Friends.Fetch(ctx, query)
	if err != nil {
		return err
	}
	l := loaders.FromContext(ctx)
	users := make([]storage.User, len(page.Entries))
	for i, one := range page.Entries {
		if users[i] = one.User; user == s.me {
			loaders.Conversations.Want(l, storage.ConversationKey{Owner: s.me, With: one.User})
		}
	}
	if err := s.load(ctx, nil, users); err != nil {
		return err
	}
	out.UserList, err = each(users, func(u storage.User) (friendJSON, error) { return s.friend(ctx, u, user == s.me) })
	return err
}

// friend returns a loaded user as an entry in a list of friends. If mine is true, the
// list is the viewer's, and the entry includes the latest message.
func (b *replyBuilder) friend(ctx context.Context, of storage.User, mine bool) (out friendJSON, err error) {
	if out.userJSON, err = b.user(ctx, of); err != nil || !mine {
		return out, err
	}
	with, err := loaders.Conversations.Load(ctx, storage.ConversationKey{Owner: b.me, With: of})
	if err == nil && with != nil {
		if out.Message = with.Latest.Text; with.Latest.From == b.me {
			out.MsgType = sent
		} else {
			out.MsgType = received
		}
	}
	return out, err
}

// chat lists the newest messages in one of the viewer's conversations, in the order in
// which they were sent. If pre_msg_time is given, chat leaves out messages up to that
// time.
func (a *api) chat(ctx context.Context, c *call, out *messagesReply) error {
	key, err := conversation(ctx, c)
	if err != nil {
		return err
	}
	_, end, err := c.time("pre_msg_time")
	if err != nil {
		return err
	}
	query := storage.DirectMessagesQuery{Conversation: key, Page: storage.Page{First: listPage}}
	page, err := loaders.MessageLists.Fetch(ctx, query)
	if err != nil {
		return err
	}
	for _, m := range slices.Backward(page.Entries) {
		if m.Number < storage.FirstID(end) {
			continue
		}
		one := messageJSON{ID: m.Number, Content: m.Text, CreateTime: storage.IDMillis(m.Number)}
		one.FromUserID, _ = m.From.AccountID()
		one.ToUserID, _ = m.To.AccountID()
		out.MessageList = append(out.MessageList, one)
	}
	return nil
}

// conversation returns the key of the viewer's conversation with the user that the
// parameter to_user_id names.
func conversation(ctx context.Context, c *call) (storage.ConversationKey, error) {
	owner, err := requireViewer(ctx)
	if err != nil {
		return storage.ConversationKey{}, err
	}
	number, err := c.requiredID("to_user_id")
	if err != nil {
		return storage.ConversationKey{}, err
	}
	key := storage.ConversationKey{Owner: owner, With: storage.AccountUser(owner.Tenant, number)}
	return key, named("to_user_id", key.Validate())
}
