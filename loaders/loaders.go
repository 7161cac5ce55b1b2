package loaders

import (
	"context"

	"golang.org/x/sync/errgroup"

	"ovation/storage"
)

// Source is the storage that loaders read.
type Source interface {
	storage.Reader
	storage.Lister
	storage.CommentReader
	storage.ProfileReader
	storage.DirectMessageReader
	storage.VideoReader
	storage.Searcher
}

// Loaders holds the loaders of one response. All methods except ClearAll are safe for
// concurrent use.
//
// Each lookup returns cached values and joins a batch for all other keys. After a failed
// call, lookups of the same kind return its error for keys that are not cached, without
// another call.
type Loaders struct {
	*batches

	cachedOnly bool // lookups use the cache only
}

type batches struct {
	interactives   batch[storage.Subject, *storage.Interactive]
	states         batch[storage.StateKey, storage.States]
	folders        batch[storage.FolderKey, *storage.Folder]
	likers         batch[storage.LikersQuery, storage.ListPage[storage.Liked]]
	likes          batch[storage.LikesQuery, storage.ListPage[storage.Liked]]
	items          batch[storage.ItemsQuery, storage.ListPage[storage.Collected]]
	folderLists    batch[storage.FoldersQuery, storage.ListPage[storage.Folder]]
	reads          batch[storage.ReadsQuery, storage.ListPage[storage.Read]]
	followers      batch[storage.FollowersQuery, storage.ListPage[storage.Followed]]
	following      batch[storage.FollowingQuery, storage.ListPage[storage.Followed]]
	friends        batch[storage.FriendsQuery, storage.ListPage[storage.Friend]]
	followedLikers batch[storage.FollowedLikersQuery, storage.ListPage[storage.FollowedLike]]
	trending       batch[storage.TrendingQuery, storage.ListPage[storage.Trend]]
	works          batch[storage.WorksQuery, storage.ListPage[storage.Work]]
	totals         batch[storage.User, storage.UserTotals]

	comments      batch[storage.CommentKey, *storage.Comment]
	commentCounts batch[storage.Subject, storage.CommentCount]
	commentLists  batch[storage.CommentsQuery, storage.ListPage[storage.Comment]]
	userComments  batch[storage.UserCommentsQuery, storage.ListPage[storage.Comment]]

	profiles batch[storage.User, *storage.Profile]

	messages          batch[storage.DirectMessageKey, *storage.DirectMessage]
	messageLists      batch[storage.DirectMessagesQuery, storage.ListPage[storage.DirectMessage]]
	conversations     batch[storage.ConversationKey, *storage.Conversation]
	conversationLists batch[storage.ConversationsQuery, storage.ListPage[storage.Conversation]]

	videos     batch[storage.VideoKey, *storage.Video]
	feeds      batch[storage.FeedQuery, storage.ListPage[storage.Video]]
	userVideos batch[storage.UserVideosQuery, storage.ListPage[storage.Video]]

	foundUsers  batch[storage.SearchQuery, storage.ListPage[storage.FoundUser]]
	foundVideos batch[storage.SearchQuery, storage.ListPage[storage.FoundVideo]]
}

// New returns the loaders of one response for a viewer. Interactives include the
// viewer's states of the given kinds.
func New(source Source, viewer storage.User, kinds storage.Kinds) *Loaders {
	l := new(batches)
	l.interactives.source, l.interactives.fetch = source, func(_ Source, ctx context.Context, subjects []storage.Subject) ([]*storage.Interactive, error) {
		found, err := source.Interactives(ctx, viewer, subjects, kinds)
		if err != nil {
			return nil, err
		}
		out := make([]*storage.Interactive, len(found))
		for i := range found {
			out[i] = &found[i]
		}
		return out, nil
	}
	l.states.source, l.states.fetch = source, func(source Source, ctx context.Context, keys []storage.StateKey) ([]storage.States, error) {
		return source.States(ctx, keys, storage.AllKinds)
	}
	l.folders.source, l.folders.fetch = source, Source.FoldersOf
	l.likers.source, l.likers.fetch = source, Source.Likers
	l.likes.source, l.likes.fetch = source, Source.Likes
	l.items.source, l.items.fetch = source, Source.Items
	l.folderLists.source, l.folderLists.fetch = source, Source.ListFolders
	l.reads.source, l.reads.fetch = source, Source.Reads
	l.comments.source, l.comments.fetch = source, Source.CommentsOf
	l.commentCounts.source, l.commentCounts.fetch = source, Source.CommentCounts
	l.commentLists.source, l.commentLists.fetch = source, Source.ListComments
	l.userComments.source, l.userComments.fetch = source, Source.UserComments
	l.profiles.source, l.profiles.fetch = source, Source.Profiles
	l.messages.source, l.messages.fetch = source, Source.MessagesOf
	l.messageLists.source, l.messageLists.fetch = source, Source.ListMessages
	l.conversations.source, l.conversations.fetch = source, Source.ConversationsOf
	l.conversationLists.source, l.conversationLists.fetch = source, Source.ListConversations
	l.videos.source, l.videos.fetch = source, Source.VideosOf
	l.feeds.source, l.feeds.fetch = source, Source.Feed
	l.userVideos.source, l.userVideos.fetch = source, Source.UserVideos
	l.foundUsers.source, l.foundUsers.fetch = source, Source.SearchUsers
	l.foundVideos.source, l.foundVideos.fetch = source, Source.SearchVideos
	l.followers.source, l.followers.fetch = source, Source.Followers
	l.following.source, l.following.fetch = source, Source.Following
	l.friends.source, l.friends.fetch = source, Source.Friends
	l.followedLikers.source, l.followedLikers.fetch = source, Source.FollowedLikers
	l.works.source, l.works.fetch = source, Source.Works
	l.trending.source, l.trending.fetch = source, Source.Trending
	l.totals.source, l.totals.fetch = source, Source.TotalsOf
	return &Loaders{batches: l}
}

// CachedOnly returns loaders that share the cache but load nothing. Looking up a key that
// is not cached is an error. A lookup waits only if its key is being loaded.
func (l *Loaders) CachedOnly() *Loaders { return &Loaders{l.batches, true} }

// Keys holds the keys to load, of every kind.
type Keys struct {
	Interactives   []storage.Subject
	States         []storage.StateKey
	Folders        []storage.FolderKey
	Likers         []storage.LikersQuery
	Likes          []storage.LikesQuery
	Items          []storage.ItemsQuery
	FolderLists    []storage.FoldersQuery
	Reads          []storage.ReadsQuery
	Followers      []storage.FollowersQuery
	Following      []storage.FollowingQuery
	Friends        []storage.FriendsQuery
	FollowedLikers []storage.FollowedLikersQuery
	Trending       []storage.TrendingQuery
	Works          []storage.WorksQuery
	Totals         []storage.User

	Comments      []storage.CommentKey
	CommentCounts []storage.Subject
	CommentLists  []storage.CommentsQuery
	UserComments  []storage.UserCommentsQuery

	Profiles []storage.User

	Messages          []storage.DirectMessageKey
	MessageLists      []storage.DirectMessagesQuery
	Conversations     []storage.ConversationKey
	ConversationLists []storage.ConversationsQuery

	Videos     []storage.VideoKey
	Feeds      []storage.FeedQuery
	UserVideos []storage.UserVideosQuery

	FoundUsers  []storage.SearchQuery
	FoundVideos []storage.SearchQuery
}

// Fetch loads the keys that are not cached. It makes one call to storage for each kind,
// all of them concurrently, and does not wait for further keys. Keys that are already
// being loaded are neither loaded again nor waited for. Fetch returns the first error; a
// kind that fails does not stop the others. The caller must not change the keys
// afterwards.
func (l *Loaders) Fetch(ctx context.Context, keys Keys) error {
	var calls []func(context.Context) error
	calls = appendFetch(calls, &l.interactives, keys.Interactives)
	calls = appendFetch(calls, &l.states, keys.States)
	calls = appendFetch(calls, &l.folders, keys.Folders)
	calls = appendFetch(calls, &l.likers, keys.Likers)
	calls = appendFetch(calls, &l.likes, keys.Likes)
	calls = appendFetch(calls, &l.items, keys.Items)
	calls = appendFetch(calls, &l.folderLists, keys.FolderLists)
	calls = appendFetch(calls, &l.reads, keys.Reads)
	calls = appendFetch(calls, &l.comments, keys.Comments)
	calls = appendFetch(calls, &l.commentCounts, keys.CommentCounts)
	calls = appendFetch(calls, &l.commentLists, keys.CommentLists)
	calls = appendFetch(calls, &l.userComments, keys.UserComments)
	calls = appendFetch(calls, &l.profiles, keys.Profiles)
	calls = appendFetch(calls, &l.messages, keys.Messages)
	calls = appendFetch(calls, &l.messageLists, keys.MessageLists)
	calls = appendFetch(calls, &l.conversations, keys.Conversations)
	calls = appendFetch(calls, &l.conversationLists, keys.ConversationLists)
	calls = appendFetch(calls, &l.videos, keys.Videos)
	calls = appendFetch(calls, &l.feeds, keys.Feeds)
	calls = appendFetch(calls, &l.userVideos, keys.UserVideos)
	calls = appendFetch(calls, &l.foundUsers, keys.FoundUsers)
	calls = appendFetch(calls, &l.foundVideos, keys.FoundVideos)
	calls = appendFetch(calls, &l.followers, keys.Followers)
	calls = appendFetch(calls, &l.following, keys.Following)
	calls = appendFetch(calls, &l.friends, keys.Friends)
	calls = appendFetch(calls, &l.followedLikers, keys.FollowedLikers)
	calls = appendFetch(calls, &l.works, keys.Works)
	calls = appendFetch(calls, &l.trending, keys.Trending)
	calls = appendFetch(calls, &l.totals, keys.Totals)
	if len(calls) == 1 {
		return calls[0](ctx)
	}
	var group errgroup.Group // a kind that fails does not cancel the others
	for _, call := range calls {
		group.Go(func() error { return call(ctx) })
	}
	return group.Wait()
}

// appendFetch appends the call that loads keys of one kind, unless keys is empty.
func appendFetch[K comparable, V any](calls []func(context.Context) error, b *batch[K, V], keys []K) []func(context.Context) error {
	if len(keys) == 0 {
		return calls
	}
	return append(calls, func(ctx context.Context) error { return b.prefetch(ctx, keys) })
}

// Prime puts a subject, as the viewer sees it, into the cache.
func (l *Loaders) Prime(interactive *storage.Interactive) {
	l.interactives.prime(interactive.Subject, interactive)
}

// ClearAll clears the cache. Each mutation of a request calls it, so that no payload
// shows the state before the mutation. A kind that failed with [storage.ErrUnavailable]
// continues to fail.
func (l *Loaders) ClearAll() {
	l.interactives.Clear()
	l.states.Clear()
	l.folders.Clear()
	l.likers.Clear()
	l.likes.Clear()
	l.items.Clear()
	l.folderLists.Clear()
	l.reads.Clear()
	l.comments.Clear()
	l.commentCounts.Clear()
	l.commentLists.Clear()
	l.userComments.Clear()
	l.profiles.Clear()
	l.messages.Clear()
	l.messageLists.Clear()
	l.conversations.Clear()
	l.conversationLists.Clear()
	l.videos.Clear()
	l.feeds.Clear()
	l.userVideos.Clear()
	l.foundUsers.Clear()
	l.foundVideos.Clear()
	l.followers.Clear()
	l.following.Clear()
	l.friends.Clear()
	l.followedLikers.Clear()
	l.works.Clear()
	l.trending.Clear()
	l.totals.Clear()
}

// Interactive returns a subject as the viewer sees it.
func (l *Loaders) Interactive(ctx context.Context, subject storage.Subject) (*storage.Interactive, error) {
	return l.interactives.load(ctx, subject, l.cachedOnly)
}

// Interactives returns many subjects, in the order of the argument.
func (l *Loaders) Interactives(ctx context.Context, subjects []storage.Subject) ([]*storage.Interactive, error) {
	return l.interactives.loadMany(ctx, subjects, l.cachedOnly)
}

// States returns the states of a user, who need not be the viewer, on one subject.
func (l *Loaders) States(ctx context.Context, key storage.StateKey) (storage.States, error) {
	return l.states.load(ctx, key, l.cachedOnly)
}

// Folder returns a folder, or nil if it does not exist. The caller checks whether the
// viewer may see it.
func (l *Loaders) Folder(ctx context.Context, key storage.FolderKey) (*storage.Folder, error) {
	return l.folders.load(ctx, key, l.cachedOnly)
}

// Likers returns a page of the users who like a subject.
func (l *Loaders) Likers(ctx context.Context, query storage.LikersQuery) (storage.ListPage[storage.Liked], error) {
	return l.likers.load(ctx, query, l.cachedOnly)
}

// Likes returns a page of the subjects that a user likes.
func (l *Loaders) Likes(ctx context.Context, query storage.LikesQuery) (storage.ListPage[storage.Liked], error) {
	return l.likes.load(ctx, query, l.cachedOnly)
}

// Items returns a page of a folder.
func (l *Loaders) Items(ctx context.Context, query storage.ItemsQuery) (storage.ListPage[storage.Collected], error) {
	return l.items.load(ctx, query, l.cachedOnly)
}

// Folders returns a page of a user's folders.
func (l *Loaders) Folders(ctx context.Context, query storage.FoldersQuery) (storage.ListPage[storage.Folder], error) {
	return l.folderLists.load(ctx, query, l.cachedOnly)
}

// Reads returns a page of the subjects that a user has read.
func (l *Loaders) Reads(ctx context.Context, query storage.ReadsQuery) (storage.ListPage[storage.Read], error) {
	return l.reads.load(ctx, query, l.cachedOnly)
}

// Comment returns a comment, or nil if the comment does not exist or is not listed.
func (l *Loaders) Comment(ctx context.Context, key storage.CommentKey) (*storage.Comment, error) {
	return l.comments.load(ctx, key, l.cachedOnly)
}

// CommentCount returns the number of comments on a subject.
func (l *Loaders) CommentCount(ctx context.Context, subject storage.Subject) (storage.CommentCount, error) {
	return l.commentCounts.load(ctx, subject, l.cachedOnly)
}

// CommentList returns a page of comments.
func (l *Loaders) CommentList(ctx context.Context, query storage.CommentsQuery) (storage.ListPage[storage.Comment], error) {
	return l.commentLists.load(ctx, query, l.cachedOnly)
}

// UserComments returns a page of a user's comments.
func (l *Loaders) UserComments(ctx context.Context, query storage.UserCommentsQuery) (storage.ListPage[storage.Comment], error) {
	return l.userComments.load(ctx, query, l.cachedOnly)
}

// Profile returns a user's profile, or nil if the user has no account.
func (l *Loaders) Profile(ctx context.Context, user storage.User) (*storage.Profile, error) {
	return l.profiles.load(ctx, user, l.cachedOnly)
}

// Message returns a message, or nil if it does not exist. The caller checks whether the
// viewer may see it.
func (l *Loaders) Message(ctx context.Context, key storage.DirectMessageKey) (*storage.DirectMessage, error) {
	return l.messages.load(ctx, key, l.cachedOnly)
}

// MessageList returns a page of a conversation.
func (l *Loaders) MessageList(ctx context.Context, query storage.DirectMessagesQuery) (storage.ListPage[storage.DirectMessage], error) {
	return l.messageLists.load(ctx, query, l.cachedOnly)
}

// Conversation returns a conversation, or nil if the conversation has no message.
func (l *Loaders) Conversation(ctx context.Context, key storage.ConversationKey) (*storage.Conversation, error) {
	return l.conversations.load(ctx, key, l.cachedOnly)
}

// ConversationList returns a page of a user's conversations.
func (l *Loaders) ConversationList(ctx context.Context, query storage.ConversationsQuery) (storage.ListPage[storage.Conversation], error) {
	return l.conversationLists.load(ctx, query, l.cachedOnly)
}

// Video returns a video, or nil if it does not exist.
func (l *Loaders) Video(ctx context.Context, key storage.VideoKey) (*storage.Video, error) {
	return l.videos.load(ctx, key, l.cachedOnly)
}

// Feed returns a page of all videos.
func (l *Loaders) Feed(ctx context.Context, query storage.FeedQuery) (storage.ListPage[storage.Video], error) {
	return l.feeds.load(ctx, query, l.cachedOnly)
}

// UserVideos returns a page of a user's videos.
func (l *Loaders) UserVideos(ctx context.Context, query storage.UserVideosQuery) (storage.ListPage[storage.Video], error) {
	return l.userVideos.load(ctx, query, l.cachedOnly)
}

// SearchUsers returns a page of the users whose names a search finds.
func (l *Loaders) SearchUsers(ctx context.Context, query storage.SearchQuery) (storage.ListPage[storage.FoundUser], error) {
	return l.foundUsers.load(ctx, query, l.cachedOnly)
}

// SearchVideos returns a page of the videos whose titles a search finds.
func (l *Loaders) SearchVideos(ctx context.Context, query storage.SearchQuery) (storage.ListPage[storage.FoundVideo], error) {
	return l.foundVideos.load(ctx, query, l.cachedOnly)
}

// Followers returns a page of a subject's followers.
func (l *Loaders) Followers(ctx context.Context, query storage.FollowersQuery) (storage.ListPage[storage.Followed], error) {
	return l.followers.load(ctx, query, l.cachedOnly)
}

// Following returns a page of the subjects that a user follows.
func (l *Loaders) Following(ctx context.Context, query storage.FollowingQuery) (storage.ListPage[storage.Followed], error) {
	return l.following.load(ctx, query, l.cachedOnly)
}

// Friends returns a page of a user's friends.
func (l *Loaders) Friends(ctx context.Context, query storage.FriendsQuery) (storage.ListPage[storage.Friend], error) {
	return l.friends.load(ctx, query, l.cachedOnly)
}

type contextKey struct{}

// NewContext returns a context that carries the loaders.
func NewContext(ctx context.Context, l *Loaders) context.Context {
	return context.WithValue(ctx, contextKey{}, l)
}

// FromContext returns the loaders of the context, or nil if it has none.
func FromContext(ctx context.Context) *Loaders {
	l, _ := ctx.Value(contextKey{}).(*Loaders)
	return l
}

// FollowedLikers returns a page of the likes on a subject by users who are followed.
func (l *Loaders) FollowedLikers(ctx context.Context, query storage.FollowedLikersQuery) (storage.ListPage[storage.FollowedLike], error) {
	return l.followedLikers.load(ctx, query, l.cachedOnly)
}

// Trending returns a page of trends.
func (l *Loaders) Trending(ctx context.Context, query storage.TrendingQuery) (storage.ListPage[storage.Trend], error) {
	return l.trending.load(ctx, query, l.cachedOnly)
}

// Works returns a page of a user's works.
func (l *Loaders) Works(ctx context.Context, query storage.WorksQuery) (storage.ListPage[storage.Work], error) {
	return l.works.load(ctx, query, l.cachedOnly)
}

// Totals returns a user's totals.
func (l *Loaders) Totals(ctx context.Context, user storage.User) (storage.UserTotals, error) {
	return l.totals.load(ctx, user, l.cachedOnly)
}
