package resolvers

import (
	"context"
	"time"

	"ovation/graph"
	"ovation/plain"
	"ovation/resolvers/limits"
	"ovation/storage"
	"ovation/worker"
)

// Recorder makes actions durable. *worker.Recorder is one.
type Recorder interface {
	Record(ctx context.Context, action storage.Action) (worker.Recorded, error)
}

// FolderRemover deletes folders with whatever they hold. *worker.Folders is
// one.
type FolderRemover interface {
	DeleteFolder(ctx context.Context, key storage.FolderKey, moveTo string) (items int, err error)
}

// Root has a resolver for every type that needs one.
type Root struct {
	store    storage.Store
	recorder Recorder
	remover  FolderRemover
	live     Watcher
	cursors  *cursors
	now      func() time.Time
	plain    plain.Schema    // what is not left to the executor
	lines    map[string]line // by "Type.field"
	limits   *limits.Limits
	worked   func() // notes that a request was answered in full

	room room // of subscriptions
}

var _ graph.ResolverRoot = (*Root)(nil)

// Each type's resolver is the root itself under another name.
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

// Folder returns the resolver of Folder.
func (r *Root) Folder() graph.FolderResolver { return folderResolver{r} }

// User returns the resolver of User.
func (r *Root) User() graph.UserResolver { return userResolver{r} }
