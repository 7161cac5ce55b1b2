package metered

import (
	"context"
	"time"

	"ovation/storage"
)

// Interactives implements storage.Reader.
func (s *Store) Interactives(ctx context.Context, viewer storage.User, subjects []storage.Subject, kinds storage.Kinds) (out []storage.Interactive, err error) {
	defer s.measure("Interactives", time.Now(), &err)
	out, err = s.Store.Interactives(ctx, viewer, subjects, kinds)
	for from, to := 0, 0; from < len(out); from = to {
		for to < len(out) && out[to].Freshness == out[from].Freshness {
			to++
		}
		s.replies.WithLabelValues(string(out[from].Freshness)).Add(float64(to - from))
	}
	return out, err
}

// States implements storage.Reader.
func (s *Store) States(ctx context.Context, keys []storage.StateKey, kinds storage.Kinds) (_ []storage.States, err error) {
	defer s.measure("States", time.Now(), &err)
	return s.Store.States(ctx, keys, kinds)
}

// FoldersOf implements storage.Reader.
func (s *Store) FoldersOf(ctx context.Context, keys []storage.FolderKey) (_ []*storage.Folder, err error) {
	defer s.measure("FoldersOf", time.Now(), &err)
	return s.Store.FoldersOf(ctx, keys)
}

// Likers implements storage.Lister.
func (s *Store) Likers(ctx context.Context, queries []storage.LikersQuery) (_ []storage.ListPage[storage.Liked], err error) {
	defer s.measure("Likers", time.Now(), &err)
	return s.Store.Likers(ctx, queries)
}

// Likes implements storage.Lister.
func (s *Store) Likes(ctx context.Context, queries []storage.LikesQuery) (_ []storage.ListPage[storage.Liked], err error) {
	defer s.measure("Likes", time.Now(), &err)
	return s.Store.Likes(ctx, queries)
}

// Items implements storage.Lister.
func (s *Store) Items(ctx context.Context, queries []storage.ItemsQuery) (_ []storage.ListPage[storage.Collected], err error) {
	defer s.measure("Items", time.Now(), &err)
	return s.Store.Items(ctx, queries)
}

// ListFolders implements storage.Lister.
func (s *Store) ListFolders(ctx context.Context, queries []storage.FoldersQuery) (_ []storage.ListPage[storage.Folder], err error) {
	defer s.measure("ListFolders", time.Now(), &err)
	return s.Store.ListFolders(ctx, queries)
}

// Reads implements storage.Lister.
func (s *Store) Reads(ctx context.Context, queries []storage.ReadsQuery) (_ []storage.ListPage[storage.Read], err error) {
	defer s.measure("Reads", time.Now(), &err)
	return s.Store.Reads(ctx, queries)
}

// Followers implements storage.Lister.
func (s *Store) Followers(ctx context.Context, queries []storage.FollowersQuery) (_ []storage.ListPage[storage.Followed], err error) {
	defer s.measure("Followers", time.Now(), &err)
	return s.Store.Followers(ctx, queries)
}

// Following implements storage.Lister.
func (s *Store) Following(ctx context.Context, queries []storage.FollowingQuery) (_ []storage.ListPage[storage.Followed], err error) {
	defer s.measure("Following", time.Now(), &err)
	return s.Store.Following(ctx, queries)
}

// Friends implements storage.Lister.
func (s *Store) Friends(ctx context.Context, queries []storage.FriendsQuery) (_ []storage.ListPage[storage.Friend], err error) {
	defer s.measure("Friends", time.Now(), &err)
	return s.Store.Friends(ctx, queries)
}

// TotalsOf implements storage.Reader.
func (s *Store) TotalsOf(ctx context.Context, users []storage.User) (_ []storage.UserTotals, err error) {
	defer s.measure("TotalsOf", time.Now(), &err)
	return s.Store.TotalsOf(ctx, users)
}

// FollowedLikers implements storage.Lister.
func (s *Store) FollowedLikers(ctx context.Context, queries []storage.FollowedLikersQuery) (_ []storage.ListPage[storage.FollowedLike], err error) {
	defer s.measure("FollowedLikers", time.Now(), &err)
	return s.Store.FollowedLikers(ctx, queries)
}

// Trending implements storage.Lister.
func (s *Store) Trending(ctx context.Context, queries []storage.TrendingQuery) (_ []storage.ListPage[storage.Trend], err error) {
	defer s.measure("Trending", time.Now(), &err)
	return s.Store.Trending(ctx, queries)
}

// Works implements storage.Lister.
func (s *Store) Works(ctx context.Context, queries []storage.WorksQuery) (_ []storage.ListPage[storage.Work], err error) {
	defer s.measure("Works", time.Now(), &err)
	return s.Store.Works(ctx, queries)
}

// Persist implements storage.Persister.
func (s *Store) Persist(ctx context.Context, messages []storage.Message, mark storage.Mark) (_ storage.Outcome, err error) {
	defer s.measure("Persist", time.Now(), &err)
	return s.Store.Persist(ctx, messages, mark)
}

// Seen implements storage.Persister.
func (s *Store) Seen(ctx context.Context, ids []string) (_ []bool, err error) {
	defer s.measure("Seen", time.Now(), &err)
	return s.Store.Seen(ctx, ids)
}

// Prune implements storage.Persister.
func (s *Store) Prune(ctx context.Context, age time.Duration) (_ int64, err error) {
	defer s.measure("Prune", time.Now(), &err)
	return s.Store.Prune(ctx, age)
}

// CreateFolder implements storage.Folders.
func (s *Store) CreateFolder(ctx context.Context, folder storage.Folder) (_ *storage.Folder, err error) {
	defer s.measure("CreateFolder", time.Now(), &err)
	return s.Store.CreateFolder(ctx, folder)
}

// UpdateFolder implements storage.Folders.
func (s *Store) UpdateFolder(ctx context.Context, key storage.FolderKey, change storage.FolderChange, at time.Time) (_ *storage.Folder, err error) {
	defer s.measure("UpdateFolder", time.Now(), &err)
	return s.Store.UpdateFolder(ctx, key, change, at)
}

// EmptyFolder implements storage.Folders.
func (s *Store) EmptyFolder(ctx context.Context, key storage.FolderKey, moveTo string, at time.Time, limit int, mark storage.Mark) (_ int, _ storage.Outcome, err error) {
	defer s.measure("EmptyFolder", time.Now(), &err)
	return s.Store.EmptyFolder(ctx, key, moveTo, at, limit, mark)
}

// DeleteFolder implements storage.Folders.
func (s *Store) DeleteFolder(ctx context.Context, key storage.FolderKey, moveTo string, at time.Time) (err error) {
	defer s.measure("DeleteFolder", time.Now(), &err)
	return s.Store.DeleteFolder(ctx, key, moveTo, at)
}

// BeginClear implements storage.Histories.
func (s *Store) BeginClear(ctx context.Context, clearing storage.ReadsClear) (err error) {
	defer s.measure("BeginClear", time.Now(), &err)
	return s.Store.BeginClear(ctx, clearing)
}

// ClearReads implements storage.Histories.
func (s *Store) ClearReads(ctx context.Context, clearing storage.ReadsClear, limit int, mark storage.Mark) (_ int, _ storage.Outcome, err error) {
	defer s.measure("ClearReads", time.Now(), &err)
	return s.Store.ClearReads(ctx, clearing, limit, mark)
}

// CommentsOf implements storage.CommentReader.
func (s *Store) CommentsOf(ctx context.Context, keys []storage.CommentKey) (_ []*storage.Comment, err error) {
	defer s.measure("CommentsOf", time.Now(), &err)
	return s.Store.CommentsOf(ctx, keys)
}

// CommentCounts implements storage.CommentReader.
func (s *Store) CommentCounts(ctx context.Context, subjects []storage.Subject) (_ []storage.CommentCount, err error) {
	defer s.measure("CommentCounts", time.Now(), &err)
	return s.Store.CommentCounts(ctx, subjects)
}

// UserComments implements storage.CommentReader.
func (s *Store) UserComments(ctx context.Context, queries []storage.UserCommentsQuery) (_ []storage.ListPage[storage.Comment], err error) {
	defer s.measure("UserComments", time.Now(), &err)
	return s.Store.UserComments(ctx, queries)
}

// ListComments implements storage.CommentReader.
func (s *Store) ListComments(ctx context.Context, queries []storage.CommentsQuery) (_ []storage.ListPage[storage.Comment], err error) {
	defer s.measure("ListComments", time.Now(), &err)
	return s.Store.ListComments(ctx, queries)
}

// CommentChanges implements storage.CommentReader.
func (s *Store) CommentChanges(ctx context.Context, query storage.CommentChangesQuery) (_ []storage.Comment, err error) {
	defer s.measure("CommentChanges", time.Now(), &err)
	return s.Store.CommentChanges(ctx, query)
}

// AddComments implements storage.Comments.
func (s *Store) AddComments(ctx context.Context, comments []storage.NewComment) (_ []storage.AddedComment, err error) {
	defer s.measure("AddComments", time.Now(), &err)
	return s.Store.AddComments(ctx, comments)
}

// EditComment implements storage.Comments.
func (s *Store) EditComment(ctx context.Context, change storage.CommentChange, text string) (_ *storage.Comment, err error) {
	defer s.measure("EditComment", time.Now(), &err)
	return s.Store.EditComment(ctx, change, text)
}

// DeleteComment implements storage.Comments.
func (s *Store) DeleteComment(ctx context.Context, change storage.CommentChange) (_ *storage.Comment, err error) {
	defer s.measure("DeleteComment", time.Now(), &err)
	return s.Store.DeleteComment(ctx, change)
}

// Profiles implements storage.ProfileReader.
func (s *Store) Profiles(ctx context.Context, users []storage.User) (_ []*storage.Profile, err error) {
	defer s.measure("Profiles", time.Now(), &err)
	return s.Store.Profiles(ctx, users)
}

// CreateAccount implements storage.Accounts.
func (s *Store) CreateAccount(ctx context.Context, account storage.NewAccount) (_ *storage.Account, err error) {
	defer s.measure("CreateAccount", time.Now(), &err)
	return s.Store.CreateAccount(ctx, account)
}

// AccountNamed implements storage.Accounts.
func (s *Store) AccountNamed(ctx context.Context, tenant, nameKey string) (_ *storage.Account, err error) {
	defer s.measure("AccountNamed", time.Now(), &err)
	return s.Store.AccountNamed(ctx, tenant, nameKey)
}

// AccountOf implements storage.Accounts.
func (s *Store) AccountOf(ctx context.Context, user storage.User) (_ *storage.Account, err error) {
	defer s.measure("AccountOf", time.Now(), &err)
	return s.Store.AccountOf(ctx, user)
}

// ReplacePassword implements storage.Accounts.
func (s *Store) ReplacePassword(ctx context.Context, user storage.User, change storage.PasswordChange) (_ *storage.Account, err error) {
	defer s.measure("ReplacePassword", time.Now(), &err)
	return s.Store.ReplacePassword(ctx, user, change)
}

// RevokeTokens implements storage.Accounts.
func (s *Store) RevokeTokens(ctx context.Context, user storage.User) (_ *storage.Account, err error) {
	defer s.measure("RevokeTokens", time.Now(), &err)
	return s.Store.RevokeTokens(ctx, user)
}

// UpdateProfile implements storage.Accounts.
func (s *Store) UpdateProfile(ctx context.Context, user storage.User, change storage.ProfileChange) (_ *storage.UpdatedProfile, err error) {
	defer s.measure("UpdateProfile", time.Now(), &err)
	return s.Store.UpdateProfile(ctx, user, change)
}

// NamedAvatars implements storage.Accounts.
func (s *Store) NamedAvatars(ctx context.Context, files []string) (_ []bool, err error) {
	defer s.measure("NamedAvatars", time.Now(), &err)
	return s.Store.NamedAvatars(ctx, files)
}

// Revocations implements storage.Accounts.
func (s *Store) Revocations(ctx context.Context, after storage.Revocation, limit int) (_ []storage.Revocation, err error) {
	defer s.measure("Revocations", time.Now(), &err)
	return s.Store.Revocations(ctx, after, limit)
}

// ConversationsOf implements storage.DirectMessageReader.
func (s *Store) ConversationsOf(ctx context.Context, keys []storage.ConversationKey) (_ []*storage.Conversation, err error) {
	defer s.measure("ConversationsOf", time.Now(), &err)
	return s.Store.ConversationsOf(ctx, keys)
}

// MessagesOf implements storage.DirectMessageReader.
func (s *Store) MessagesOf(ctx context.Context, keys []storage.DirectMessageKey) (_ []*storage.DirectMessage, err error) {
	defer s.measure("MessagesOf", time.Now(), &err)
	return s.Store.MessagesOf(ctx, keys)
}

// LatestMessages implements storage.DirectMessageReader.
func (s *Store) LatestMessages(ctx context.Context, users []storage.User) (_ []int64, err error) {
	defer s.measure("LatestMessages", time.Now(), &err)
	return s.Store.LatestMessages(ctx, users)
}

// ListConversations implements storage.DirectMessageReader.
func (s *Store) ListConversations(ctx context.Context, queries []storage.ConversationsQuery) (_ []storage.ListPage[storage.Conversation], err error) {
	defer s.measure("ListConversations", time.Now(), &err)
	return s.Store.ListConversations(ctx, queries)
}

// ListMessages implements storage.DirectMessageReader.
func (s *Store) ListMessages(ctx context.Context, queries []storage.DirectMessagesQuery) (_ []storage.ListPage[storage.DirectMessage], err error) {
	defer s.measure("ListMessages", time.Now(), &err)
	return s.Store.ListMessages(ctx, queries)
}

// MessagesAfter implements storage.DirectMessageReader.
func (s *Store) MessagesAfter(ctx context.Context, query storage.MailboxQuery) (_ []storage.DirectMessage, err error) {
	defer s.measure("MessagesAfter", time.Now(), &err)
	return s.Store.MessagesAfter(ctx, query)
}

// AddMessages implements storage.DirectMessages.
func (s *Store) AddMessages(ctx context.Context, messages []storage.NewDirectMessage) (_ []storage.AddedDirectMessage, err error) {
	defer s.measure("AddMessages", time.Now(), &err)
	return s.Store.AddMessages(ctx, messages)
}

// MarkRead implements storage.DirectMessages.
func (s *Store) MarkRead(ctx context.Context, key storage.ConversationKey, upTo int64) (_ *storage.Conversation, err error) {
	defer s.measure("MarkRead", time.Now(), &err)
	return s.Store.MarkRead(ctx, key, upTo)
}

// VideosOf implements storage.VideoReader.
func (s *Store) VideosOf(ctx context.Context, keys []storage.VideoKey) (_ []*storage.Video, err error) {
	defer s.measure("VideosOf", time.Now(), &err)
	return s.Store.VideosOf(ctx, keys)
}

// Feed implements storage.VideoReader.
func (s *Store) Feed(ctx context.Context, queries []storage.FeedQuery) (_ []storage.ListPage[storage.Video], err error) {
	defer s.measure("Feed", time.Now(), &err)
	return s.Store.Feed(ctx, queries)
}

// UserVideos implements storage.VideoReader.
func (s *Store) UserVideos(ctx context.Context, queries []storage.UserVideosQuery) (_ []storage.ListPage[storage.Video], err error) {
	defer s.measure("UserVideos", time.Now(), &err)
	return s.Store.UserVideos(ctx, queries)
}

// SearchUsers implements storage.Searcher.
func (s *Store) SearchUsers(ctx context.Context, queries []storage.SearchQuery) (_ []storage.ListPage[storage.FoundUser], err error) {
	defer s.measure("SearchUsers", time.Now(), &err)
	return s.Store.SearchUsers(ctx, queries)
}

// SearchVideos implements storage.Searcher.
func (s *Store) SearchVideos(ctx context.Context, queries []storage.SearchQuery) (_ []storage.ListPage[storage.FoundVideo], err error) {
	defer s.measure("SearchVideos", time.Now(), &err)
	return s.Store.SearchVideos(ctx, queries)
}

// IndexNext implements storage.Searches.
func (s *Store) IndexNext(ctx context.Context, limit int) (_ int, err error) {
	defer s.measure("IndexNext", time.Now(), &err)
	return s.Store.IndexNext(ctx, limit)
}

// PublishVideo implements storage.Videos.
func (s *Store) PublishVideo(ctx context.Context, video storage.NewVideo, mark storage.Mark) (_ storage.PublishedVideo, _ storage.Outcome, err error) {
	defer s.measure("PublishVideo", time.Now(), &err)
	return s.Store.PublishVideo(ctx, video, mark)
}

// DeleteVideo implements storage.Videos.
func (s *Store) DeleteVideo(ctx context.Context, deletion storage.VideoDeletion, mark storage.Mark) (_ *storage.Video, _ storage.Outcome, err error) {
	defer s.measure("DeleteVideo", time.Now(), &err)
	return s.Store.DeleteVideo(ctx, deletion, mark)
}

// NamedFiles implements storage.Videos.
func (s *Store) NamedFiles(ctx context.Context, names []string) (_ []bool, err error) {
	defer s.measure("NamedFiles", time.Now(), &err)
	return s.Store.NamedFiles(ctx, names)
}

// DueCovers implements storage.Videos.
func (s *Store) DueCovers(ctx context.Context, limit int) (_ []storage.VideoKey, err error) {
	defer s.measure("DueCovers", time.Now(), &err)
	return s.Store.DueCovers(ctx, limit)
}

// SetCover implements storage.Videos.
func (s *Store) SetCover(ctx context.Context, key storage.VideoKey) (_ bool, err error) {
	defer s.measure("SetCover", time.Now(), &err)
	return s.Store.SetCover(ctx, key)
}

// FailCover implements storage.Videos.
func (s *Store) FailCover(ctx context.Context, key storage.VideoKey, failure storage.CoverFailure) (_ int, err error) {
	defer s.measure("FailCover", time.Now(), &err)
	return s.Store.FailCover(ctx, key, failure)
}

// CoverReason implements storage.Videos.
func (s *Store) CoverReason(ctx context.Context, key storage.VideoKey) (_ string, _ bool, err error) {
	defer s.measure("CoverReason", time.Now(), &err)
	return s.Store.CoverReason(ctx, key)
}

// SweepDeleted implements storage.Deletions.
func (s *Store) SweepDeleted(ctx context.Context, limit int, mark storage.Mark) (_ storage.Swept, _ storage.Outcome, err error) {
	defer s.measure("SweepDeleted", time.Now(), &err)
	return s.Store.SweepDeleted(ctx, limit, mark)
}

// Restore implements storage.Archives.
func (s *Store) Restore(ctx context.Context, part *storage.Archive, mark storage.Mark) (_ storage.Outcome, err error) {
	defer s.measure("Restore", time.Now(), &err)
	return s.Store.Restore(ctx, part, mark)
}

// BeginErase implements storage.Erasures.
func (s *Store) BeginErase(ctx context.Context, user storage.User) (err error) {
	defer s.measure("BeginErase", time.Now(), &err)
	return s.Store.BeginErase(ctx, user)
}

// EraseNext implements storage.Erasures.
func (s *Store) EraseNext(ctx context.Context, user storage.User, limit int, mark storage.Mark) (_ int, _ storage.Outcome, err error) {
	defer s.measure("EraseNext", time.Now(), &err)
	return s.Store.EraseNext(ctx, user, limit, mark)
}
