package resolvers

import (
	"cmp"
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/api/rate"
	"ovation/graph"
	"ovation/resolvers/plan"
	"ovation/storage"
)

// fieldSpec describes a field of the schema: for plans, for the prefetch and, if it is
// an action of Mutation, for the fast path.
type fieldSpec struct {
	plan.FieldInfo

	prefetch prefetchFunc
	mutate   fastAction
}

// prefetchFunc collects what a field of an object needs. The object is nil for a field of
// Query.
type prefetchFunc func(a *prefetch, field *plan.Field, object any)

// fieldTable holds each field that is prefetched, costs more than 1 or can run on the
// fast path, by "Type.field".
var fieldTable = map[string]fieldSpec{
	"Query.interactive":  {prefetch: (*prefetch).interactive},
	"Query.interactives": {prefetch: (*prefetch).interactives},
	"Query.node":         {prefetch: queried("id", queryResolver.Node)},
	"Query.nodes":        {prefetch: (*prefetch).nodes},
	"Query.folder":       {prefetch: queried("id", queryResolver.Folder)},
	"Query.conversation": loads(queried("with", queryResolver.Conversation)),
	"Query.viewer":       {prefetch: (*prefetch).viewer},
	"Query.user":         {prefetch: queried("userId", queryResolver.User)},
	"Query._entities":    {prefetch: (*prefetch).entities},
	"_Service.sdl":       {FieldInfo: plan.FieldInfo{Weight: 249}}, // about 50,000 bytes

	"Query.conversations":   loads((*prefetch).conversations),
	"Conversation.with":     inline(func(c *storage.Conversation) any { return &c.With }),
	"Conversation.latest":   inline(func(c *storage.Conversation) any { return &c.Latest }),
	"Conversation.messages": messageLists.field(),
	"Message.from":          inline(func(m *storage.DirectMessage) any { return &m.From }),
	"Message.to":            inline(func(m *storage.DirectMessage) any { return &m.To }),
	"Message.text":          {FieldInfo: plan.FieldInfo{Weight: 19}}, // like Comment.text
	"Friend.latestMessage":  resolved(friendResolver.LatestMessage),

	"Query.trending": loads((*prefetch).trending),

	"Query.feed":         loads((*prefetch).feed),
	"Query.video":        loads(queried("videoId", queryResolver.Video)),
	"Query.searchUsers":  scanning(loads((*prefetch).searchUsers)),
	"Query.searchVideos": scanning(loads((*prefetch).searchVideos)),

	"Query.comment": loads(queried("commentId", queryResolver.Comment)),
	"User.comments": userComments.field(),

	"Interactive.content": atPrice(3, resolved(interactiveResolver.Content)),

	"User.videos": loads((*prefetch).userVideos),

	"Video.title":       {FieldInfo: plan.FieldInfo{Weight: 1}}, // up to 600 bytes
	"Video.playUrl":     {FieldInfo: plan.FieldInfo{Weight: 1}},
	"Video.coverUrl":    {FieldInfo: plan.FieldInfo{Weight: 1}},
	"Video.author":      inline(func(v *storage.Video) any { return &v.Author }),
	"Video.interactive": resolved(videoResolver.Interactive),

	"Interactive.liked":     viewerState(storage.KindReaction, func(i *storage.Interactive) any { return i.Liked }),
	"Interactive.collected": viewerState(storage.KindCollection, func(i *storage.Interactive) any { return i.Collected }),
	"Interactive.read":      viewerState(storage.KindRead, func(i *storage.Interactive) any { return i.Read }),
	"Interactive.followed":  viewerState(storage.KindFollow, func(i *storage.Interactive) any { return i.Followed }),
	"Interactive.likers":    likers.field(),
	"Interactive.followers": followers.field(),

	"Interactive.likedByFriends": scanning(likedByFriends.field()),

	"Interactive.author": {prefetch: (*prefetch).author},

	"Interactive.commentCount": atPrice(3, resolved(interactiveResolver.CommentCount)),
	"Interactive.comments":     loads((*prefetch).comments),
	"Comment.subject":          resolved(commentResolver.Subject),
	"Comment.interactive":      resolved(commentResolver.Interactive),
	"Comment.author":           inline(func(c *storage.Comment) any { return c.Author() }),
	"Comment.editedBy":         inline(func(c *storage.Comment) any { return c.EditedBy() }),
	"Comment.text":             {FieldInfo: plan.FieldInfo{Weight: 19}}, // up to 8,000 bytes, but few texts consist of 4-byte characters
	"Comment.parent":           resolved(commentResolver.Parent),
	"Comment.replies":          replies.field(),
	"CommentEvent.comment":     inline(func(e *graph.CommentEvent) any { return &e.Comment }),

	"Subscription.commentsChanged": {FieldInfo: plan.FieldInfo{Entries: maxChanges}},
	"Subscription.messages":        {FieldInfo: plan.FieldInfo{Entries: maxChanges}},

	"Liked.interactive":     resolved(likedResolver.Interactive),
	"Liked.user":            inline(func(l *storage.Liked) any { return &l.User }),
	"Collected.interactive": resolved(collectedResolver.Interactive),
	"Collected.user":        inline(func(c *storage.Collected) any { return &c.User }),
	"Collected.folder":      resolved(collectedResolver.Folder),
	"Read.interactive":      resolved(readResolver.Interactive),

	"Followed.interactive": resolved(followedResolver.Interactive),
	"Followed.user":        inline(func(f *storage.Followed) any { return &f.User }),
	"Friend.user":          inline(func(f *storage.Friend) any { return &f.User }),

	"Folder.name":        {FieldInfo: plan.FieldInfo{Weight: 1}},  // up to 400 bytes
	"Folder.description": {FieldInfo: plan.FieldInfo{Weight: 19}}, // up to 4,000 bytes; keeps responses of the maximum cost below about 5 MB
	"Folder.owner":       inline(func(f *storage.Folder) any { return &f.Owner }),
	"Folder.items":       items.field(),

	"User.likes":       likes.field(),
	"User.folders":     folderLists.field(),
	"User.reads":       reads.field(),
	"User.following":   following.field(),
	"User.followers":   userFollowers.field(),
	"User.friends":     scanning(friends.field()),
	"User.works":       works.field(),
	"User.totals":      resolved(userResolver.Totals),
	"User.interactive": resolved(userResolver.Interactive),

	"DeclareSubjectsPayload.interactives": {FieldInfo: plan.FieldInfo{Entries: maxSubjects}},

	"User.profile": ofWeight(4, resolved(userResolver.Profile)), // about 1,200 bytes with all its texts

	"Mutation.recordActions": {FieldInfo: plan.FieldInfo{EntryPrice: rate.PerBatchedAction}},

	"Mutation.clearReads":     {FieldInfo: plan.FieldInfo{Price: clearPrice}},
	"Mutation.deleteRead":     {FieldInfo: plan.FieldInfo{Price: deleteReadPrice}},
	"Mutation.register":       {FieldInfo: plan.FieldInfo{Price: rate.PerHash + rate.PerAction}},
	"Mutation.logIn":          {FieldInfo: plan.FieldInfo{Price: rate.PerHash}},
	"Mutation.changePassword": {FieldInfo: plan.FieldInfo{Price: 2*rate.PerHash + rate.PerAction}},

	"Mutation.read":      atPrice(rate.PerRead, fastMutation(mutationResolver.Read)),
	"Mutation.like":      fastMutation(mutationResolver.Like),
	"Mutation.unlike":    fastMutation(mutationResolver.Unlike),
	"Mutation.dislike":   fastMutation(mutationResolver.Dislike),
	"Mutation.undislike": fastMutation(mutationResolver.Undislike),
	"Mutation.uncollect": fastMutation(mutationResolver.Uncollect),
	"Mutation.follow":    fastMutation(mutationResolver.Follow),
	"Mutation.unfollow":  fastMutation(mutationResolver.Unfollow),
	"Mutation.collect": {mutate: func(ctx context.Context, r mutationResolver, in graph.CollectInput) (any, error) {
		return r.Collect(ctx, in)
	}},
}

// planTable returns the FieldInfo of each entry in a field table, and of each mutation and
// each list with pages in the schema, whose prices are rate.PerAction and rate.PerList
// unless their entries state others. Plans use nothing else from the table.
func planTable(of map[string]fieldSpec, schema *ast.Schema) plan.Table {
	table := make(plan.Table, len(of))
	for key, line := range of {
		table[key] = line.FieldInfo
	}
	for _, object := range schema.Types {
		for _, field := range object.Fields {
			price := 0
			switch {
			case object == schema.Mutation:
				price = rate.PerAction
			case field.Arguments.ForName("first") != nil:
				price = rate.PerList
			}
			if key := object.Name + "." + field.Name; price > 0 {
				line := table[key]
				line.Price = cmp.Or(line.Price, price)
				table[key] = line
			}
		}
	}
	return table
}

// atPrice sets the price of a field.
func atPrice(price int, l fieldSpec) fieldSpec {
	l.Price = price
	return l
}

// ofWeight sets the weight of a field.
func ofWeight(weight int, l fieldSpec) fieldSpec {
	l.Weight = weight
	return l
}

// inline returns the spec of a field whose value is loaded together with its object.
func inline[P any](get func(*P) any) fieldSpec {
	return fieldSpec{prefetch: func(a *prefetch, field *plan.Field, object any) {
		if of, is := object.(*P); is {
			a.visit(field, get(of))
		}
	}}
}

// viewerState returns the spec of a field that shows the viewer's state of the given
// kind.
func viewerState[P any](kind storage.Kind, get func(*P) any) fieldSpec {
	l := inline(get)
	l.Kinds = storage.KindsOf(kind)
	return l
}

// scanning marks a list for which storage may examine many rows even if few entries are
// requested.
func scanning(l fieldSpec) fieldSpec {
	l.Scans = true
	return l
}

// resolved returns the spec of a field whose value its resolver looks up.
func resolved[R interface{ ~struct{ *Root } }, P, V any](resolve func(R, context.Context, *P) (V, error)) fieldSpec {
	return loads(func(a *prefetch, field *plan.Field, object any) {
		if of, is := object.(*P); is {
			visitLoaded(a, field, func(ctx context.Context) (V, error) { return resolve(R{a.Root}, ctx, of) })
		}
	})
}

// queried returns the function that prefetches a field of Query whose only argument is an
// ID.
func queried[V any](argument string, resolve func(queryResolver, context.Context, string) (V, error)) prefetchFunc {
	return func(a *prefetch, field *plan.Field, _ any) {
		if id, err := graphql.UnmarshalID(a.argument(field, argument)); err == nil {
			visitLoaded(a, field, func(ctx context.Context) (V, error) { return resolve(queryResolver{a.Root}, ctx, id) })
		}
	}
}

// loads returns the spec of a field that has to be looked up.
func loads(prefetch prefetchFunc) fieldSpec {
	return fieldSpec{FieldInfo: plan.FieldInfo{Loads: true}, prefetch: prefetch}
}
