package resolvers

import (
	"slices"

	"github.com/99designs/gqlgen/graphql"

	"ovation/resolvers/plan"
	"ovation/resolvers/rows"
	"ovation/storage"
)

// What the fields of Query need. Where the arguments are not what the resolver
// takes, the resolver will say so.

func (a *ahead) interactive(field *plan.Field, _ any) {
	if subject, ok := a.subjectNamed(a.argument(field, "biz"), a.argument(field, "bizId")); ok {
		a.subjects(field, []storage.Subject{subject})
	}
}

func (a *ahead) interactives(field *plan.Field, _ any) {
	value := a.argument(field, "subjects")
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
			subjects[i] = storage.Subject{Tenant: a.me.Tenant, Biz: table.Value(i, biz), BizID: table.Value(i, bizID)}
			ok = subjects[i].Validate() == nil
		} else {
			object, _ := list[i].(map[string]any)
			subjects[i], ok = a.subjectNamed(object["biz"], object["bizId"])
		}
		if !ok {
			return
		}
	}
	a.subjects(field, subjects)
}

func (a *ahead) subjectNamed(biz, bizID any) (storage.Subject, bool) {
	kind, _ := biz.(string)
	id, err := graphql.UnmarshalID(bizID)
	subject := storage.Subject{Tenant: a.me.Tenant, Biz: kind, BizID: id}
	return subject, err == nil && subject.Validate() == nil
}

// subjects wants what a field of Query asks for.
func (a *ahead) subjects(field *plan.Field, subjects []storage.Subject) {
	a.asked = append(a.asked, asked{subjects, field.Name == "interactive"})
	if a.wants.Interactives == nil {
		a.wants.Interactives = slices.Clip(subjects)
	} else {
		a.wants.Interactives = append(a.wants.Interactives, subjects...)
	}
	if a.wanted = true; !field.Deeper {
		return
	}
	a.then = append(a.then, func() {
		found, err := a.loaders.Interactives(a.ctx, subjects)
		if err != nil {
			return
		}
		for _, one := range found {
			a.look(field, one)
		}
	})
}

func (a *ahead) viewer(field *plan.Field, _ any) {
	if signedIn(a.me) == nil {
		a.look(field, &a.me)
	}
}

func (a *ahead) user(field *plan.Field, _ any) {
	id, err := graphql.UnmarshalID(a.argument(field, "userId"))
	if err == nil && signedIn(a.me) == nil && storage.ValidateUserID(id) == nil {
		a.look(field, &storage.User{Tenant: a.me.Tenant, UserID: id})
	}
}

// byID is a field of Query that asks for what ids name: things of one type or, if
// that is 0, of any.
func byID(argument string, typ storage.NodeType) line {
	return line{ahead: func(a *ahead, field *plan.Field, _ any) {
		ids := asList(a.argument(field, argument))
		if len(ids) > maxNodes {
			return
		}
		for _, id := range ids {
			text, _ := graphql.UnmarshalID(id) // empty where it is none
			ref, err := storage.ParseNodeID(text)
			if ok, _ := admits(a.me, ref); ok && err == nil && (typ == 0 || typ == ref.Type) {
				a.named(field, ref)
			}
		}
	}}
}

// named wants what a ref names, and what decides whether the viewer sees it.
func (a *ahead) named(field *plan.Field, ref storage.NodeRef) {
	look := func() {
		if found, err := node(a.ctx, ref); err == nil {
			a.look(field, found)
		}
	}
	switch ref.Type {
	case storage.NodeInteractive:
		want(a, subjects, ref.Subject, func(*storage.Interactive) { look() })
	case storage.NodeUser:
		look()
	case storage.NodeFolder:
		want(a, folders, ref.FolderKey(), func(*storage.Folder) { look() })
	case storage.NodeLiked, storage.NodeCollected, storage.NodeRead:
		want(a, states, storage.StateKey{User: ref.User, Subject: ref.Subject}, func(found storage.States) {
			if item := found.Collected; ref.Type == storage.NodeCollected && item != nil {
				want(a, folders, item.FolderKey(), func(*storage.Folder) { look() })
			} else {
				look()
			}
		})
	}
}

// argument is the value of an argument that has no default.
func (a *ahead) argument(field *plan.Field, name string) any {
	argument := field.Arguments.ForName(name)
	if argument == nil {
		return nil
	}
	value, err := argument.Value.Value(a.op.Variables)
	if err != nil {
		return nil
	}
	return value
}

// asList is a list as GraphQL coerces it: a single value is a list of one.
func asList(value any) []any {
	if list, ok := value.([]any); ok {
		return list
	}
	return []any{value}
}
