package resolvers

import (
	"slices"

	"github.com/99designs/gqlgen/graphql"

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

// subjects enqueues the subjects of a field of Query. Their cached authors are visited
// immediately, so that what is selected from the authors is loaded together with the
// subjects. An author that was not cached, or has changed, is visited after the subjects
// are loaded.
func (p *prefetch) subjects(field *plan.Field, subjects []storage.Subject) {
	at := len(p.roots)
	p.roots = append(p.roots, rootField{subjects: subjects, single: field.Name == "interactive"})
	if p.keys.Interactives == nil {
		p.keys.Interactives = slices.Clip(subjects)
	} else {
		p.keys.Interactives = append(p.keys.Interactives, subjects...)
	}
	p.hasKeys = true
	selected := field.Of("Interactive")
	if !selected.Deeper {
		return
	}
	likely := p.likelyAuthors(selected, subjects)
	p.callbacks = append(p.callbacks, func() {
		found, err := p.loaders.Interactives(p.ctx, subjects)
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
	if signedIn(p.me) == nil {
		p.visit(field, &p.me)
	}
}

func (p *prefetch) user(field *plan.Field, _ any) {
	id, err := graphql.UnmarshalID(p.argument(field, "userId"))
	if err == nil && signedIn(p.me) == nil && storage.ValidateUserID(id) == nil {
		p.visit(field, &storage.User{Tenant: p.me.Tenant, UserID: id})
	}
}

// byID returns the spec of a field of Query that returns objects by their ids. The
// objects are of one type or, if typ is 0, of any type.
func byID(argument string, typ storage.NodeType) fieldSpec {
	return fieldSpec{prefetch: func(a *prefetch, field *plan.Field, _ any) {
		ids := asList(a.argument(field, argument))
		if len(ids) > maxNodes {
			return
		}
		for _, id := range ids {
			text, _ := graphql.UnmarshalID(id) // empty if the id is invalid
			ref, err := storage.ParseNodeID(text)
			if ok, _ := admits(a.me, ref); ok && err == nil && (typ == 0 || typ == ref.Type) {
				a.visitNode(field, ref)
			}
		}
	}}
}

// visitNode enqueues the object that a ref identifies, and the objects that determine
// whether the viewer may see it.
func (p *prefetch) visitNode(field *plan.Field, ref storage.NodeRef) {
	look := func() {
		if found, err := p.node(p.ctx, ref); err == nil {
			p.visit(field, found)
		}
	}
	switch ref.Type {
	case storage.NodeInteractive:
		enqueue(p, subjects, ref.Subject, func(*storage.Interactive) { look() })
	case storage.NodeUser:
		look()
	case storage.NodeComment:
		enqueue(p, comments, ref.Comment, func(*storage.Comment) { look() })
	case storage.NodeVideo:
		if p.videos != nil {
			enqueue(p, videos, ref.Video, func(*storage.Video) { look() })
		}
	case storage.NodeMessage:
		enqueue(p, messages, ref.Message, func(*storage.DirectMessage) { look() })
	case storage.NodeConversation:
		p.conversationBy(field, ref.Conversation)
	case storage.NodeFolder:
		enqueue(p, folders, ref.FolderKey(), func(*storage.Folder) { look() })
	case storage.NodeLiked, storage.NodeCollected, storage.NodeRead, storage.NodeFollowed:
		enqueue(p, states, storage.StateKey{User: ref.User, Subject: ref.Subject}, func(found storage.States) {
			if item := found.Collected; ref.Type == storage.NodeCollected && item != nil {
				enqueue(p, folders, item.FolderKey(), func(*storage.Folder) { look() })
			} else {
				look()
			}
		})
	}
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
