package resolvers

import (
	gqlgen "github.com/99designs/gqlgen/graphql/executor"

	"ovation/graph"
)

// NewExecutor is what NewHandler puts behind HTTP, without HTTP. It is for
// subscriptions, of which there are none by a plain request.
func NewExecutor(cfg Config) *gqlgen.Executor {
	root := newRoot(cfg, newCursors(make([]byte, 32)))
	e := gqlgen.New(graph.NewExecutableSchema(graph.Config{Resolvers: root}))
	root.install(e, cfg)
	return e
}
