package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"ovation/loaders"
	"ovation/resolvers/plan"
	"ovation/resolvers/rows"
	"ovation/storage"
)

// The fields of Query. Fields with invalid arguments are skipped; their resolvers
// report the errors.

func (p *prefetch) interactive(field *plan.Field, _ any) {
	if subject, ok := p.subjectFrom(p.argument(field, "biz"), p.argument(field, "bizId")); ok {
		p.subjects(field, []storage.Subject{subject})
	}
}

func (p *prefetch) interactives(field *plan.Field, _ any) {
	value := p.argument(field, "subjects")
	table, isTable := value.(*rows.Rows)
	list := asList(value)
	n, biz, bizID := len(list), 0, 0
	if isTable {
		n, biz, bizID = table.Len(), table.Column("biz"), table.Column("bizId")
	}
	if n > maxSubjects || min(biz, bizID) < 0 {
		return
	}
	subjects := make([]storage.Subject, n)
	for i := range subjects {
		var ok bool
		if isTable {
			subjects[i] = storage.Subject{Tenant: p.me.Tenant, Biz: table.Value(i, biz), BizID: table.Value(i, bizID)}
			ok = subjects[i].Validate() == nil
		} else {
			object, _ := list[i].(map[string]any)
			subjects[i], ok = p.subjectFrom(object["biz"], object["bizId"])
		}
		if !ok {
			return
		}
	}
	p.subjects(field, subjects)
}

func (p *prefetch) subjectFrom(biz, bizID any) (storage.Subject, bool) {
	kind, _ := biz.(string)
	id, err := graphql.UnmarshalID(bizID)
	subject := storage.Subject{Tenant: p.me.Tenant, Biz: kind, BizID: id}
	return subject, err == nil && subject.Validate() == nil
}

// subjects notes the subjects of a field of Query. Their cached authors are visited
// immediately, so that what is selected from the authors is loaded together with the
// subjects. An author that was not cached, or has changed, is visited after the subjects
// are loaded.
func (p *prefetch) subjects(field *plan.Field, subjects []storage.Subject) {
	at := len(p.roots)
	p.roots = append(p.roots, rootField{subjects: subjects, single: field.Name == "interactive"})
	loaders.Interactives.Want(p.loaders, subjects...)
	p.waiting = true
	selected := field.Of("Interactive")
	if !selected.Deeper {
		return
	}
	likely := p.likelyAuthors(selected, subjects)
	p.callbacks = append(p.callbacks, func() {
		found, err := loaders.Interactives.LoadMany(p.ctx, subjects)
		if err != nil {
			return
		}
		p.roots[at].found = found
		for i, one := range found {
			for k := range selected.Fields {
				field := &selected.Fields[k]
				if visited := field.Name == "author" && likely != nil && likely[i] == one.AuthorID; field.Deeper && !visited {
					p.visitField(field, one)
				}
			}
		}
	})
}

// likelyAuthors visits the cached authors of subjects and returns their ids, with "" for
// unknown authors. It returns nil if there is no cache of authors, or if nothing has to
// be loaded for the authors.
func (p *prefetch) likelyAuthors(selected *plan.Selection, subjects []storage.Subject) (ids []string) {
	for k := range selected.Fields {
		field := &selected.Fields[k]
		if p.cachedAuthors == nil || field.Name != "author" || !field.Deeper {
			continue
		}
		if ids == nil {
			ids = p.cachedAuthors(subjects)
		}
		for i, id := range ids {
			p.visitAuthor(field, subjects[i].Tenant, id)
		}
	}
	return ids
}

func (p *prefetch) author(field *plan.Field, object any) {
	if of, is := object.(*storage.Interactive); is {
		p.visitAuthor(field, of.Tenant, of.AuthorID)
	}
}

func (p *prefetch) visitAuthor(field *plan.Field, tenant, id string) {
	if id == "" {
		return
	}
	if len(p.users) == cap(p.users) {
		p.users = make([]storage.User, 0, defaultPage)
	}
	p.users = append(p.users, storage.User{Tenant: tenant, UserID: id})
	p.visit(field, &p.users[len(p.users)-1])
}

func (p *prefetch) viewer(field *plan.Field, _ any) {
	visitLoaded(p, field, queryResolver{p.Root}.Viewer)
}

// nodes visits the objects of Query.nodes.
func (p *prefetch) nodes(field *plan.Field, _ any) {
	ids := asList(p.argument(field, "ids"))
	if len(ids) > maxNodes {
		return
	}
	for _, id := range ids {
		if text, err := graphql.UnmarshalID(id); err == nil {
			visitLoaded(p, field, func(ctx context.Context) (storage.Node, error) { return queryResolver{p.Root}.Node(ctx, text) })
		}
	}
}

// visitNode visits the object that a ref identifies.
func (p *prefetch) visitNode(field *plan.Field, ref storage.NodeRef) {
	visitLoaded(p, field, func(ctx context.Context) (storage.Node, error) { return p.node(ctx, ref) })
}

// argument returns the value of an argument, or nil if it is absent. Defaults are not
// applied.
func (p *prefetch) argument(field *plan.Field, name string) any {
	argument := field.Arguments.ForName(name)
	if argument == nil {
		return nil
	}
	value, err := argument.Value.Value(p.op.Variables)
	if err != nil {
		return nil
	}
	return value
}

// asList coerces a value to a list as GraphQL does: a single value becomes a list with
// one entry.
func asList(value any) []any {
	if list, ok := value.([]any); ok {
		return list
	}
	return []any{value}
}
