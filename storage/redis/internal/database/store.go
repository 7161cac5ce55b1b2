package database

import (
	"context"
	"time"

	"ovation/storage"
	"ovation/storage/redis/internal/dependency"
)

// Store calls the database for everything that is not in Redis. Reads are limited by
// their class, and writes are rejected while the breaker is open.
type Store struct {
	storage.Store

	reads, lists *dependency.Class // reads by key, and list queries
	database     *dependency.Backend
}

// NewStore returns a Store for a database.
func NewStore(db storage.Store, database *dependency.Backend, reads, lists *dependency.Class) *Store {
	return &Store{db, reads, lists, database}
}

// FoldersOf returns folders from the database.
func (s *Store) FoldersOf(ctx context.Context, keys []storage.FolderKey) ([]*storage.Folder, error) {
	return query(ctx, s.reads, "read folders", s.Store.FoldersOf, keys)
}

// Likers returns lists of likers from the database.
func (s *Store) Likers(ctx context.Context, queries []storage.LikersQuery) ([]storage.ListPage[storage.Liked], error) {
	return query(ctx, s.lists, "list likers", s.Store.Likers, queries)
}

// Likes returns lists of likes from the database.
func (s *Store) Likes(ctx context.Context, queries []storage.LikesQuery) ([]storage.ListPage[storage.Liked], error) {
	return query(ctx, s.lists, "list likes", s.Store.Likes, queries)
}

// Items returns lists of items from the database.
func (s *Store) Items(ctx context.Context, queries []storage.ItemsQuery) ([]storage.ListPage[storage.Collected], error) {
	return query(ctx, s.lists, "list items", s.Store.Items, queries)
}

// ListFolders returns lists of folders from the database.
func (s *Store) ListFolders(ctx context.Context, queries []storage.FoldersQuery) ([]storage.ListPage[storage.Folder], error) {
	return query(ctx, s.lists, "list folders", s.Store.ListFolders, queries)
}

// Reads returns lists of reads from the database.
func (s *Store) Reads(ctx context.Context, queries []storage.ReadsQuery) ([]storage.ListPage[storage.Read], error) {
	return query(ctx, s.lists, "list reads", s.Store.Reads, queries)
}

// Followers returns lists of followers from the database.
func (s *Store) Followers(ctx context.Context, queries []storage.FollowersQuery) ([]storage.ListPage[storage.Followed], error) {
	return query(ctx, s.lists, "list followers", s.Store.Followers, queries)
}

// Following returns, from the database, lists of what users follow.
func (s *Store) Following(ctx context.Context, queries []storage.FollowingQuery) ([]storage.ListPage[storage.Followed], error) {
	return query(ctx, s.lists, "list what is followed", s.Store.Following, queries)
}

// Friends returns lists of friends from the database.
func (s *Store) Friends(ctx context.Context, queries []storage.FriendsQuery) ([]storage.ListPage[storage.Friend], error) {
	return query(ctx, s.lists, "list friends", s.Store.Friends, queries)
}

// FollowedLikers returns, from the database, lists of likes by users who are followed.
func (s *Store) FollowedLikers(ctx context.Context, queries []storage.FollowedLikersQuery) ([]storage.ListPage[storage.FollowedLike], error) {
	return query(ctx, s.lists, "list likers who are followed", s.Store.FollowedLikers, queries)
}

// Works returns lists of works from the database.
func (s *Store) Works(ctx context.Context, queries []storage.WorksQuery) ([]storage.ListPage[storage.Work], error) {
	return query(ctx, s.lists, "list works", s.Store.Works, queries)
}

// Trending returns lists of trends from the database.
func (s *Store) Trending(ctx context.Context, queries []storage.TrendingQuery) ([]storage.ListPage[storage.Trend], error) {
	return query(ctx, s.lists, "list trends", s.Store.Trending, queries)
}

// TotalsOf returns the totals of users from the database.
func (s *Store) TotalsOf(ctx context.Context, users []storage.User) ([]storage.UserTotals, error) {
	return query(ctx, s.reads, "read totals", s.Store.TotalsOf, users)
}

func query[Q, A any](
	ctx context.Context, as *dependency.Class, what string, f func(context.Context, []Q) ([]A, error), queries []Q,
) ([]A, error) {
	return dependency.Query(ctx, as, what, func(ctx context.Context) ([]A, error) { return f(ctx, queries) })
}

// CreateFolder creates a folder in the database.
func (s *Store) CreateFolder(ctx context.Context, folder storage.Folder) (*storage.Folder, error) {
	if err := s.database.Err(); err != nil {
		return nil, err
	}
	return s.Store.CreateFolder(ctx, folder)
}

// UpdateFolder changes a folder in the database.
func (s *Store) UpdateFolder(
	ctx context.Context, key storage.FolderKey, change storage.FolderChange, at time.Time,
) (*storage.Folder, error) {
	if err := s.database.Err(); err != nil {
		return nil, err
	}
	return s.Store.UpdateFolder(ctx, key, change, at)
}

// DeleteFolder removes a folder from the database.
func (s *Store) DeleteFolder(ctx context.Context, key storage.FolderKey, moveTo string, at time.Time) error {
	if err := s.database.Err(); err != nil {
		return err
	}
	return s.Store.DeleteFolder(ctx, key, moveTo, at)
}

// BeginClear records a clear in the database.
func (s *Store) BeginClear(ctx context.Context, clearing storage.ReadsClear) error {
	if err := s.database.Err(); err != nil {
		return err
	}
	return s.Store.BeginClear(ctx, clearing)
}

// CommentsOf returns comments from the database.
func (s *Store) CommentsOf(ctx context.Context, keys []storage.CommentKey) ([]*storage.Comment, error) {
	return query(ctx, s.reads, "read comments", s.Store.CommentsOf, keys)
}

// CommentCounts returns the comment counts of subjects from the database.
func (s *Store) CommentCounts(ctx context.Context, subjects []storage.Subject) ([]storage.CommentCount, error) {
	return query(ctx, s.reads, "read comment counts", s.Store.CommentCounts, subjects)
}

// UserComments returns lists of users' comments from the database.
func (s *Store) UserComments(ctx context.Context, queries []storage.UserCommentsQuery) ([]storage.ListPage[storage.Comment], error) {
	return query(ctx, s.lists, "list comments of users", s.Store.UserComments, queries)
}

// ListComments returns lists of comments from the database.
func (s *Store) ListComments(ctx context.Context, queries []storage.CommentsQuery) ([]storage.ListPage[storage.Comment], error) {
	return query(ctx, s.lists, "list comments", s.Store.ListComments, queries)
}

// CommentChanges returns changed comments from the database.
func (s *Store) CommentChanges(ctx context.Context, query storage.CommentChangesQuery) ([]storage.Comment, error) {
	return dependency.Query(ctx, s.lists, "list changes of comments", func(ctx context.Context) ([]storage.Comment, error) {
		return s.Store.CommentChanges(ctx, query)
	})
}

// AddComments adds comments to the database.
func (s *Store) AddComments(ctx context.Context, comments []storage.NewComment) ([]storage.AddedComment, error) {
	if err := s.database.Err(); err != nil {
		return nil, err
	}
	return s.Store.AddComments(ctx, comments)
}

// EditComment changes a comment in the database.
func (s *Store) EditComment(ctx context.Context, change storage.CommentChange, text string) (*storage.Comment, error) {
	if err := s.database.Err(); err != nil {
		return nil, err
	}
	return s.Store.EditComment(ctx, change, text)
}

// DeleteComment removes a comment from the database.
func (s *Store) DeleteComment(ctx context.Context, change storage.CommentChange) (*storage.Comment, error) {
	if err := s.database.Err(); err != nil {
		return nil, err
	}
	return s.Store.DeleteComment(ctx, change)
}

// ConversationsOf returns conversations from the database.
func (s *Store) ConversationsOf(ctx context.Context, keys []storage.ConversationKey) ([]*storage.Conversation, error) {
	return query(ctx, s.reads, "read conversations", s.Store.ConversationsOf, keys)
}

// MessagesOf returns messages from the database.
func (s *Store) MessagesOf(ctx context.Context, keys []storage.DirectMessageKey) ([]*storage.DirectMessage, error) {
	return query(ctx, s.reads, "read messages", s.Store.MessagesOf, keys)
}

// LatestMessages returns the numbers of users' latest messages from the database.
func (s *Store) LatestMessages(ctx context.Context, users []storage.User) ([]int64, error) {
	return query(ctx, s.reads, "read mailboxes", s.Store.LatestMessages, users)
}

// ListConversations returns lists of conversations from the database.
func (s *Store) ListConversations(
	ctx context.Context, queries []storage.ConversationsQuery,
) ([]storage.ListPage[storage.Conversation], error) {
	return query(ctx, s.lists, "list conversations", s.Store.ListConversations, queries)
}

// ListMessages returns lists of messages from the database.
func (s *Store) ListMessages(ctx context.Context, queries []storage.DirectMessagesQuery) ([]storage.ListPage[storage.DirectMessage], error) {
	return query(ctx, s.lists, "list messages", s.Store.ListMessages, queries)
}

// MessagesAfter returns, from the database, a user's messages after a given number.
func (s *Store) MessagesAfter(ctx context.Context, query storage.MailboxQuery) ([]storage.DirectMessage, error) {
	return dependency.Query(ctx, s.lists, "list messages of a mailbox", func(ctx context.Context) ([]storage.DirectMessage, error) {
		return s.Store.MessagesAfter(ctx, query)
	})
}

// AddMessages adds messages to the database.
func (s *Store) AddMessages(ctx context.Context, messages []storage.NewDirectMessage) ([]storage.AddedDirectMessage, error) {
	if err := s.database.Err(); err != nil {
		return nil, err
	}
	return s.Store.AddMessages(ctx, messages)
}

// MarkRead marks messages as read in the database.
func (s *Store) MarkRead(ctx context.Context, key storage.ConversationKey, upTo int64) (*storage.Conversation, error) {
	if err := s.database.Err(); err != nil {
		return nil, err
	}
	return s.Store.MarkRead(ctx, key, upTo)
}
