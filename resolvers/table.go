package resolvers

import (
	"context"

	"ovation/graph"
	"ovation/loaders"
	"ovation/resolvers/plan"
	"ovation/storage"
)

// line is what is known of a field of the schema: what its plan says, how what it
// needs is loaded ahead, and, of an action of Mutation, how it is done.
type line struct {
	plan.Line

	ahead lookAhead
	act   action
}

// lookAhead notes what a field of an object needs. The object is nil for fields
// of Query.
type lookAhead func(a *ahead, field *plan.Field, object any)

// lines are the fields that need more than a plain value does.
var lines = map[string]line{
	"Query.interactive":  {ahead: (*ahead).interactive},
	"Query.interactives": {ahead: (*ahead).interactives},
	"Query.node":         byID("id", 0),
	"Query.nodes":        byID("ids", 0),
	"Query.folder":       byID("id", storage.NodeFolder),
	"Query.viewer":       {ahead: (*ahead).viewer},
	"Query.user":         {ahead: (*ahead).user},

	"Interactive.liked":     shows(storage.KindReaction, func(i *storage.Interactive) any { return i.Liked }),
	"Interactive.collected": shows(storage.KindCollection, func(i *storage.Interactive) any { return i.Collected }),
	"Interactive.read":      shows(storage.KindRead, func(i *storage.Interactive) any { return i.Read }),
	"Interactive.likers":    likers.line(),

	"Liked.interactive":     looksUp(subjects, func(l *storage.Liked) storage.Subject { return l.Subject }),
	"Liked.user":            holds(func(l *storage.Liked) any { return &l.User }),
	"Collected.interactive": looksUp(subjects, func(c *storage.Collected) storage.Subject { return c.Subject }),
	"Collected.user":        holds(func(c *storage.Collected) any { return &c.User }),
	"Collected.folder":      looksUp(folders, (*storage.Collected).FolderKey),
	"Read.interactive":      looksUp(subjects, func(r *storage.Read) storage.Subject { return r.Subject }),

	"Folder.name":        {Line: plan.Line{Weight: 1}},  // up to 400 bytes
	"Folder.description": {Line: plan.Line{Weight: 19}}, // up to 4,000; with it an answer of the highest cost stays below some 5 MB
	"Folder.owner":       holds(func(f *storage.Folder) any { return &f.Owner }),
	"Folder.items":       items.line(),

	"User.likes":   likes.line(),
	"User.folders": folderLists.line(),
	"User.reads":   reads.line(),

	"Mutation.read":      does(mutationResolver.Read),
	"Mutation.like":      does(mutationResolver.Like),
	"Mutation.unlike":    does(mutationResolver.Unlike),
	"Mutation.dislike":   does(mutationResolver.Dislike),
	"Mutation.undislike": does(mutationResolver.Undislike),
	"Mutation.uncollect": does(mutationResolver.Uncollect),
	"Mutation.collect": {act: func(ctx context.Context, r mutationResolver, in graph.CollectInput) (any, error) {
		return r.Collect(ctx, in)
	}},
}

// planTable is what plans need of the lines.
func planTable(of map[string]line) plan.Table {
	table := make(plan.Table, len(of))
	for key, line := range of {
		table[key] = line.Line
	}
	return table
}

// holds is a field whose value comes with its object.
func holds[P any](get func(*P) any) line {
	return line{ahead: func(a *ahead, field *plan.Field, object any) {
		if of, is := object.(*P); is {
			a.look(field, get(of))
		}
	}}
}

// shows is a field that holds what the viewer did.
func shows[P any](kind storage.Kind, get func(*P) any) line {
	l := holds(get)
	l.Kinds = storage.KindsOf(kind)
	return l
}

// looksUp is a field whose value has a key.
func looksUp[P any, K comparable, V storage.Node](b batch[K, V], key func(*P) K) line {
	return line{Line: plan.Line{Loads: true}, ahead: func(a *ahead, field *plan.Field, object any) {
		of, is := object.(*P)
		if !is {
			return
		}
		want(a, b, key(of), func(found V) {
			if sees(a.me, found) {
				a.look(field, found)
			}
		})
	}}
}

// batch is a kind of look-up.
type batch[K comparable, V any] struct {
	wanted func(*loaders.Wants) *[]K
	load   func(*loaders.Loaders, context.Context, K) (V, error)
}

func batchOf[K comparable, V any](wanted func(*loaders.Wants) *[]K, load func(*loaders.Loaders, context.Context, K) (V, error)) batch[K, V] {
	return batch[K, V]{wanted, load}
}

var (
	subjects = batchOf(func(w *loaders.Wants) *[]storage.Subject { return &w.Interactives }, (*loaders.Loaders).Interactive)
	states   = batchOf(func(w *loaders.Wants) *[]storage.StateKey { return &w.States }, (*loaders.Loaders).States)
	folders  = batchOf(func(w *loaders.Wants) *[]storage.FolderKey { return &w.Folders }, (*loaders.Loaders).Folder)
)
