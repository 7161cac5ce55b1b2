package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/loaders"
	"ovation/resolvers/viewer"
	"ovation/storage"
)

// ahead loads what a selection needs before its resolvers ask for it. It walks
// breadth first: all keys of one level are known before any is loaded, so that
// each level costs one call of storage for each kind, whatever the number of
// objects, and the resolvers then find everything in the loaders' memory.
//
// It changes no answer. What it does not foresee, a resolver loads itself; what
// it fails to load, the loaders remember, and the resolver reports. It asks for
// nothing that the viewer may not see.
type ahead struct {
	*Root
	ctx     context.Context //nolint:containedctx // lives as long as one call of run
	op      *graphql.OperationContext
	loaders *loaders.Loaders
	me      storage.User

	wants loaders.Wants
	then  []func() // what to look at when the wants are loaded
	asked []asked
	known []collected
}

// collected are the fields of a selection for objects of a type, which mostly
// come in lists.
type collected struct {
	set      ast.SelectionSet
	typeName string
	fields   []graphql.CollectedField
}

// asked is a field of Query that asks for subjects, whose arguments are right.
type asked struct {
	field    *root
	subjects []storage.Subject
}

func (r *Root) newAhead(ctx context.Context) *ahead {
	return &ahead{
		Root: r, ctx: ctx, op: graphql.GetOperationContext(ctx), loaders: loaders.From(ctx), me: viewer.From(ctx),
	}
}

// aheadOfQuery looks at the fields of a query. It returns those that ask for
// subjects.
func (r *Root) aheadOfQuery(ctx context.Context, roots []root) []asked {
	a := r.newAhead(ctx)
	for i := range roots {
		a.query(&roots[i])
	}
	a.run()
	return a.asked
}

// ahead looks at the selection of an object: a pointer to one of storage's
// types.
func (r *Root) ahead(ctx context.Context, set ast.SelectionSet, object any) {
	a := r.newAhead(ctx)
	a.look(set, object)
	a.run()
}

// run loads what is wanted, and what that wants, level by level.
func (a *ahead) run() {
	for len(a.then) > 0 {
		wants, then := a.wants, a.then
		a.wants, a.then = loaders.Wants{}, nil
		_ = a.loaders.Fetch(a.ctx, wants) // the loaders remember what has failed
		for _, f := range then {
			f()
		}
	}
}

// look notes what the fields of an object need.
func (a *ahead) look(set ast.SelectionSet, object any) {
	for _, field := range a.fields(set, typeName(object)) {
		switch of := object.(type) {
		case *storage.Interactive:
			a.interactive(field, of)
		case *storage.Liked:
			a.liked(field, of)
		case *storage.Collected:
			a.collected(field, of)
		case *storage.Read:
			if field.Name == "interactive" {
				a.subject(field, of.Subject)
			}
		case *storage.Folder:
			a.folder(field, of)
		case *storage.User:
			a.user(field, of)
		}
	}
}

func typeName(object any) string {
	switch object.(type) {
	case *storage.Interactive:
		return "Interactive"
	case *storage.Liked:
		return "Liked"
	case *storage.Collected:
		return "Collected"
	case *storage.Read:
		return "Read"
	case *storage.Folder:
		return "Folder"
	case *storage.User:
		return "User"
	}
	return ""
}

func (a *ahead) interactive(field graphql.CollectedField, of *storage.Interactive) {
	switch {
	case field.Name == "liked" && of.Liked != nil:
		a.look(field.Selections, of.Liked)
	case field.Name == "collected" && of.Collected != nil:
		a.look(field.Selections, of.Collected)
	case field.Name == "read" && of.Read != nil:
		a.look(field.Selections, of.Read)
	case field.Name == "likers" && !a.me.Anonymous():
		_, first, after := a.arguments(field)
		if query, _, err := a.likersQuery(of, first, after); err == nil {
			a.wants.Likers = append(a.wants.Likers, query)
			await(a, field, query, query.Page, a.loaders.Likers)
		}
	}
}

func (a *ahead) liked(field graphql.CollectedField, of *storage.Liked) {
	switch field.Name {
	case "interactive":
		a.subject(field, of.Subject)
	case "user":
		a.look(field.Selections, &of.User)
	}
}

func (a *ahead) collected(field graphql.CollectedField, of *storage.Collected) {
	switch field.Name {
	case "interactive":
		a.subject(field, of.Subject)
	case "user":
		a.look(field.Selections, &of.User)
	case "folder":
		a.folderOf(field, of.FolderKey())
	}
}

func (a *ahead) folder(field graphql.CollectedField, of *storage.Folder) {
	switch field.Name {
	case "owner":
		a.look(field.Selections, &of.Owner)
	case "items":
		_, first, after := a.arguments(field)
		if query, _, err := a.itemsQuery(of, first, after); err == nil {
			a.wants.Items = append(a.wants.Items, query)
			await(a, field, query, query.Page, a.loaders.Items)
		}
	}
}

func (a *ahead) user(field graphql.CollectedField, of *storage.User) {
	biz, first, after := a.arguments(field)
	switch field.Name {
	case "likes":
		if query, _, err := a.likesQuery(of, biz, first, after); err == nil {
			a.wants.Likes = append(a.wants.Likes, query)
			await(a, field, query, query.Page, a.loaders.Likes)
		}
	case "folders":
		if query, _, err := a.foldersQuery(a.ctx, of, first, after); err == nil {
			a.wants.FolderLists = append(a.wants.FolderLists, query)
			await(a, field, query, query.Page, a.loaders.Folders)
		}
	case "reads":
		if query, _, err := a.readsQuery(a.ctx, of, biz, first, after); err == nil {
			a.wants.Reads = append(a.wants.Reads, query)
			await(a, field, query, query.Page, a.loaders.Reads)
		}
	}
}

// subject wants a subject and looks at it when it is there.
func (a *ahead) subject(field graphql.CollectedField, key storage.Subject) {
	a.wants.Interactives = append(a.wants.Interactives, key)
	a.then = append(a.then, func() {
		if found, err := a.loaders.Interactive(a.ctx, key); err == nil {
			a.look(field.Selections, found)
		}
	})
}

// folderOf wants a folder and looks at it when it is there.
func (a *ahead) folderOf(field graphql.CollectedField, key storage.FolderKey) {
	a.wants.Folders = append(a.wants.Folders, key)
	a.then = append(a.then, func() {
		if found, err := a.loaders.Folder(a.ctx, key); err == nil && found != nil && found.VisibleTo(a.me) {
			a.look(field.Selections, found)
		}
	})
}

// await looks at the nodes of a list when they are there.
func await[Q comparable, T any](a *ahead, field graphql.CollectedField, query Q, page storage.Page, load func(context.Context, Q) (storage.ListPage[T], error)) {
	a.then = append(a.then, func() {
		found, err := load(a.ctx, query)
		if err != nil {
			return
		}
		for _, edges := range a.fields(field.Selections, "") {
			for _, node := range a.fields(edges.Selections, "") {
				if edges.Name != "edges" || node.Name != "node" {
					continue
				}
				for i := range min(len(found.Entries), page.First-1) { // the last only tells of a next page
					a.look(node.Selections, &found.Entries[i])
				}
			}
		}
	})
}

// fields are those selected for an object of that type, fragments and all.
func (a *ahead) fields(set ast.SelectionSet, typeName string) []graphql.CollectedField {
	if len(set) == 0 {
		return nil
	}
	for i := range a.known {
		if one := &a.known[i]; len(one.set) == len(set) && &one.set[0] == &set[0] && one.typeName == typeName {
			return one.fields
		}
	}
	var satisfies []string
	if typeName != "" {
		satisfies = []string{typeName, "Node"}
	}
	fields := graphql.CollectFields(a.op, set, satisfies)
	a.known = append(a.known, collected{set, typeName, fields})
	return fields
}

// arguments are those of a list. What the resolver would refuse is not there.
func (a *ahead) arguments(field graphql.CollectedField) (biz *string, first *int, after *string) {
	values := field.ArgumentMap(a.op.Variables)
	if s, ok := values["biz"].(string); ok {
		biz = &s
	}
	if n, err := graphql.UnmarshalInt(values["first"]); err == nil && values["first"] != nil {
		first = &n
	}
	if s, ok := values["after"].(string); ok {
		after = &s
	}
	return biz, first, after
}
