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
	var subjects []storage.Subject
	ok := true
	switch named := a.argument(field, "subjects").(type) {
	case *rows.Rows:
		biz, id := named.Column("biz"), named.Column("bizId")
		if named.Len() > maxSubjects || biz < 0 || id < 0 {
			return
		}
		subjects = make([]storage.Subject, named.Len())
		for i := 0; ok && i < len(subjects); i++ {
			subjects[i] = storage.Subject{Tenant: a.me.Tenant, Biz: named.Value(i, biz), BizID: named.Value(i, id)}
			ok = subjects[i].Validate() == nil
		}
	default:
		list := asList(named)
		if len(list) > maxSubjects {
			return
		}
		subjects = make([]storage.Subject, len(list))
		for i := 0; ok && i < len(subjects); i++ {
			object, _ := list[i].(map[string]any)
			subjects[i], ok = a.subjectNamed(object["biz"], object["bizId"])
		}
	}
	if ok {
		a.subjects(field, subjects)
	}
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

func (a *ahead) folder(field *plan.Field, _ any) {
	if ref, ok := a.ref(a.argument(field, "id")); ok && ref.Type == storage.NodeFolder {
		a.named(field, ref)
	}
}

func (a *ahead) node(field *plan.Field, _ any) {
	if ref, ok := a.ref(a.argument(field, "id")); ok {
		a.named(field, ref)
	}
}

func (a *ahead) nodes(field *plan.Field, _ any) {
	ids := asList(a.argument(field, "ids"))
	if len(ids) > maxNodes {
		return
	}
	for _, id := range ids {
		if ref, ok := a.ref(id); ok {
			a.named(field, ref)
		}
	}
}

// ref is what an id names, if it may be looked up for the viewer.
func (a *ahead) ref(id any) (ref storage.NodeRef, ok bool) {
	text, err := graphql.UnmarshalID(id)
	if err != nil {
		return ref, false
	}
	if ref, err = storage.ParseNodeID(text); err != nil {
		return ref, false
	}
	ok, _ = admits(a.me, ref)
	return ref, ok
}

// named wants what a ref names.
func (a *ahead) named(field *plan.Field, ref storage.NodeRef) {
	switch ref.Type {
	case storage.NodeInteractive:
		want(a, subjects, ref.Subject, func(found *storage.Interactive) { a.look(field, found) })
	case storage.NodeUser:
		a.look(field, &ref.User)
	case storage.NodeFolder:
		a.folderOf(ref.FolderKey(), func(found *storage.Folder) { a.look(field, found) })
	case storage.NodeLiked, storage.NodeCollected, storage.NodeRead:
		want(a, states, storage.StateKey{User: ref.User, Subject: ref.Subject}, func(found storage.States) {
			switch state := stateOf(ref, found).(type) {
			case *storage.Collected: // as visible as its folder
				a.folderOf(state.FolderKey(), func(*storage.Folder) { a.look(field, state) })
			default:
				if sees(a.me, state) {
					a.look(field, state)
				}
			}
		})
	}
}

// folderOf wants a folder, and says what to do where the viewer sees it.
func (a *ahead) folderOf(key storage.FolderKey, then func(*storage.Folder)) {
	want(a, folders, key, func(found *storage.Folder) {
		if sees(a.me, found) {
			then(found)
		}
	})
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
