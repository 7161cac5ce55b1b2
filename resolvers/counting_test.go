package resolvers_test

import (
	"context"
	"sync"

	"ovation/storage"
)

// counting counts the calls with which resolvers read.
type counting struct {
	storage.Store

	mu sync.Mutex
	n  map[string]int
}

func (c *counting) count(method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[method]++
}

// taken returns the calls since it was last called.
func (c *counting) taken() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	c.n = map[string]int{}
	return n
}

func (c *counting) Interactives(ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds) ([]storage.Interactive, error) {
	c.count("Interactives")
	return c.Store.Interactives(ctx, viewer, subjects, kinds)
}

func (c *counting) States(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) ([]storage.States, error) {
	c.count("States")
	return c.Store.States(ctx, keys, kinds)
}

func (c *counting) FoldersOf(ctx context.Context, keys []storage.FolderKey) ([]*storage.Folder, error) {
	c.count("FoldersOf")
	return c.Store.FoldersOf(ctx, keys)
}

func (c *counting) Likers(ctx context.Context, queries []storage.LikersQuery) ([]storage.ListPage[storage.Liked], error) {
	c.count("Likers")
	return c.Store.Likers(ctx, queries)
}

func (c *counting) Likes(ctx context.Context, queries []storage.LikesQuery) ([]storage.ListPage[storage.Liked], error) {
	c.count("Likes")
	return c.Store.Likes(ctx, queries)
}

func (c *counting) Items(ctx context.Context, queries []storage.ItemsQuery) ([]storage.ListPage[storage.Collected], error) {
	c.count("Items")
	return c.Store.Items(ctx, queries)
}

func (c *counting) ListFolders(ctx context.Context, queries []storage.FoldersQuery) ([]storage.ListPage[storage.Folder], error) {
	c.count("ListFolders")
	return c.Store.ListFolders(ctx, queries)
}

func (c *counting) Reads(ctx context.Context, queries []storage.ReadsQuery) ([]storage.ListPage[storage.Read], error) {
	c.count("Reads")
	return c.Store.Reads(ctx, queries)
}

func (c *counting) CommentsOf(ctx context.Context, keys []storage.CommentKey) ([]*storage.Comment, error) {
	c.count("CommentsOf")
	return c.Store.CommentsOf(ctx, keys)
}

func (c *counting) CommentCounts(ctx context.Context, subjects []storage.Subject) ([]storage.CommentCount, error) {
	c.count("CommentCounts")
	return c.Store.CommentCounts(ctx, subjects)
}

func (c *counting) ListComments(ctx context.Context, queries []storage.CommentsQuery) ([]storage.ListPage[storage.Comment], error) {
	c.count("ListComments")
	return c.Store.ListComments(ctx, queries)
}

func (c *counting) Profiles(ctx context.Context, users []storage.User) ([]*storage.Profile, error) {
	c.count("Profiles")
	return c.Store.Profiles(ctx, users)
}

func (c *counting) MessagesOf(ctx context.Context, keys []storage.DirectMessageKey) ([]*storage.DirectMessage, error) {
	c.count("MessagesOf")
	return c.Store.MessagesOf(ctx, keys)
}

func (c *counting) ConversationsOf(ctx context.Context, keys []storage.ConversationKey) ([]*storage.Conversation, error) {
	c.count("ConversationsOf")
	return c.Store.ConversationsOf(ctx, keys)
}

func (c *counting) ListConversations(ctx context.Context, queries []storage.ConversationsQuery) ([]storage.ListPage[storage.Conversation], error) {
	c.count("ListConversations")
	return c.Store.ListConversations(ctx, queries)
}

func (c *counting) ListMessages(ctx context.Context, queries []storage.DirectMessagesQuery) ([]storage.ListPage[storage.DirectMessage], error) {
	c.count("ListMessages")
	return c.Store.ListMessages(ctx, queries)
}

func (c *counting) Followers(ctx context.Context, queries []storage.FollowersQuery) ([]storage.ListPage[storage.Followed], error) {
	c.count("Followers")
	return c.Store.Followers(ctx, queries)
}

func (c *counting) Following(ctx context.Context, queries []storage.FollowingQuery) ([]storage.ListPage[storage.Followed], error) {
	c.count("Following")
	return c.Store.Following(ctx, queries)
}

func (c *counting) Friends(ctx context.Context, queries []storage.FriendsQuery) ([]storage.ListPage[storage.Friend], error) {
	c.count("Friends")
	return c.Store.Friends(ctx, queries)
}

func (c *counting) Works(ctx context.Context, queries []storage.WorksQuery) ([]storage.ListPage[storage.Work], error) {
	c.count("Works")
	return c.Store.Works(ctx, queries)
}

func (c *counting) TotalsOf(ctx context.Context, users []storage.User) ([]storage.UserTotals, error) {
	c.count("TotalsOf")
	return c.Store.TotalsOf(ctx, users)
}

func (c *counting) VideosOf(ctx context.Context, keys []storage.VideoKey) ([]*storage.Video, error) {
	c.count("VideosOf")
	return c.Store.VideosOf(ctx, keys)
}

func (c *counting) Feed(ctx context.Context, queries []storage.FeedQuery) ([]storage.ListPage[storage.Video], error) {
	c.count("Feed")
	return c.Store.Feed(ctx, queries)
}

func (c *counting) UserVideos(ctx context.Context, queries []storage.UserVideosQuery) ([]storage.ListPage[storage.Video], error) {
	c.count("UserVideos")
	return c.Store.UserVideos(ctx, queries)
}
