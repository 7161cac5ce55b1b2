package resolvers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"ovation/api/viewer"
	"ovation/graph"
	"ovation/resolvers/plan"
	"ovation/resolvers/rows"
	"ovation/storage"
)

// This file makes the service a subgraph of Apollo Federation: other subgraphs refer to
// its objects by the keys of their types, and a gateway loads the objects through
// Query._entities.

var _ graph.SubgraphResolver = queryResolver{}

// entity is a type that other subgraphs can refer to.
type entity struct {
	typ  string
	node storage.NodeType
	// keys are the alternatives; each names the fields of one key, separated by spaces.
	keys []string
}

// entities are the types of the union _Entity.
var entities = []entity{
	{"Interactive", storage.NodeInteractive, []string{"biz bizId", "id"}},
	{"User", storage.NodeUser, []string{"userId", "id"}},
	{"Comment", storage.NodeComment, []string{"commentId", "id"}},
	{"Folder", storage.NodeFolder, []string{"id"}},
	{"Video", storage.NodeVideo, []string{"videoId", "id"}},
}

// servedSchema returns the schema that a server executes operations against.
func servedSchema(federation bool) *ast.Schema {
	if federation {
		return graph.SubgraphSchema
	}
	return graph.NewExecutableSchema(graph.Config{}).Schema()
}

// Service returns the schema for the composition of a supergraph.
func (r queryResolver) Service(context.Context) (graph.Service, error) {
	return graph.Service{Sdl: SubgraphSDL()}, nil
}

// Entities returns the objects that the representations refer to.
func (r queryResolver) Entities(ctx context.Context, given []map[string]any) ([]storage.Node, error) {
	if len(given) > maxNodes {
		return nil, badInput("representations holds %d entries; at most %d are allowed", len(given), maxNodes)
	}
	me := viewer.FromContext(ctx)
	nodes := make([]storage.Node, len(given))
	for i, one := range given { // all objects are prefetched
		ref, err := representation{object: one}.ref(me.Tenant)
		if err == nil {
			nodes[i], err = r.node(ctx, ref)
		}
		if err != nil && !errors.Is(err, errNoEntity) { // the error affects this entry only
			graphql.AddError(graphql.WithPathContext(ctx, graphql.NewPathWithIndex(i)), atPath(fmt.Sprintf("representations[%d].", i), err))
		}
	}
	return nodes, nil
}

// entities enqueues the objects of Query._entities. If all of them are subjects, as on a
// page of another subgraph's objects, they are loaded as those of Query.interactives are.
func (p *prefetch) entities(field *plan.Field, _ any) {
	given := representationsOf(p.argument(field, "representations"))
	n := given.len()
	if n > maxNodes {
		return
	}
	subjects := make([]storage.Subject, 0, n)
	for i := range n {
		ref, err := given.at(i).ref(p.me.Tenant)
		if ok, _ := admits(p.me, ref); !ok || err != nil || ref.Type != storage.NodeInteractive {
			break
		}
		subjects = append(subjects, ref.Subject)
	}
	if len(subjects) == n {
		p.subjects(field, subjects)
		return
	}
	refs, valid := make([]storage.NodeRef, n), true
	for i := range refs {
		ref, err := given.at(i).ref(p.me.Tenant)
		if refs[i], valid = ref, valid && err == nil; err != nil {
			continue
		}
		if ok, _ := admits(p.me, ref); ok {
			p.visitNode(field, ref)
		}
	}
	if valid {
		p.roots = append(p.roots, rootField{refs: refs})
	}
}

// representations is the value of the argument of Query._entities.
type representations struct {
	table *rows.Rows // if it is not nil, list is not used
	list  []any
}

func representationsOf(value any) representations {
	if table, is := value.(*rows.Rows); is {
		return representations{table: table}
	}
	return representations{list: asList(value)}
}

func (r representations) len() int {
	if r.table != nil {
		return r.table.Len()
	}
	return len(r.list)
}

func (r representations) at(i int) representation {
	if r.table != nil {
		return representation{table: r.table, row: i}
	}
	object, _ := r.list[i].(map[string]any)
	return representation{object: object}
}

// representation is a reference to an object: the type of the object, and the fields of
// one of the keys of that type. Other members are ignored.
type representation struct {
	object map[string]any
	table  *rows.Rows // if it is not nil, object is not used
	row    int
}

// errNoEntity is the error for a representation to which no object can correspond. It is
// not reported, as for Query.nodes.
var errNoEntity = fmt.Errorf("resolve a representation: %w", storage.ErrNotFound)

// ref returns the key of the object. The error is errNoEntity or a *storage.InvalidError.
func (r representation) ref(tenant string) (storage.NodeRef, error) {
	typ, err := r.text("__typename")
	if err != nil {
		return storage.NodeRef{}, err
	}
	at := slices.IndexFunc(entities, func(e entity) bool { return e.typ == typ })
	if at < 0 {
		return storage.NodeRef{}, &storage.InvalidError{Field: "__typename", Reason: fmt.Sprintf("is %.40q, but only %s can be referred to", typ, entityNames())}
	}
	of := &entities[at]
	for _, key := range of.keys {
		if r.has(key) {
			return r.byKey(of, key, tenant)
		}
	}
	missing, _, _ := strings.Cut(of.keys[0], " ")
	for name := range strings.FieldsSeq(of.keys[0]) {
		if !r.has(name) {
			missing = name
			break
		}
	}
	return storage.NodeRef{}, &storage.InvalidError{Field: missing, Reason: fmt.Sprintf("is missing: the keys of %s are %q", of.typ, of.keys)}
}

// byKey returns the key of the object by the fields of one of the keys of its type.
func (r representation) byKey(of *entity, key, tenant string) (ref storage.NodeRef, err error) {
	first, second, _ := strings.Cut(key, " ")
	text, err := r.text(first)
	if err != nil {
		return ref, err
	}
	switch ref.Type = of.node; key {
	case "biz bizId":
		ref.Subject = storage.Subject{Tenant: tenant, Biz: text}
		if ref.Subject.BizID, err = r.text(second); err == nil {
			err = ref.Subject.Validate()
		}
		return ref, err
	case "userId":
		ref.User = storage.User{Tenant: tenant, UserID: text}
		return ref, storage.ValidateUserID(text)
	case "commentId", "videoId":
		number, ok := storage.ParseCommentID(text)
		if !ok {
			return ref, errNoEntity
		}
		if ref.Type == storage.NodeComment {
			ref.Comment = storage.CommentKey{Tenant: tenant, CommentID: number}
		} else {
			ref.Video = storage.VideoKey{Tenant: tenant, Number: number}
		}
		return ref, nil
	}
	if ref, err = storage.ParseNodeID(text); err != nil || ref.Type != of.node {
		err = errNoEntity
	}
	return ref, err
}

// has reports whether the members with the given names, separated by spaces, are present.
func (r representation) has(names string) bool {
	for name := range strings.FieldsSeq(names) {
		if r.table != nil && r.table.Column(name) < 0 || r.table == nil && r.object[name] == nil {
			return false
		}
	}
	return true
}

// text returns the value of a member. A whole number is accepted as the text of its
// digits, as for the type ID.
func (r representation) text(name string) (string, error) {
	if r.table != nil {
		if column := r.table.Column(name); column >= 0 {
			return r.table.Value(r.row, column), nil
		}
		return "", &storage.InvalidError{Field: name, Reason: "is missing"}
	}
	switch value := r.object[name].(type) {
	case string:
		return value, nil
	case json.Number:
		if !strings.ContainsAny(value.String(), ".eE") {
			return value.String(), nil
		}
	case int64: // of a literal
		return strconv.FormatInt(value, 10), nil
	case nil:
		return "", &storage.InvalidError{Field: name, Reason: "is missing"}
	}
	return "", &storage.InvalidError{Field: name, Reason: "must be a string"}
}

// entityNames lists the types that can be referred to.
func entityNames() string {
	names := make([]string, len(entities))
	for i := range entities {
		names[i] = entities[i].typ
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
