package resolvers

import (
	"context"
	"net/http"

	gqlgen "github.com/99designs/gqlgen/graphql/executor"

	"ovation/graph"
	"ovation/resolvers/transport"
)

// NewExecutor is what NewHandler puts behind HTTP, without HTTP. It is for
// subscriptions, of which there are none by a plain request.
func NewExecutor(cfg Config) *gqlgen.Executor {
	return newExecutor(newRoot(cfg, newCursors(make([]byte, 32))), cfg)
}

// NewOrdinaryExecutor writes nothing plainly: it is what others are compared
// with.
func NewOrdinaryExecutor(cfg Config) *gqlgen.Executor {
	root := newRoot(cfg, newCursors(make([]byte, 32)))
	root.plain = nil
	return newExecutor(root, cfg)
}

func newExecutor(root *Root, cfg Config) *gqlgen.Executor {
	e := gqlgen.New(graph.NewExecutableSchema(graph.Config{Resolvers: root}))
	root.install(e, cfg)
	return e
}

// NewOrdinaryHandler is NewHandler's /graphql, of which the executor answers
// everything itself.
func NewOrdinaryHandler(ctx context.Context, cfg Config) (http.Handler, error) {
	key, err := cfg.Store.Secret(ctx, "cursor")
	if err != nil {
		return nil, err
	}
	root := newRoot(cfg, newCursors(key))
	root.plain = nil
	return transport.Handler(service(root, cfg), transport.Config{Auth: cfg.Auth, Logger: cfg.Logger}), nil
}
