package resolvers

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"

	"ovation/accounts"
	"ovation/api/enforce"
	"ovation/api/rate"
	"ovation/graph"
	"ovation/internal/plain"
	"ovation/resolvers/limits"
	"ovation/storage"
	"ovation/worker"
)

// Recorder makes actions durable. *worker.Recorder implements it.
type Recorder interface {
	Record(ctx context.Context, action storage.Action, seen *storage.Interactive) (worker.Recorded, error)
}

// FolderRemover deletes folders with their items. *worker.Folders implements it.
type FolderRemover interface {
	DeleteFolder(ctx context.Context, key storage.FolderKey, moveTo string) (items int, err error)
}

// Histories removes subjects from users' read histories. *worker.Histories implements it.
type Histories interface {
	Clear(ctx context.Context, user storage.User, biz, bizID string) (removed int64, more bool, err error)
}

// Comments adds and changes comments. *worker.Comments implements it.
type Comments interface {
	Add(ctx context.Context, comment storage.NewComment) (*storage.Comment, error)
	Edit(ctx context.Context, change storage.CommentChange, text string) (*storage.Comment, error)
	Delete(ctx context.Context, change storage.CommentChange) (*storage.Comment, error)
}

// Authors declares the authors of subjects. *worker.Authors implements it.
type Authors interface {
	Declare(ctx context.Context, declared []storage.Action) ([]storage.SubjectCounts, error)
}

// ActionBatches records actions on behalf of users. *worker.ActionBatches implements it.
type ActionBatches interface {
	Record(ctx context.Context, batch storage.ActionBatch) (worker.RecordedBatch, error)
}

// Messages sends messages and marks them as read. *worker.Messages implements it.
type Messages interface {
	Send(ctx context.Context, message storage.NewDirectMessage) (*storage.DirectMessage, error)
	MarkRead(ctx context.Context, key storage.ConversationKey, upTo int64) (*storage.Conversation, error)
}

// Root is the root resolver.
type Root struct {
	store      storage.Store
	recorder   Recorder
	remover    FolderRemover
	histories  Histories
	comments   Comments
	authors    Authors
	batches    ActionBatches
	accounts   *accounts.Service // nil if disabled
	messages   Messages
	videos     Videos // nil if disabled
	trends     bool   // trends are computed
	policy     enforce.Enforcer
	live       Watcher
	commentHub Watcher // signals changed comments
	messageHub Watcher // signals new messages
	limiter    *rate.Limiter
	flights    singleflight.Group
	cursors    *cursors
	now        func() time.Time
	plain      plain.Schema         // fields that can be encoded directly
	fieldTable map[string]fieldSpec // by "Type.field"
	limits     *limits.Limits
	logSuccess func() // reports a success, which ends an outage in the log

	room *room // of subscriptions

	cachedAuthors func(subjects []storage.Subject) []string // nil if authors are not cached
}

var _ graph.ResolverRoot = (*Root)(nil)

// The resolvers of the types. Each embeds the Root and adds only methods.
type (
	queryResolver        struct{ *Root }
	mutationResolver     struct{ *Root }
	subscriptionResolver struct{ *Root }
	interactiveResolver  struct{ *Root }
	likedResolver        struct{ *Root }
	collectedResolver    struct{ *Root }
	readResolver         struct{ *Root }
	folderResolver       struct{ *Root }
	userResolver         struct{ *Root }
	commentResolver      struct{ *Root }
	followedResolver     struct{ *Root }
	friendResolver       struct{ *Root }
	conversationResolver struct{ *Root }
	videoResolver        struct{ *Root }
)

// Query returns the resolver of Query.
func (r *Root) Query() graph.QueryResolver { return queryResolver{r} }

// Mutation returns the resolver of Mutation.
func (r *Root) Mutation() graph.MutationResolver { return mutationResolver{r} }

// Subscription returns the resolver of Subscription.
func (r *Root) Subscription() graph.SubscriptionResolver { return subscriptionResolver{r} }

// Interactive returns the resolver of Interactive.
func (r *Root) Interactive() graph.InteractiveResolver { return interactiveResolver{r} }

// Liked returns the resolver of Liked.
func (r *Root) Liked() graph.LikedResolver { return likedResolver{r} }

// Collected returns the resolver of Collected.
func (r *Root) Collected() graph.CollectedResolver { return collectedResolver{r} }

// Read returns the resolver of Read.
func (r *Root) Read() graph.ReadResolver { return readResolver{r} }

// Followed returns the resolver of Followed.
func (r *Root) Followed() graph.FollowedResolver { return followedResolver{r} }

// Folder returns the resolver of Folder.
func (r *Root) Folder() graph.FolderResolver { return folderResolver{r} }

// User returns the resolver of User.
func (r *Root) User() graph.UserResolver { return userResolver{r} }

// Friend returns the resolver of Friend.
func (r *Root) Friend() graph.FriendResolver { return friendResolver{r} }

// Conversation returns the resolver of Conversation.
func (r *Root) Conversation() graph.ConversationResolver { return conversationResolver{r} }

// Video returns the resolver of Video.
func (r *Root) Video() graph.VideoResolver { return videoResolver{r} }

// Comment returns the resolver of Comment.
func (r *Root) Comment() graph.CommentResolver { return commentResolver{r} }
