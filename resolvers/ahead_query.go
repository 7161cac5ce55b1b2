package resolvers

import (
	"slices"

	"github.com/99designs/gqlgen/graphql"

	"ovation/resolvers/rows"
	"ovation/storage"
)

// query notes what a field of Query needs. Where the arguments are not what
// the resolver takes, the resolver will say so.
func (a *ahead) query(of *root) {
	field := of.CollectedField
	switch field.Name {
	case "interactive":
		if subject, ok := a.subjectNamed(a.argument(field, "biz"), a.argument(field, "bizId")); ok {
			a.subjects(of, []storage.Subject{subject})
		}
	case "interactives":
		switch named := a.argument(field, "subjects").(type) {
		case *rows.Rows:
			a.subjectsInRows(of, named)
		default:
			a.subjectsNamed(of, asList(named))
		}
	case "node":
		a.nodeNamed(field, a.argument(field, "id"))
	case "nodes":
		named := asList(a.argument(field, "ids"))
		if len(named) <= maxNodes {
			for _, id := range named {
				a.nodeNamed(field, id)
			}
		}
	case "folder":
		if ref, ok := a.ref(a.argument(field, "id")); ok && ref.Type == storage.NodeFolder {
			a.node(field, ref)
		}
	case "viewer":
		if !a.me.Anonymous() {
			a.look(field.Selections, &a.me)
		}
	case "user":
		id, err := graphql.UnmarshalID(a.argument(field, "userId"))
		if err == nil && !a.me.Anonymous() && storage.ValidateUserID(id) == nil {
			a.look(field.Selections, &storage.User{Tenant: a.me.Tenant, UserID: id})
		}
	}
}

// argument is the value of an argument that has no default.
func (a *ahead) argument(field graphql.CollectedField, name string) any {
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

// subjectsNamed wants subjects, unless one of them is not named rightly.
func (a *ahead) subjectsNamed(of *root, named []any) {
	if len(named) > maxSubjects {
		return
	}
	subjects := make([]storage.Subject, len(named))
	for i, one := range named {
		object, ok := one.(map[string]any)
		if ok {
			subjects[i], ok = a.subjectNamed(object["biz"], object["bizId"])
		}
		if !ok {
			return
		}
	}
	a.subjects(of, subjects)
}

// subjectsInRows is subjectsNamed for rows of SubjectInput.
func (a *ahead) subjectsInRows(of *root, named *rows.Rows) {
	biz, id := named.Column("biz"), named.Column("bizId")
	if named.Len() > maxSubjects || biz < 0 || id < 0 {
		return
	}
	subjects := make([]storage.Subject, named.Len())
	for i := range subjects {
		subjects[i] = storage.Subject{Tenant: a.me.Tenant, Biz: named.Value(i, biz), BizID: named.Value(i, id)}
		if subjects[i].Validate() != nil {
			return
		}
	}
	a.subjects(of, subjects)
}

func (a *ahead) subjectNamed(biz, bizID any) (storage.Subject, bool) {
	kind, _ := biz.(string)
	id, err := graphql.UnmarshalID(bizID)
	subject := storage.Subject{Tenant: a.me.Tenant, Biz: kind, BizID: id}
	return subject, err == nil && subject.Validate() == nil
}

// subjects wants what a field of Query asks for, and looks at it when it is
// there, if there is anything to look for.
func (a *ahead) subjects(of *root, subjects []storage.Subject) {
	a.asked = append(a.asked, asked{of, subjects})
	if a.wants.Interactives == nil {
		a.wants.Interactives = slices.Clip(subjects)
	} else {
		a.wants.Interactives = append(a.wants.Interactives, subjects...)
	}
	a.then = append(a.then, func() {
		if !of.deeper {
			return
		}
		found, err := a.loaders.Interactives(a.ctx, subjects)
		if err != nil {
			return
		}
		for _, one := range found {
			a.look(of.Selections, one)
		}
	})
}

func (a *ahead) nodeNamed(field graphql.CollectedField, id any) {
	if ref, ok := a.ref(id); ok {
		a.node(field, ref)
	}
}

// ref is what an id names, if the viewer may see things of its kind.
func (a *ahead) ref(id any) (storage.NodeRef, bool) {
	text, err := graphql.UnmarshalID(id)
	if err != nil {
		return storage.NodeRef{}, false
	}
	ref, err := storage.ParseNodeID(text)
	tenant := ref.User.Tenant
	if ref.Type == storage.NodeInteractive {
		tenant = ref.Subject.Tenant
	}
	return ref, err == nil && tenant == a.me.Tenant && (ref.Type == storage.NodeInteractive || !a.me.Anonymous())
}

func (a *ahead) node(field graphql.CollectedField, ref storage.NodeRef) {
	switch ref.Type {
	case storage.NodeInteractive:
		a.subject(field, ref.Subject)
	case storage.NodeUser:
		a.look(field.Selections, &ref.User)
	case storage.NodeFolder:
		a.folderOf(field, storage.FolderKey{Owner: ref.User, FolderID: ref.FolderID})
	case storage.NodeLiked, storage.NodeCollected, storage.NodeRead:
		key := storage.StateKey{User: ref.User, Subject: ref.Subject}
		a.wants.States = append(a.wants.States, key)
		a.then = append(a.then, func() { a.state(field, ref, key) })
	}
}

// state looks at what node will answer with. An item's folder, which decides
// whether it may be seen, is wanted in any case.
func (a *ahead) state(field graphql.CollectedField, ref storage.NodeRef, key storage.StateKey) {
	states, err := a.loaders.States(a.ctx, key)
	switch {
	case err != nil:
	case ref.Type == storage.NodeLiked && states.Liked != nil:
		a.look(field.Selections, states.Liked)
	case ref.Type == storage.NodeRead && states.Read != nil && ref.User == a.me:
		a.look(field.Selections, states.Read)
	case ref.Type == storage.NodeCollected && states.Collected != nil:
		key := states.Collected.FolderKey()
		a.wants.Folders = append(a.wants.Folders, key)
		a.then = append(a.then, func() {
			if folder, err := a.loaders.Folder(a.ctx, key); err == nil && folder != nil && folder.VisibleTo(a.me) {
				a.look(field.Selections, states.Collected)
			}
		})
	}
}
