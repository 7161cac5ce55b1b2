package resolvers

import (
	"cmp"
	"context"

	"github.com/vektah/gqlparser/v2/ast"

	"ovation/api/rate"
	"ovation/graph"
	"ovation/loaders"
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
	"Query.node":         byID("id", 0),
	"Query.nodes":        byID("ids", 0),
	"Query.folder":       byID("id", storage.NodeFolder),
	"Query.conversation": {FieldInfo: plan.FieldInfo{Loads: true}, prefetch: (*prefetch).conversation},
	"Query.viewer":       {prefetch: (*prefetch).viewer},
	"Query.user":         {prefetch: (*prefetch).user},
	"Query._entities":    {prefetch: (*prefetch).entities},
	"_Service.sdl":       {FieldInfo: plan.FieldInfo{Weight: 249}}, // about 50,000 bytes

	"Query.conversations":   {FieldInfo: plan.FieldInfo{Loads: true}, prefetch: (*prefetch).conversations},
	"Conversation.with":     inline(func(c *storage.Conversation) any { return &c.With }),
	"Conversation.latest":   inline(func(c *storage.Conversation) any { return &c.Latest }),
	"Conversation.messages": messageLists.field(),
	"Message.from":          inline(func(m *storage.DirectMessage) any { return &m.From }),
	"Message.to":            inline(func(m *storage.DirectMessage) any { return &m.To }),
	"Message.text":          {FieldInfo: plan.FieldInfo{Weight: 19}}, // like Comment.text
	"Friend.latestMessage":  {FieldInfo: plan.FieldInfo{Loads: true}, prefetch: (*prefetch).latestMessage},

	"Query.trending": {FieldInfo: plan.FieldInfo{Loads: true}, prefetch: (*prefetch).trending},

	"Query.feed":         {FieldInfo: plan.FieldInfo{Loads: true}, prefetch: (*prefetch).feed},
	"Query.video":        {FieldInfo: plan.FieldInfo{Loads: true}, prefetch: (*prefetch).video},
	"Query.searchUsers":  scanning(fieldSpec{FieldInfo: plan.FieldInfo{Loads: true}, prefetch: (*prefetch).searchUsers}),
	"Query.searchVideos": scanning(fieldSpec{FieldInfo: plan.FieldInfo{Loads: true}, prefetch: (*prefetch).searchVideos}),

	"Query.comment": {FieldInfo: plan.FieldInfo{Loads: true}, prefetch: (*prefetch).comment},
	"User.comments": userComments.field(),

	"Interactive.content": {FieldInfo: plan.FieldInfo{Loads: true, Price: 3}, prefetch: (*prefetch).content},

	"User.videos": {FieldInfo: plan.FieldInfo{Loads: true}, prefetch: (*prefetch).userVideos},

	"Video.title":       {FieldInfo: plan.FieldInfo{Weight: 1}}, // up to 600 bytes
	"Video.playUrl":     {FieldInfo: plan.FieldInfo{Weight: 1}},
	"Video.coverUrl":    {FieldInfo: plan.FieldInfo{Weight: 1}},
	"Video.author":      inline(func(v *storage.Video) any { return &v.Author }),
	"Video.interactive": byKey(subjects, func(v *storage.Video) storage.Subject { return v.Key().Subject() }),

	"Interactive.liked":     viewerState(storage.KindReaction, func(i *storage.Interactive) any { return i.Liked }),
	"Interactive.collected": viewerState(storage.KindCollection, func(i *storage.Interactive) any { return i.Collected }),
	"Interactive.read":      viewerState(storage.KindRead, func(i *storage.Interactive) any { return i.Read }),
	"Interactive.followed":  viewerState(storage.KindFollow, func(i *storage.Interactive) any { return i.Followed }),
	"Interactive.likers":    likers.field(),
	"Interactive.followers": followers.field(),

	"Interactive.likedByFriends": scanning(likedByFriends.field()),

	"Interactive.author": {prefetch: (*prefetch).author},

	"Interactive.commentCount": {FieldInfo: plan.FieldInfo{Loads: true, Price: 3}, prefetch: (*prefetch).commentCount},
	"Interactive.comments":     {FieldInfo: plan.FieldInfo{Loads: true}, prefetch: (*prefetch).comments},
	"Comment.subject":          byKey(subjects, func(c *storage.Comment) storage.Subject { return c.Subject }),
	"Comment.interactive":      byKey(subjects, func(c *storage.Comment) storage.Subject { return c.Key().Subject() }),
	"Comment.author":           inline(func(c *storage.Comment) any { return c.Author() }),
	"Comment.editedBy":         inline(func(c *storage.Comment) any { return c.EditedBy() }),
	"Comment.text":             {FieldInfo: plan.FieldInfo{Weight: 19}}, // up to 8,000 bytes, but few texts consist of 4-byte characters
	"Comment.parent":           {FieldInfo: plan.FieldInfo{Loads: true}, prefetch: (*prefetch).parent},
	"Comment.replies":          replies.field(),
	"CommentEvent.comment":     inline(func(e *graph.CommentEvent) any { return &e.Comment }),

	"Subscription.commentsChanged": {FieldInfo: plan.FieldInfo{Entries: maxChanges}},
	"Subscription.messages":        {FieldInfo: plan.FieldInfo{Entries: maxChanges}},

	"Liked.interactive":     byKey(subjects, func(l *storage.Liked) storage.Subject { return l.Subject }),
	"Liked.user":            inline(func(l *storage.Liked) any { return &l.User }),
	"Collected.interactive": byKey(subjects, func(c *storage.Collected) storage.Subject { return c.Subject }),
	"Collected.user":        inline(func(c *storage.Collected) any { return &c.User }),
	"Collected.folder":      byKey(folders, (*storage.Collected).FolderKey),
	"Read.interactive":      byKey(subjects, func(r *storage.Read) storage.Subject { return r.Subject }),

	"Followed.interactive": byKey(subjects, func(f *storage.Followed) storage.Subject { return f.Subject }),
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
	"User.totals":      {FieldInfo: plan.FieldInfo{Loads: true}, prefetch: (*prefetch).totals},
	"User.interactive": byKey(subjects, func(u *storage.User) storage.Subject { return u.Subject() }),

	"DeclareSubjectsPayload.interactives": {FieldInfo: plan.FieldInfo{Entries: maxSubjects}},

	"User.profile": {FieldInfo: plan.FieldInfo{Loads: true, Weight: 4}, prefetch: (*prefetch).profile}, // about 1,200 bytes with all its texts

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

// byKey returns the spec of a field whose value is looked up by the key that the given
// function returns for the field's object.
func byKey[P any, K comparable, V storage.Node](b lookup[K, V], key func(*P) K) fieldSpec {
	return fieldSpec{FieldInfo: plan.FieldInfo{Loads: true}, prefetch: func(a *prefetch, field *plan.Field, object any) {
		of, is := object.(*P)
		if !is {
			return
		}
		var then func(V)
		if below := field.Below(); below == nil || below.Deeper {
			then = func(found V) {
				if sees(a.me, found) {
					a.visit(field, found)
				}
			}
		}
		enqueue(a, b, key(of), then)
	}}
}

// lookup is a kind of object that loaders load by key.
type lookup[K comparable, V any] struct {
	keys func(*loaders.Keys) *[]K
	load func(*loaders.Loaders, context.Context, K) (V, error)
}

func lookupOf[K comparable, V any](wanted func(*loaders.Keys) *[]K, load func(*loaders.Loaders, context.Context, K) (V, error)) lookup[K, V] {
	return lookup[K, V]{wanted, load}
}

var (
	subjects = lookupOf(func(w *loaders.Keys) *[]storage.Subject { return &w.Interactives }, (*loaders.Loaders).Interactive)
	states   = lookupOf(func(w *loaders.Keys) *[]storage.StateKey { return &w.States }, (*loaders.Loaders).States)
	comments = lookupOf(func(w *loaders.Keys) *[]storage.CommentKey { return &w.Comments }, (*loaders.Loaders).Comment)
	profiles = lookupOf(func(w *loaders.Keys) *[]storage.User { return &w.Profiles }, (*loaders.Loaders).Profile)
	folders  = lookupOf(func(w *loaders.Keys) *[]storage.FolderKey { return &w.Folders }, (*loaders.Loaders).Folder)
)
