package resolvers

import (
	"strings"
	"testing"

	"ovation/graph"
)

// Each entry of the table is for a field of the schema. Each field of Query and each list
// has an entry, because without one it would not be prefetched.
func TestTheTableIsThatOfTheSchema(t *testing.T) {
	schema := graph.SubgraphSchema
	for key := range fieldTable {
		typ, field, _ := strings.Cut(key, ".")
		if of := schema.Types[typ]; of == nil || of.Fields.ForName(field) == nil {
			t.Errorf("the schema has no field %s", key)
		}
	}
	for name, typ := range schema.Types {
		for _, field := range typ.Fields {
			line, isList := fieldTable[name+"."+field.Name], field.Arguments.ForName("first") != nil
			root := typ == schema.Query && !strings.HasPrefix(field.Name, "__") && field.Name != "_service"
			if (isList || root) && line.prefetch == nil || isList && !line.Loads {
				t.Errorf("%s.%s has no prefetch in the table, want one", name, field.Name)
			}
		}
	}
}
